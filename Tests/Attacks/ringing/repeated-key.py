"""One request under one key, again and again: it costs nothing of any rate."""

from blows import flood, message
from registry import Attack

ATTACK = Attack(aims_at="repetitions of a request", rules=(25, 28, 95))


def attack(scene):
    again = message("call.invite", key="same", invitees=["victim"], mode="advanced",
                    extended_data="x" * 2_000)
    flood(scene, "mallory", again * 20)
