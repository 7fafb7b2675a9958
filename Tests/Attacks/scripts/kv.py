"""A caller for whom the plugin keeps something under a new name each time."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="what a plugin keeps in `kv`", rules=(75,), answer_for=("bot",), house=house(asked="""
  if call.callee.id == "bot" then
    for number = 1, 20 do kv.set(call.id .. number, string.rep("x", 4000)) end
    return reject "busy"
  end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common") * 20)
