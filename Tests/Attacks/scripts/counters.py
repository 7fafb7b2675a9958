"""A caller for whom the plugin counts under a new label each time."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="sets of labels of a plugin's counter", rules=(99,), answer_for=("bot",),
    house=house(asked="""
  if call.callee.id == "bot" then
    for number = 1, 100 do count("calls", 1, { who = call.id .. number }) end
    return reject "busy"
  end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common") * 20)
