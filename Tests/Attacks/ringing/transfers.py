"""A caller transfers and removes without pause, and asks for what a call may not have."""

from blows import Client, message
from registry import Attack

ATTACK = Attack(aims_at="transfers of a call, and operations that its state refuses",
                rules=(40, 103, 111))


def attack(scene):
    mallory = Client(scene, "mallory", "first")
    refused = mallory.call("victim", mode="common", timeout_ms=600_000)
    call = mallory.call("victim", mode="advanced", timeout_ms=600_000)
    for number in scene.each_while():
        asked = mallory.ask("call.transfer", call_id=call, to=f"u{number}",
                            extended_data="x" * 2_000) if call else {"error": None}
        if "error" in asked:
            call = mallory.call("victim", mode="advanced", timeout_ms=600_000)
        else:
            mallory.ask("call.remove", call_id=call, users=[f"u{number}"])
        mallory.raw.send(b"".join(message(op, call_id=refused, **more) for op, more in (
            ("call.transfer", {"to": "nobody"}), ("call.remove", {"users": ["victim"]}),
            ("call.hold", {"on": True}), ("call.token", {}), ("call.end", {}))) * 5)
