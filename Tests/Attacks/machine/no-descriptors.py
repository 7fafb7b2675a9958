"""The process may open no more files, and somebody connects all the time."""

import contextlib
import resource
import socket

from measure import descriptors
from registry import Attack

ATTACK = Attack(aims_at="descriptors of the process", rules=(110,), kind="machine")


def fault(scene):
    pid = scene.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors(pid) + 3, before[1]))
    held = []
    while scene.goes_on():
        with contextlib.suppress(OSError):
            held.append(socket.create_connection(("127.0.0.1", scene.port), 1))
        scene.rest(0.01)
    for one in held:
        one.close()
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
