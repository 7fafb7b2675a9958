"""Extended data that trips a bug of the plugin that everybody needs."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="the failures of a plugin, by data", rules=(71, 72), answer_for=("bot",),
    house=house(before="""
plugin { guard = true }

""", asked="""
  if call.callee.id == "bot" then return reject(call.extended_data.colour.name) end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common",
                                    extended_data='{"size": 1}') * 20)
