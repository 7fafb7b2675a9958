"""The same key many times before its first request is answered, over all devices."""

from blows import Flood, message
from registry import Attack

ATTACK = Attack(aims_at="requests that wait for one under the same key", rules=(25,))


def attack(scene):
    lines = [Flood(lambda device=f"d{number}": scene.enter("mallory", device))
             for number in range(8)]
    for number in scene.each_while():
        again = message("call.invite", key=f"k{number // 8}", invitees=["victim"], mode="advanced")
        lines[number % 8].push(lambda: again * 20)
