"""A caller for whom the plugin writes long lines into the log."""

import os

from blows import flood, message
from registry import Attack, house

LINES = 90 if os.environ.get("CALLAGENT_FULL") else 70
ATTACK = Attack(
    aims_at="lines of the log of one plugin", rules=(78, 87), answer_for=("bot",),
    house=house(asked=f"""
  if call.callee.id == "bot" then
    for _ = 1, {LINES} do log.warn(call.extended_raw or "", {{ pad = string.rep("x", 1000) }}) end
    return reject "busy"
  end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common",
                                    extended_data="\u202e\n" * 400) * 20)
