"""The texts of a call are put and deleted without pause."""

from blows import Client, flood, message
from registry import Attack

ATTACK = Attack(aims_at="texts of a call", rules=(43,))


def attack(scene):
    call = Client(scene, "mallory", "first").call("victim", mode="direct", timeout_ms=600_000)
    many = {f"key-{number}": "v" * 128 for number in range(10)}
    flood(scene, "mallory", (message("call.items", call_id=call, put=many)
                             + message("call.items", call_id=call, delete=list(many))
                             + message("call.items", call_id=call, clear=True)) * 5)
