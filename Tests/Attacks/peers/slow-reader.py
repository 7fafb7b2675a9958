"""A user who reads nothing and asks for more, while a second one calls them without pause."""

from blows import flood, message
from registry import Attack

ATTACK = Attack(aims_at="bytes unsent to a connection, events kept for a resume",
                rules=(27, 30, 31), accounts=2)
HANDS = 2


def attack(scene):
    if scene.number == 0:
        flood(scene, "deaf", message("call.list", limit=100) * 20, reads=False)
    else:
        batch = message("call.invite", invitees=["deaf"], mode="advanced", timeout_ms=2_000,
                        extended_data="x" * 2_048) * 10
        flood(scene, "mallory", batch)
