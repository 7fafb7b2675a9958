"""A caller who is quick until the plugin is in the fast lane, then slow where Lua cannot yield."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="a run in the fast lane, on the loop's thread", rules=(71, 76), answer_for=("bot",),
    house=house(asked="""
  if call.callee.id == "bot" then
    if (call.extended_data or {}).slow then
      table.sort({ 2, 1 }, function(a, b)
        local sum = 0
        for step = 1, 500000 do sum = sum + step end
        return a < b
      end)
    end
    return reject "busy"
  end
"""))


def attack(scene):
    quick = message("call.invite", invitees=["bot"], mode="common")
    slow = message("call.invite", invitees=["bot"], mode="common", extended_data='{"slow":true}')
    flood(scene, "mallory", (quick * 60 + slow) * 2)
