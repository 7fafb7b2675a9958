"""Group calls with as many invitees as there may be, all of them absent."""

from blows import flood, message
from registry import Attack

ATTACK = Attack(aims_at="invitees of an invitation", rules=(11, 95))


def attack(scene):
    def more():
        return b"".join(message(
            "call.invite", mode="group", timeout_ms=600_000,
            invitees=[f"g{number}-{place}" for place in range(49)]) for number in range(4))

    flood(scene, "mallory", more)
