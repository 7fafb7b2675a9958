"""Somebody in calls says goodbye and comes back, so that presence changes all the time."""

from blows import Client
from registry import Attack

ATTACK = Attack(aims_at="changes of presence", rules=(20, 22, 107))


def attack(scene):
    for _ in scene.each_while():
        mallory = Client(scene, "mallory")
        mallory.call("victim", mode="managed")
        mallory.call("victim", mode="direct")
        mallory.ask("bye")
        mallory.close()
