"""One user sends long requests over very many HTTP connections, most of which are only refused."""

from blows import long_bodies
from registry import Attack

ATTACK = Attack(aims_at="connections that are refused for what their user has sent",
                rules=(25, 28), seconds=(2.0, 8.0), is_taken=False)
HANDS = 3


def attack(scene):
    long_bodies(scene, "mallory", 30)
