"""A caller who makes the plugin run until it is killed."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="an uninterrupted run of a plugin", rules=(71, 76), answer_for=("bot",),
    house=house(before="""
plugin { guard = true }

""", asked="""
  if call.callee.id == "bot" then
    while true do pcall(function() end) end
  end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common") * 10)
