"""In one call, people are added and cancelled without pause."""

from blows import Client
from registry import Attack

ATTACK = Attack(aims_at="participants of a call over its life", rules=(28, 42, 95))


def attack(scene):
    mallory = Client(scene, "mallory")
    call = mallory.call("victim", mode="advanced", timeout_ms=600_000)
    for number in scene.each_while():
        if call is None or "error" in mallory.ask(
                "call.add", call_id=call, invitees=[f"u{number}-{place}" for place in range(8)]):
            call = mallory.call("victim", mode="advanced", timeout_ms=600_000)
        elif call:
            mallory.ask("call.cancel", call_id=call,
                        users=[f"u{number}-{place}" for place in range(8)])
