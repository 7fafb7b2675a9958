"""Calls that stay, with as much in `call.vars` as one call may have."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="bytes of `call.vars`", rules=(75,), answer_for=("bot",), house=house(asked="""
  if call.callee.id == "bot" then
    call.vars.pad = string.rep("x", 60000)
    return ring {}
  end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="advanced",
                                    timeout_ms=600_000) * 20)
