"""Many accounts with several devices invite as often as they may in a second, all in one moment."""

import contextlib
import time

from blows import READ, message
from registry import Attack

ACCOUNTS, DEVICES = 20, 3
EACH = 20  # invitations of each connection; all of them are within the rates
ATTACK = Attack(aims_at="who invites while very many others do", rules=(14, 29),
                accounts=ACCOUNTS, seconds=(2.5, 8.0))


def attack(scene):
    lines = [scene.enter(f"mallory-{account}", f"device-{device}").socket
             for account in range(ACCOUNTS) for device in range(DEVICES)]
    said = message("call.invite", 1, invitees=["nobody"], mode="common", timeout_ms=1_000) * EACH
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
