"""Somebody in a call moves it from one device to the other and back."""

from blows import Client
from registry import Attack

ATTACK = Attack(aims_at="changes of one call", rules=(6, 7, 41))


def attack(scene):
    devices = [Client(scene, "mallory", f"d{number}") for number in range(4)]
    call = devices[0].call("victim", mode="advanced", timeout_ms=600_000)
    for number in scene.each_while():
        devices[number % 4].ask("call.join", call_id=call)
        devices[number % 4].ask("call.media", call_id=call, audio=bool(number % 2))
