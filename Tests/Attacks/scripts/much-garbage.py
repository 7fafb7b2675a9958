"""A caller for whom the plugin makes megabytes that nobody needs afterwards."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="the memory of a plugin", rules=(70, 71), answer_for=("bot",), house=house(asked="""
  if call.callee.id == "bot" then
    local pad = string.rep("x", 4 << 20)
    return reject("busy", { extended_data = { size = #pad } })
  end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common") * 10)
