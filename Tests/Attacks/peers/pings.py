"""Pings of both kinds, as fast as they go."""

from blows import flood, message
from raw import PING, frame
from registry import Attack

ATTACK = Attack(aims_at="frames of a connection in a turn", rules=(23,))


def attack(scene):
    flood(scene, "mallory", frame(PING, b"x" * 100) * 500 + message("ping") * 500)
