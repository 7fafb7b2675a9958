"""Pings without pause from somebody who does not read what they lead to."""

from blows import Flood
from raw import PING, frame
from registry import Attack

ATTACK = Attack(aims_at="answers unsent to a connection", rules=(27,))


def attack(scene):
    batch = frame(PING, b"x" * 125) * 500
    lines = [Flood(lambda device=f"d{number}": scene.enter("mallory", device), reads=False)
             for number in range(5)]
    for number in scene.each_while():
        lines[number % len(lines)].push(lambda: batch)
