"""A caller for whom the plugin starts timers, a hundred each time."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="pending timers of a plugin", rules=(75,), answer_for=("bot",),
    house=house(before='timer("later", function() end)', asked="""
  if call.callee.id == "bot" then
    for number = 1, 100 do
      later("1h", "later", { number = number, pad = string.rep("x", 500) })
    end
    return reject "busy"
  end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common") * 10)
