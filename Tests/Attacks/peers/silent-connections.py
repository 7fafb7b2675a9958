"""Connections that never say who they are, one after the other."""

import socket

from registry import Attack

ATTACK = Attack(aims_at="connections that have not said hello", rules=(110,))


def attack(scene):
    held = []
    for _ in scene.each_while(0.0002):
        held.append(socket.create_connection(("127.0.0.1", scene.port), 5, ("127.0.0.2", 0)))


def holds(scene):
    assert "ok" in scene.device("newcomer").ask("ping"), "a newcomer is not let in"
