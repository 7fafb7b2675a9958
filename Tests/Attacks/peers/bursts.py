"""Many accounts with many connections ask very much in the same moment, every second."""

import contextlib
import time

from blows import READ, message
from registry import Attack

ACCOUNTS, DEVICES = 20, 10
EACH = 20  # requests of each connection, which cost the server little
ATTACK = Attack(aims_at="what many say in one turn of the loop", rules=(14, 29),
                accounts=ACCOUNTS, seconds=(2.5, 8.0))


def attack(scene):
    lines = [scene.enter(f"mallory-{account}", f"device-{device}").socket
             for account in range(ACCOUNTS) for device in range(DEVICES)]
    said = message("ping", 1) * EACH
    for line in lines:
        line.setblocking(False)
    while scene.goes_on():
        scene.blows.value += 1
        for line in lines:
            line.send(said)
        until = time.monotonic() + 1.1
        while time.monotonic() < until and scene.goes_on():
            for line in lines:
                with contextlib.suppress(BlockingIOError):
                    scene.taken.value += line.recv(READ).count(b'"ok":')
            scene.asked.value = True
            scene.rest(0.02)
