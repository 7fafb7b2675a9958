"""HTTP requests whose head comes a byte at a time."""

import contextlib

from registry import Attack

ATTACK = Attack(aims_at="requests that have begun", rules=(110,), seconds=(0.8, 12.0))
HEAD = b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Long: " + b"x" * 10_000


def attack(scene):
    held = []
    for number in scene.each_while(0.0005):
        if len(held) < 1_000:
            held.append(scene.raw())
        with contextlib.suppress(OSError):
            held[number % len(held)].send(HEAD[number // 1_000:][:1])
