"""A handler that begins many others, which begin many others, all with the same budget."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="the processor time of an event", rules=(76, 77), answer_for=("bot",),
    seconds=(1.2, 8.0), house=house(before="""
local function work()
  local sum = 0
  for step = 1, 60000 do sum = sum + step end
  return sum
end
local function tree(depth)
  return function()
    work()
    sleep "1ms"
    if depth > 0 then
      all { tree(depth - 1), tree(depth - 1), tree(depth - 1), tree(depth - 1) }
    end
  end
end
""", asked="""
  if call.callee.id == "bot" then
    all { tree(4), tree(4), tree(4) }
    return reject "busy"
  end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common") * 10)
