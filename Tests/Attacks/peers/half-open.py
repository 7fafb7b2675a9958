"""Connections whose other end is gone without a word."""

import contextlib
import socket

from registry import Attack

ATTACK = Attack(
    aims_at="connections whose peer is gone", rules=(20,),
    config="""limits = { ping = "1s", silence = "2s", hello_time = "1s", request_time = "1s",
        idle_time = "1s" }\n""")
REPAIR = 19  # TCP_REPAIR: a socket in repair closes without telling its peer


def vanish(raw):
    """Closes without a FIN where the system lets us; else the silence is the same."""
    with contextlib.suppress(OSError):
        raw.socket.setsockopt(socket.IPPROTO_TCP, REPAIR, 1)
        raw.close()


def attack(scene):
    kept = []
    for number in scene.each_while(0.002):
        raw = scene.raw()
        if number % 3 == 1:
            raw.upgrade()
        if number % 3 == 2:
            raw = scene.enter("mallory", f"d{number % 10}")
        vanish(raw)
        kept.append(raw)
