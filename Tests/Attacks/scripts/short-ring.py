"""Thirty invitations that ring one second, for a plugin that waits for three."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="the failures of a plugin, by short ring times", rules=(63, 71, 74), seconds=(2.0, 8.0),
    answer_for=("bot",), house=house(asked="""
  if call.callee.id == "bot" then return accept { wait = "3s" } end
"""))


def attack(scene):
    flood(scene, "mallory", message(
        "call.invite", invitees=["bot"], mode="common", timeout_ms=1_000) * 30)
