"""Mode `common`: the call ends when every invitee has answered."""

import pytest

from calls import changes, ended, invite, participant, states


def test_the_call_object_of_a_new_call(agent):
    alice = agent.connect("alice", "tablet")
    agent.connect("bob")
    ok = alice.ok("call.invite", invitees=["bob"], mode="common", kind="video",
                  extended_data='{"a":1}')
    call = ok["call"]
    assert len(ok["call_id"]) == 32 and set(ok["call_id"]) <= set("0123456789abcdef")
    assert call["call_id"] == ok["call_id"] and ok["errors"] == []
    assert (call["mode"], call["kind"], call["state"]) == ("common", "video", "ringing")
    assert (call["caller"], call["extended_data"], call["items"]) == ("alice", '{"a":1}', {})
    assert (call["timeout_ms"], call["revision"], call["media"]) == (90_000, 1, "none")
    assert [call[name] for name in ("answered_at", "connected_at", "ended_at", "end")] == [None] * 4
    caller, callee = participant(call, "alice"), participant(call, "bob")
    assert (caller["role"], caller["state"], caller["device"]) == ("caller", "joined", "tablet")
    assert (caller["invited_by"], caller["deadline_at"]) == (None, None)
    assert (callee["role"], callee["state"], callee["device"]) == ("invitee", "inviting", None)
    assert (callee["invited_by"], callee["reason"]) == ("alice", None)
    assert callee["deadline_at"] == callee["invited_at"] + 90_000
    assert (callee["audio"], callee["video"], callee["held"]) == (True, True, False)


def test_defaults_of_an_invitation(agent):
    call = agent.connect("alice").ok("call.invite", invitees=["bob"])["call"]
    assert (call["mode"], call["kind"], call["extended_data"]) == ("advanced", "audio", None)
    assert call["duration_ms"] is None
    assert participant(call, "bob")["video"] is False


def test_ids_sort_by_creation_time(agent):
    alice = agent.connect("alice")
    made = [invite(alice, "bob") for _ in range(20)]
    assert made == sorted(made) and len(set(made)) == 20


def test_the_reply_comes_before_the_event_of_the_same_operation(ringing):
    alice, bob, call = ringing("common")
    assert alice.arrivals == ["reply", "reply"]
    bob.ok("call.reject", call_id=call)
    bob.event("call.changed")
    assert bob.arrivals[-2:] == ["reply", "call.changed"]


def test_an_invitation_is_shown_and_accepted(ringing):
    alice, bob, call = ringing("common")
    assert bob.ok("call.ringing", call_id=call) == {}
    seen = alice.event("call.changed")
    assert changes(seen) == {"bob": ("ringing", None)}
    assert seen["actor"] == {"user": "bob", "device": "phone"} and seen["revision"] == 2
    assert changes(bob.event("call.changed")) == {"bob": ("ringing", None)}
    reply = bob.ok("call.accept", call_id=call, extended_data="yes")["call"]
    assert (reply["state"], reply["revision"]) == ("ended", 3)
    for device in (alice, bob):
        event = device.event("call.changed")
        assert changes(event) == {"bob": ("joined", None)}
        assert event["changes"][0]["extended_data"] == "yes"
        assert ended(device) == ("settled", "answered")
        device.quiet()


