"""A caller whose every call leads to reports that cost much."""

from blows import Client
from registry import Attack, house

ATTACK = Attack(
    aims_at="reports that wait for their turn", rules=(76, 85), answer_for=("bot",),
    seconds=(1.2, 8.0), house=house(before="""
local function work(call)
  if call.caller.id ~= "mallory" then return end
  local sum = 0
  for step = 1, 500000 do sum = sum + step end
end
on.cancelled(work)
on.ended(work)
on.participant(work)
"""))


def attack(scene):
    mallory = Client(scene, "mallory")
    for _ in scene.each_while():
        call = mallory.call("nobody", mode="common")
        if call:
            mallory.ask("call.cancel", call_id=call)
