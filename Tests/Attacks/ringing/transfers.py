"""Operations that a call may not have, or not yet, asked for without pause."""

from blows import Client, flood, message
from registry import Attack

ATTACK = Attack(aims_at="operations that are refused by the state of a call", rules=(40, 103, 111))


def attack(scene):
    call = Client(scene, "mallory", "first").call("victim", mode="common", timeout_ms=600_000)
    flood(scene, "mallory", b"".join(
        message(op, call_id=call, **more) for op, more in (
            ("call.transfer", {"to": "nobody"}), ("call.remove", {"users": ["victim"]}),
            ("call.hold", {"on": True}), ("call.token", {}), ("call.end", {}),
            ("call.reject", {}), ("call.accept_ack", {"user": "victim"}))) * 5)
