"""Questions whose answers sleep almost as long as they may, so that hundreds are open."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="open questions of one cause", rules=(57, 59, 76), answer_for=("bot",),
    seconds=(1.2, 8.0), house=house(asked="""
  if call.callee.id == "bot" then
    sleep "1500ms"
    return reject "busy"
  end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common") * 20)
