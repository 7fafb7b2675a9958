"""Reports that sleep as long as they may, one for each call."""

from blows import Client
from registry import Attack, house

ATTACK = Attack(
    aims_at="reports under way", rules=(75, 85), house=house(before="""
on.cancelled(function(call)
  if call.caller.id == "mallory" then sleep "55s" end
end)
"""))


def attack(scene):
    mallory = Client(scene, "mallory")
    for _ in scene.each_while():
        call = mallory.call("nobody", mode="common")
        if call:
            mallory.ask("call.cancel", call_id=call)
