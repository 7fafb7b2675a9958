"""Who was called in vain is told at the next connection, until somebody has taken note."""

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


def test_a_missed_call_is_told_at_the_next_connection(agent):
    first, second = miss(agent, 2)
    bob = agent.connect("bob")
    one, two = bob.event("call.missed"), bob.event("call.missed")
    assert (one["call_id"], two["call_id"]) == (first, second)
    assert one["missed"] == two["missed"] == 2
    assert one["call"]["state"] == "ended" and one["call"]["caller"] == "alice"
    assert one["call"]["end"]["reason"] == "cancelled" and one["at"] >= one["call"]["ended_at"]
    assert one["actor"] == {"policy": "default"}
    bob.quiet()


def test_it_is_told_again_until_it_is_acknowledged(agent):
    (call,) = miss(agent)
    agent.connect("bob").event("call.missed")
    tablet = agent.connect("bob", "tablet")
    assert tablet.event("call.missed")["call_id"] == call
    tablet.ack()
    tablet.quiet()
    agent.connect("bob", "laptop").quiet()


def test_a_resumed_session_is_not_told_and_counts_as_acknowledged(agent):
    miss(agent)
    bob = agent.connect("bob")
    bob.event("call.missed")
    bob.vanish()
    again = agent.connect("bob", resume=bob.resume)
    assert again.hello["resumed"]
    again.quiet()
    agent.connect("bob", "tablet").quiet()


def test_it_outlives_a_crash(agent):
    (call,) = miss(agent)
    agent.crash()
    agent.start()
    bob = agent.connect("bob")
    assert bob.event("call.missed")["call_id"] == call
    bob.ack()
    bob.quiet()
    agent.crash()
    agent.start()
    agent.connect("bob").quiet()


def test_the_ring_time_misses_too_and_an_answer_does_not(agent):
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="common", timeout_ms=1_000)
    alice.event("call.changed")
    alice.event("call.ended")
    assert agent.connect("bob").event("call.missed")["call"]["end"]["reason"] == "no_answer"
    carl = agent.connect("carl")
    call = invite(alice, "carl", mode="common")
    carl.event("call.incoming")
    carl.ok("call.reject", call_id=call)
    carl.forget()
    agent.connect("carl", "tablet").quiet()


def test_who_is_connected_has_heard_it_already(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode="common")
    bob.event("call.incoming")
    alice.ok("call.cancel", call_id=call)
    bob.event("call.cancelled")
    agent.connect("bob", "tablet").quiet()


def test_very_many_are_a_count(agent):
    calls = miss(agent, 30)
    bob = agent.connect("bob")
    told = [bob.event("call.missed") for _ in range(20)]
    assert [one["call_id"] for one in told] == calls[10:]
    assert {one["missed"] for one in told} == {30}
    bob.ack()
    bob.quiet()
    agent.connect("bob", "tablet").quiet()


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
        bob = agent.connect("bob", resume=bob.resume)
        assert bob.hello["resumed"]
        assert bob.event("call.cancelled")["call_id"] == call
        bob.ack()
        alice.forget()
    bob.quiet()
    agent.connect("bob", "tablet").quiet()


def test_who_acknowledges_nothing_of_a_resumed_session_has_missed_it(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    lose(agent, bob)
    call = invite(alice, "bob", mode="common")
    alice.ok("call.cancel", call_id=call)
    agent.connect("bob", resume=bob.resume).events("call.incoming", "call.cancelled")
    assert agent.connect("bob", "tablet").event("call.missed")["call_id"] == call
