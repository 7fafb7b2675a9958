"""Somebody who is called in very many calls at once signs in over and over."""

from blows import Client, flood, message
from registry import Attack

ATTACK = Attack(aims_at="invitations that a new session is told of", rules=(31, 32), accounts=2,
                config="limits = { invitations_per_minute = 600 }\n")
HANDS = 2


def attack(scene):
    if scene.number == 0:
        flood(scene, "mallory", message("call.invite", invitees=["mate"], mode="advanced",
                                        timeout_ms=600_000, extended_data="x" * 1_000) * 20)
    for _ in scene.each_while():
        Client(scene, "mate").close()
