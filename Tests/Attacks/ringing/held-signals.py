"""Signals to people who are called and have no device."""

from blows import Client
from registry import Attack
from stage import fork

SIZE = 16_000  # bytes of a signal
HELD = 1 << 20  # bytes held of a sender at most (rule 80)
ATTACK = Attack(aims_at="signals held for pending participants", rules=(44, 80),
                config="limits = { requests_per_second = 20000 }\n", seconds=(1.2, 8.0))


def dress(scene):
    scene.held = fork.Value("q", 0, lock=False)


def attack(scene):
    mallory = Client(scene, "mallory")
    for number in scene.each_while():
        call = mallory.call(f"absent-{number}", mode="advanced", timeout_ms=600_000)
        for _ in range(8 if call else 0):
            reply = mallory.ask("call.signal", call_id=call, to=f"absent-{number}",
                                data="x" * SIZE)
            scene.held.value += SIZE if "ok" in reply else 0


def holds(scene):
    held = scene.held.value
    assert HELD // 2 < held <= HELD, f"{held} bytes of one sender were taken"
