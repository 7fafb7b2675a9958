"""Invitations that are forwarded from one to the next as often as may be."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="times an invitation is forwarded", rules=(62, 95), answer_for=("bot-*",),
    house=house(asked="""
  local number = string.match(call.callee.id, "^bot%-(%d+)$")
  if number then return forward("bot-" .. tostring(math.tointeger(tonumber(number)) + 1)) end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot-1"], mode="common") * 20)
