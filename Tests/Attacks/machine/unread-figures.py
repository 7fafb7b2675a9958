"""Somebody at the machine asks for figures on the admin socket and reads none of them."""

import os
import socket

from registry import Attack

ATTACK = Attack(aims_at="answers of the admin socket that nobody reads", rules=(78, 99),
                kind="machine", seconds=(1.2, 6.0))


def fault(scene):
    folder = os.open(scene.folder / "state", os.O_PATH)
    held = []
    for _ in range(50):
        admin = socket.socket(socket.AF_UNIX)
        admin.connect(f"/proc/self/fd/{folder}/admin.sock")
        admin.setblocking(False)
        held.append(admin)
    os.close(folder)
    asked = b"GET /metrics HTTP/1.1\r\nHost: admin\r\n\r\n" * 50
    while scene.goes_on():
        for one in held:
            try:
                one.send(asked)
            except OSError:
                pass  # it takes no more, or has closed
        scene.rest(0.02)
    for one in held:
        one.close()
