"""Signals and items to somebody who is called and whose line is slow."""

from blows import Client, flood, message
from registry import Attack

ATTACK = Attack(aims_at="what is unsent to who has not answered", rules=(27, 80), accounts=1,
                config="limits = { requests_per_second = 2000 }\n")
HANDS = 2


def prepare(scene):
    scene.bob = scene.enter("bob", receive_buffer=8_192)  # takes nothing more
    mallory = Client(scene, "mallory")
    scene.calls = [mallory.call("bob", mode=mode, timeout_ms=600_000)
                   for mode in ("advanced", "direct")]
    mallory.close()


def attack(scene):
    if scene.number == 0:
        flood(scene, "mallory", message("call.signal", call_id=scene.calls[0], to="bob",
                                        data="x" * 16_000) * 9)
    numbers = iter(range(1_000_000))
    flood(scene, "mallory", lambda: b"".join(
        message("call.items", call_id=scene.calls[1],
                put={f"{key}": f"{next(numbers)}".rjust(128, "x") for key in range(10)})
        for _ in range(20)), device="tablet")


def holds(scene):
    thrown_out = scene.door.metrics().get("callagent_slow_readers_total", 0)
    assert not thrown_out, "Bob lost the line because of a caller"
    scene.bob.close()
