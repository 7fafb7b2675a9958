"""One user signs in again and again, and is gone at once."""

from registry import Attack

ATTACK = Attack(aims_at="sessions and newcomers in a second", rules=(15, 110))


def attack(scene):
    for number in scene.each_while():
        scene.enter("mallory", f"d{number % 10}").close()
