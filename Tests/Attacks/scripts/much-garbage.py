"""A caller for whom the plugin makes megabytes that nobody needs afterwards."""

import os

from blows import flood, message
from registry import Attack, house

# One run of the larger size takes the whole budget where pages come slowly.
MEGABYTES = 6 if os.environ.get("CALLAGENT_FULL") else 4
ATTACK = Attack(
    aims_at="the memory of a plugin", rules=(70, 71), answer_for=("bot",), house=house(asked=f"""
  if call.callee.id == "bot" then
    local pad = string.rep("x", {MEGABYTES} << 20)
    return reject("busy", {{ extended_data = {{ size = #pad }} }})
  end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common") * 10)
