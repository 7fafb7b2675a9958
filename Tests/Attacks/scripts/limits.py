"""A caller for whom the plugin asks `limit` with a new name each time."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="keys and events of `limit`", rules=(75,), answer_for=("bot",), house=house(asked="""
  if call.callee.id == "bot" then
    for number = 1, 200 do limit(call.id .. " " .. number, 5, "1h") end
    return reject "busy"
  end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common") * 20)
