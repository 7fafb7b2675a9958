"""Messages over 64 KiB, without pause."""

from blows import Flood
from raw import TEXT, frame
from registry import Attack

ATTACK = Attack(aims_at="the size of a message", rules=(18,))
LONG = frame(TEXT, b" " * 65_537)


def attack(scene):
    line = Flood(lambda: scene.enter("mallory"))
    for _ in scene.each_while():
        line.push(lambda: LONG)
