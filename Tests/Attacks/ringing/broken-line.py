"""Calls without end to somebody whose line is down, and who is in a call with somebody else."""

from blows import Client, flood, message
from device import Device
from registry import Attack

ATTACK = Attack(aims_at="what is kept of others for who is away", rules=(30, 31))


def prepare(scene):
    ann, bob = scene.device("ann"), scene.device("bob")
    call = ann.ok("call.invite", invitees=["bob"], mode="advanced")["call_id"]
    bob.event("call.incoming")
    bob.ok("call.accept", call_id=call)
    bob.forget()
    scene.resume = bob.resume
    bob.vanish()
    scene.call, scene.ann = call, ann
    ann.ok("call.signal", call_id=call, to="bob", data="the way to me")


def attack(scene):
    if scene.number == 0:
        client = Client(scene, "mallory", "tablet")
        call = client.call("bob", mode="advanced", timeout_ms=600_000)
        for _ in range(20 if call else 0):
            client.ask("call.signal", call_id=call, to="bob", data="x" * 16_000)
        client.close()
    flood(scene, "mallory", message("call.invite", invitees=["bob"], mode="advanced",
                                    timeout_ms=1_000, extended_data="x" * 2_000) * 20)


def holds(scene):
    bob = Device(scene.door.url, "bob", token=scene.token("bob"), resume=scene.resume)
    bob.refused("call.get", "not_found", call_id="0" * 32)  # all else came before
    told = [event["data"]["from"] for event in bob.pending_events
            if event["event"] == "call.signal"]
    bob.forget()
    bob.close()
    assert "ann" in told, "what Ann had said to Bob is lost"
    scene.ann.close()
