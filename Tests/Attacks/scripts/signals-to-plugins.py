"""Signals without pause in a call whose other side is a plugin."""

from blows import Client, flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="events that wait for the plugins", rules=(44, 76), answer_for=("bot",),
    config="limits = { requests_per_second = 2000 }\n", house=house(before="""
on.signal(function(call, from, data)
  local sum = 0
  for step = 1, 20000 do sum = sum + step end
end)
""", asked='  if call.callee.id == "bot" then return accept {} end'))


def attack(scene):
    call = Client(scene, "mallory", "first").call("bot", mode="advanced", timeout_ms=600_000)
    flood(scene, "mallory", message("call.signal", call_id=call, data={"pad": "x" * 4_000}) * 20)
