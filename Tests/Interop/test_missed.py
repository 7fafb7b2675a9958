"""Who was called in vain is told at the next connection, until somebody has taken note."""

import json

from agent import wait_for
from calls import invite


def miss(agent, times=1, user="bob"):
    """alice calls the user, who is not there, and gives up; the calls' ids."""
    alice = agent.connect("alice", f"desk-{len(agent.devices)}")
    calls = []
    for _ in range(times):
        calls.append(invite(alice, user, mode="common"))
        alice.ok("call.cancel", call_id=calls[-1])
        alice.forget()
    return calls


def arrive(agent, user="bob", device="phone", **more):
    """Connects a device that asks for missed calls."""
    return agent.connect(user, device, missed=True, **more)


def test_a_missed_call_is_told_at_the_next_connection(agent):
    first, second = miss(agent, 2)
    bob = arrive(agent)
    one, two = bob.event("call.missed"), bob.event("call.missed")
    assert (one["call_id"], two["call_id"]) == (first, second)
    assert one["missed"] == two["missed"] == 2
    assert one["call"]["state"] == "ended" and one["call"]["caller"] == "alice"
    assert one["call"]["end"]["reason"] == "cancelled" and one["at"] >= one["call"]["ended_at"]
    assert one["actor"] == {"policy": "default"}
    bob.quiet()


def test_it_is_told_again_until_it_is_acknowledged(agent):
    (call,) = miss(agent)
    arrive(agent).event("call.missed")
    tablet = arrive(agent, device="tablet")
    assert tablet.event("call.missed")["call_id"] == call
    tablet.ack()
    tablet.quiet()
    arrive(agent, device="laptop").quiet()


def test_a_resumed_session_is_not_told_and_counts_as_acknowledged(agent):
    miss(agent)
    bob = arrive(agent)
    bob.event("call.missed")
    bob.vanish()
    again = arrive(agent, resume=bob.resume)
    assert again.hello["resumed"]
    again.quiet()
    arrive(agent, device="tablet").quiet()


def test_it_outlives_a_crash(agent):
    (call,) = miss(agent)
    agent.crash()
    agent.start()
    bob = arrive(agent)
    assert bob.event("call.missed")["call_id"] == call
    bob.ack()
    bob.quiet()
    agent.crash()
    agent.start()
    arrive(agent).quiet()


def test_the_ring_time_misses_too_and_an_answer_does_not(agent):
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="common", timeout_ms=1_000)
    alice.event("call.changed")
    alice.event("call.ended")
    assert arrive(agent).event("call.missed")["call"]["end"]["reason"] == "no_answer"
    carl = agent.connect("carl")
    call = invite(alice, "carl", mode="common")
    carl.event("call.incoming")
    carl.ok("call.reject", call_id=call)
    carl.forget()
    arrive(agent, "carl", "tablet").quiet()


def test_a_call_that_was_ended_while_it_rang_is_missed_too(agent):
    """The demo hangs up so: the invitee stays pending in a call that is over."""
    alice = agent.connect("alice")
    calls = []
    for mode in ("managed", "advanced"):
        calls.append(invite(alice, "bob", mode=mode))
        alice.ok("call.end", call_id=calls[-1])
        alice.forget()
    bob = arrive(agent)
    told = [bob.event("call.missed") for _ in calls]
    assert [one["call_id"] for one in told] == calls
    assert {one["missed"] for one in told} == {2}
    assert {one["call"]["end"]["detail"] for one in told} == {"ended_while_ringing"}
    bob.quiet()


def test_who_is_connected_has_heard_it_already(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode="common")
    bob.event("call.incoming")
    alice.ok("call.cancel", call_id=call)
    bob.event("call.cancelled")
    arrive(agent, device="tablet").quiet()


def test_very_many_are_a_count(agent):
    calls = miss(agent, 30)
    bob = arrive(agent)
    told = [bob.event("call.missed") for _ in range(20)]
    assert [one["call_id"] for one in told] == calls[10:]
    assert {one["missed"] for one in told} == {30}
    bob.ack()
    bob.quiet()
    arrive(agent, device="tablet").quiet()


def lose(agent, device):
    """The device's connection ends, and the server has seen it."""
    before = agent.metrics()["callagent_connections"]
    device.vanish()
    wait_for("one less", lambda: agent.metrics()["callagent_connections"] < before)


def test_who_hears_of_it_in_a_resumed_session_has_not_missed_it(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    for _ in range(2):
        call = invite(alice, "bob", mode="common")
        bob.event("call.incoming")
        lose(agent, bob)
        alice.ok("call.cancel", call_id=call)
        bob = arrive(agent, resume=bob.resume)
        assert bob.hello["resumed"]
        assert bob.event("call.cancelled")["call_id"] == call
        bob.ack()
        alice.forget()
    bob.quiet()
    arrive(agent, device="tablet").quiet()


def test_who_acknowledges_nothing_of_a_resumed_session_has_missed_it(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    lose(agent, bob)
    call = invite(alice, "bob", mode="common")
    alice.ok("call.cancel", call_id=call)
    arrive(agent, resume=bob.resume).events("call.incoming", "call.cancelled")
    assert arrive(agent, device="tablet").event("call.missed")["call_id"] == call


def test_who_does_not_ask_hears_nothing_of_a_call_that_is_over(agent):
    miss(agent)
    agent.connect("bob").quiet()
    arrive(agent, device="tablet").event("call.missed")


def test_who_is_called_again_has_not_missed_the_call(agent):
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced", timeout_ms=1_000)
    alice.event("call.changed")
    alice.ok("call.add", call_id=call, invitees=["bob"])
    bob = arrive(agent)
    assert bob.event("call.incoming")["call_id"] == call
    bob.quiet()
    bob.ok("call.accept", call_id=call)
    alice.ok("call.end", call_id=call)
    arrive(agent, device="tablet").quiet()


def test_who_has_answered_has_missed_nothing(agent):
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="handshake")
    headers = {"Authorization": "Bearer dev:bob"}
    body = json.dumps({"call_id": call})
    assert agent.request("POST", "/v1/call/accept", body, headers).status == 200
    alice.ok("call.cancel", call_id=call)
    arrive(agent).quiet()
