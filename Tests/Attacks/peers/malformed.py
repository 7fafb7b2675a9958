"""Requests that are wrong in every way, operations that do not exist, traces of garbage."""

import json
import random

from blows import flood, message
from raw import TEXT, frame
from registry import Attack
from test_hostile import malformed

ATTACK = Attack(aims_at="requests that are refused for their form", rules=(23, 28, 49))


def attack(scene):
    dice = random.Random(1)
    odd = [malformed(dice) for _ in range(200)]
    odd += [message(f"call.{name}", call_id="0" * 32) for name in ("park", "barge", "whisper")]
    odd += [frame(TEXT, json.dumps(
        {"id": 1, "op": "ping", "trace": "00-" + "f" * number}).encode()) for number in range(60)]
    flood(scene, "mallory", b"".join(odd))
