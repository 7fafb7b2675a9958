"""One user uses up idempotency keys, each once."""

from blows import flood, message
from registry import Attack

ATTACK = Attack(aims_at="idempotency keys of a user and in all", rules=(25, 95),
                config="limits = { invitations_per_minute = 100000 }\n")


def attack(scene):
    numbers = iter(range(10**9))

    def more():
        return b"".join(message("call.invite", key=f"key-{next(numbers)}", invitees=["nobody"],
                                mode="common", timeout_ms=1_000) for _ in range(20))

    flood(scene, "mallory", more)
