"""Calls that one is no part of are asked for, joined, accepted and left, by ids made up."""

import random

from blows import flood, message
from registry import Attack

ATTACK = Attack(aims_at="recalls of calls that the core does not hold", rules=(40, 41),
                is_taken=False)


def attack(scene):
    dice = random.Random(1)

    def more():
        ids = [f"{dice.getrandbits(128):032x}" for _ in range(5)]
        return b"".join(message(f"call.{op}", call_id=call) for call in ids
                        for op in ("get", "join", "accept", "leave", "report"))

    flood(scene, "mallory", more)
