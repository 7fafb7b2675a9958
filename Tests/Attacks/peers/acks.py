"""Acknowledgements of everything that was never sent."""

import json

from blows import flood
from raw import TEXT, frame
from registry import Attack

ATTACK = Attack(aims_at="messages that no rate counts", rules=(26,), is_taken=False)


def attack(scene):
    numbers = [0, 1, 2**53, 2**62, -1]
    flood(scene, "mallory", b"".join(
        frame(TEXT, json.dumps({"ack": number}).encode()) for number in numbers) * 200)
