"""What is no message at all, over and over, in new connections each time."""

from raw import TEXT, frame
from registry import Attack

ATTACK = Attack(aims_at="messages that cannot be read", rules=(24,))


def attack(scene):
    for _ in scene.each_while():
        raw = scene.raw().upgrade()
        raw.send(frame(TEXT, b"{") * 3)
        raw.close_code()
        raw.close()