def test_the_invitation_carries_the_call_and_what_is_left_of_the_time(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", timeout_ms=30_000, extended_data="hello")
    incoming = bob.event("call.incoming")
    assert (incoming["call_id"], incoming["inviter"]) == (call, "alice")
    assert 25_000 < incoming["expires_in_ms"] <= 30_000
    assert incoming["call"]["extended_data"] == "hello"
    assert incoming["revision"] == incoming["call"]["revision"] == 1


def test_an_invitation_is_rejected(ringing):
    alice, bob, call = ringing("common")
    reply = bob.ok("call.reject", call_id=call, extended_data="no")["call"]
    assert states(reply) == {"alice": "joined", "bob": "rejected"}
    event = alice.event("call.changed")
    assert changes(event) == {"bob": ("rejected", "declined")}
    assert event["changes"][0]["extended_data"] == "no"
    assert ended(alice) == ("rejected", None)
    assert changes(bob.event("call.changed")) == {"bob": ("rejected", "declined")}
    bob.quiet()


def test_busy_is_an_answer(ringing):
    alice, bob, call = ringing("common")
    bob.ok("call.reject", call_id=call, reason="busy")
    assert changes(alice.event("call.changed")) == {"bob": ("rejected", "busy")}
    assert ended(alice) == ("busy", None)


def test_the_caller_gives_up(ringing):
    alice, bob, call = ringing("common")
    ok = alice.ok("call.cancel", call_id=call, extended_data="never mind")
    assert ok["errors"] == []
    assert states(ok["call"]) == {"alice": "cancelled", "bob": "cancelled"}
    assert ended(alice) == ("cancelled", "by_caller")
    event = bob.event("call.cancelled")
    assert (event["inviter"], event["extended_data"]) == ("alice", "never mind")
    assert event["reason"] == "whole"
    bob.quiet()
    alice.quiet()


def test_nobody_answers(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode="common", timeout_ms=1_000)
    bob.event("call.incoming")
    seen = bob.event("call.timed_out")
    assert (seen["call_id"], seen["actor"]) == (call, {"timer": "ring"})
    assert changes(alice.event("call.changed")) == {"bob": ("timed_out", None)}
    assert ended(alice) == ("no_answer", None)
    bob.refused("call.accept", "expired", call_id=call)
    bob.refused("call.reject", "expired", call_id=call)
    bob.quiet()


def test_two_invitees_answer_differently(agent):
    alice, bob, carol = (agent.connect(name) for name in ("alice", "bob", "carol"))
    call = invite(alice, "bob", "carol", mode="common")
    for device in (bob, carol):
        device.event("call.incoming")
    bob.ok("call.accept", call_id=call)
    for device in (alice, bob, carol):
        assert changes(device.event("call.changed")) == {"bob": ("joined", None)}
    alice.refused("call.cancel", "already_answered", call_id=call)
    carol.ok("call.reject", call_id=call)
    for device in (alice, bob):
        assert changes(device.event("call.changed")) == {"carol": ("rejected", "declined")}
        assert ended(device) == ("settled", "answered")
    carol.event("call.changed")
    carol.quiet()


def test_mixed_refusals_settle_without_an_answer(agent):
    alice, bob, carol = (agent.connect(name) for name in ("alice", "bob", "carol"))
    call = invite(alice, "bob", "carol", mode="common", timeout_ms=1_000)
    bob.ok("call.reject", call_id=call)
    assert changes(alice.event("call.changed")) == {"bob": ("rejected", "declined")}
    assert changes(alice.event("call.changed")) == {"carol": ("timed_out", None)}
    assert ended(alice) == ("settled", "mixed")
    carol.event("call.incoming")


def test_a_list_in_cancel_means_everybody(agent):
    alice, bob, carol = (agent.connect(name) for name in ("alice", "bob", "carol"))
    call = invite(alice, "bob", "carol", mode="common")
    alice.ok("call.cancel", call_id=call, users=["bob"])
    for device in (bob, carol):
        device.event("call.incoming")
        device.event("call.cancelled")


@pytest.mark.parametrize("op, data", [
    ("call.leave", {}), ("call.end", {}), ("call.join", {}), ("call.add", {"invitees": ["carol"]}),
])
def test_operations_of_other_modes_are_refused(ringing, op, data):
    alice, bob, call = ringing("common")
    alice.refused(op, "wrong_mode", call_id=call, **data)
    bob.refused(op, "wrong_mode", call_id=call, **data)
    assert alice.ok("call.get", call_id=call)["call"]["revision"] == 1


def test_answers_after_the_answer(ringing):
    alice, bob, call = ringing("common")
    bob.ok("call.accept", call_id=call)
    bob.refused("call.accept", "already_answered", call_id=call)
    bob.refused("call.reject", "already_answered", call_id=call)
    alice.refused("call.cancel", "already_answered", call_id=call)
    assert bob.ok("call.ringing", call_id=call) == {}


def test_answers_after_the_cancel(ringing):
    alice, bob, call = ringing("common")
    alice.ok("call.cancel", call_id=call)
    bob.refused("call.accept", "cancelled", call_id=call)
    bob.refused("call.reject", "cancelled", call_id=call)
    assert bob.ok("call.ringing", call_id=call) == {}


def test_the_caller_says_bye_while_it_rings(ringing):
    alice, bob, call = ringing("common")
    alice.ok("bye")
    event = bob.event("call.cancelled")
    assert (event["call_id"], event["reason"]) == (call, "caller_lost")
    end = bob.ok("call.get", call_id=call)["call"]["end"]
    assert (end["reason"], end["detail"]) == ("cancelled", "caller_lost")


@pytest.mark.patient
def test_a_caller_who_vanishes_is_lost_after_35_seconds(ringing):
    alice, bob, _ = ringing("common")
    alice.vanish()
    assert bob.event("call.cancelled", timeout=45)["reason"] == "caller_lost"
