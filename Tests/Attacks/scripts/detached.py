"""Handlers that are detached and wait, twenty for each call."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="handlers and coroutines alive of a plugin", rules=(75,), answer_for=("bot",),
    house=house(asked="""
  if call.callee.id == "bot" then
    for _ = 1, 20 do
      detach(function() sleep "3s" end)
    end
    return reject "busy"
  end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common") * 20)
