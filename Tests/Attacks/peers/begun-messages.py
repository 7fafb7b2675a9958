"""Messages that begin and never end, from connections that have not said who they are."""

from raw import TEXT, frame
from registry import Attack

ATTACK = Attack(
    aims_at="what strangers may have begun to say, 40 MB in all", rules=(18, 110), accounts=4,
    seconds=(1.5, 8.0))
HALF = frame(TEXT, b" " * 60_000)[:50_000]


def attack(scene):
    held = []
    for _ in scene.each_while():
        held.append(scene.raw().upgrade().send(HALF))
        if len(held) > 1_900:
            held.pop(0).close()
