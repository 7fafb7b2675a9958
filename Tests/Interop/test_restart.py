"""After `kill -9` in the middle of things everything goes on."""

import random

import pytest

from calls import changes, ended, invite, participant, states


def restart(agent):
    agent.crash()
    agent.start()


def test_requests_under_way_count_once(make_agent):
    """What had no answer is sent again with its key, and gives one call each."""
    agent = make_agent().start()
    keys = [f"k{number}" for number in range(60)]
    for _ in range(3):
        alice = agent.connect("alice")
        numbers = [alice.post("call.invite", {"invitees": ["bob"]}, key) for key in keys]
        alice.reply(numbers[20])
        restart(agent)
    alice = agent.connect("alice")
    made = {alice.ok("call.invite", key=key, invitees=["bob"])["call_id"] for key in keys}
    listed = {call["call_id"] for call in alice.ok("call.list", limit=100)["calls"]}
    assert made == listed and len(made) == len(keys)


def test_an_answer_under_way_counts_once(make_agent):
    agent = make_agent().start()
    for number in range(10):
        alice, bob = agent.connect("alice"), agent.connect("bob")
        call = invite(alice, "bob", mode="common")
        bob.post("call.accept", {"call_id": call}, key=f"a{number}")
        restart(agent)
        bob = agent.connect("bob")
        assert bob.ok("call.accept", key=f"a{number}", call_id=call)["call"]["state"] == "ended"
        assert bob.ok("call.get", call_id=call)["call"]["revision"] == 2


def test_a_call_in_progress_goes_on_with_all_it_has(make_agent):
    agent = make_agent().start()
    alice, bob = agent.connect("alice", "tablet"), agent.connect("bob")
    call = alice.ok("call.invite", invitees=["bob"], mode="direct", items={"room": "7"},
                    extended_data="hi")["call_id"]
    bob.ok("call.accept", call_id=call, extended_data="yes", video=True)
    bob.ok("call.items", call_id=call, put={"colour": "red"})
    before = alice.ok("call.get", call_id=call)["call"]
    assert before["items"] == {"room": "7", "colour": "red"}
    restart(agent)
    alice, bob = agent.connect("alice", "tablet"), agent.connect("bob")
    assert alice.hello["calls"] == [before] == bob.hello["calls"]
    alice.ok("call.signal", call_id=call, data={"sdp": [1, 2]})
    assert bob.event("call.signal")["data"] == {"sdp": [1, 2]}
    bob.ok("call.report", call_id=call, media="connected")
    alice.ok("call.report", call_id=call, media="connected")
    for device in (alice, bob):
        assert device.event("call.media_phase")["media"] == "connected"
    alice.ok("call.end", call_id=call)
    for device in (alice, bob):
        assert ended(device) == ("completed", None)


def test_everybody_may_answer_after_several_crashes(make_agent):
    agent = make_agent().start()
    alice = agent.connect("alice")
    call = invite(alice, "bob", "carol", "dave", mode="advanced", timeout_ms=60_000)
    deadline = participant(alice.ok("call.get", call_id=call)["call"], "dave")["deadline_at"]
    restart(agent)
    agent.connect("bob").ok("call.accept", call_id=call)
    restart(agent)
    agent.connect("carol").ok("call.reject", call_id=call)
    restart(agent)
    alice, dave = agent.connect("alice"), agent.connect("dave")
    (known,) = alice.hello["calls"]
    assert states(known) == {
        "alice": "joined", "bob": "joined", "carol": "rejected", "dave": "inviting"}
    assert participant(known, "dave")["deadline_at"] == deadline
    dave.event("call.incoming")
    dave.ok("call.accept", call_id=call)
    assert changes(alice.event("call.changed")) == {"dave": ("joined", None)}
    revision = alice.ok("call.get", call_id=call)["call"]["revision"]
    assert revision == 4


def test_the_delivery_check_goes_on(make_agent):
    agent = make_agent().start()
    alice = agent.connect("alice")
    invite(alice, "bob", mode="advanced", delivery_check=True)
    restart(agent)
    alice = agent.connect("alice")
    assert changes(alice.event("call.changed", timeout=10)) == {"bob": ("undelivered", None)}


@pytest.mark.full
@pytest.mark.patient
def test_a_caller_who_comes_back_is_not_lost(make_agent):
    agent = make_agent().start()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    invite(alice, "bob", timeout_ms=39_000)
    restart(agent)
    alice, bob = agent.connect("alice"), agent.connect("bob")
    bob.event("call.incoming")
    bob.event("call.timed_out", timeout=45)
    assert changes(alice.event("call.changed")) == {"bob": ("timed_out", None)}


@pytest.mark.patient
def test_a_caller_who_does_not_come_back_is_lost_after_35_seconds(make_agent):
    agent = make_agent().start()
    call = invite(agent.connect("alice"), "bob")
    restart(agent)
    bob = agent.connect("bob")
    bob.event("call.incoming")
    event = bob.event("call.cancelled", timeout=45)
    assert (event["call_id"], event["reason"]) == (call, "caller_lost")
    assert event["actor"] == {"timer": "presence"}


@pytest.mark.full
@pytest.mark.patient
def test_who_was_never_connected_cannot_be_lost(make_agent):
    agent = make_agent().start()
    call = agent.post("call.invite", "alice", {"invitees": ["bob"], "timeout_ms": 38_000})
    restart(agent)
    bob = agent.connect("bob")
    bob.event("call.incoming")
    assert bob.event("call.timed_out", timeout=45)["call_id"] == call.body["call_id"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_busy_server_that_crashes_again_and_again(make_agent, seed):
    """Whatever was acknowledged is so after every crash, and what was not may be repeated."""
    dice = random.Random(seed)
    agent = make_agent().start()
    known = {}  # call → the last state that alice was told
    for round_ in range(6):
        alice, bob = agent.connect("alice"), agent.connect("bob")
        shown = {call["call_id"]: call["state"] for call in alice.hello["calls"]}
        for call, state in known.items():
            assert shown.get(call, "ended") == state, (seed, round_)
        for _ in range(dice.randrange(5, 40)):
            step(dice, alice, bob, known)
        alice.post("call.invite", {"invitees": ["bob"], "mode": "advanced"})
        restart(agent)


def step(dice, alice, bob, known):
    """One acknowledged change."""
    live = [call for call, state in known.items() if state != "ended"]
    if not live or dice.random() < 0.4:
        ok = alice.ok("call.invite", invitees=["bob", "carol"], mode="advanced")
        known[ok["call_id"]] = "ringing"
        return
    call = dice.choice(live)
    if known[call] == "ringing":
        reply = bob.ask(dice.choice(["call.accept", "call.reject"]), call_id=call)
        if "ok" not in reply:
            reply = alice.ask("call.end", call_id=call)
    else:
        reply = dice.choice([alice, bob]).ask("call.end", call_id=call)
    known[call] = reply["ok"]["call"]["state"]
