"""Signals of the longest size to somebody who is in the call and reads nothing."""

from blows import Client, flood, message
from registry import Attack

ATTACK = Attack(aims_at="signals in the buffers of a slow addressee", rules=(5, 27, 44), accounts=2,
                config="limits = { requests_per_second = 2000 }\n")


def prepare(scene):
    mallory, mate = Client(scene, "mallory"), Client(scene, "mate")
    scene.call = mallory.call("mate", mode="advanced", timeout_ms=600_000)
    mate.ask("call.accept", call_id=scene.call)
    scene.mate = mate
    mallory.close()


def attack(scene):
    flood(scene, "mallory", message("call.signal", call_id=scene.call, data="x" * 16_000) * 10)
