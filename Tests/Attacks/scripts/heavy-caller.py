"""A caller who does nothing that is forbidden, and whose every call costs the plugin 8 ms."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="turns on the policy thread, questions of one cause that wait", rules=(76,),
    answer_for=("bot",), seconds=(1.2, 8.0), house=house(asked="""
  if call.callee.id == "bot" then
    local begin, sum = 0, 0
    for step = 1, 700000 do sum = sum + step end
    return reject "busy"
  end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common") * 20)
