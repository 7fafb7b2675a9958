"""One user with one device after the other, all of them left open."""

from registry import Attack

ATTACK = Attack(aims_at="devices of a user", rules=(15, 29))


def attack(scene):
    held = []
    for number in scene.each_while():
        held.append(scene.enter("mallory", f"device-{number}"))
        if len(held) > 30:
            held.pop(0).close()
