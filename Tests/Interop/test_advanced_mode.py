"""Mode `advanced`: people are added, leave, and the call lives until its end."""

from agent import wait_for
from calls import changes, ended, invite, participant, states


def answered(ringing):
    """alice and bob are in a call; their events so far are taken."""
    alice, bob, call = ringing("advanced")
    assert bob.ok("call.accept", call_id=call)["call"]["state"] == "active"
    for device in (alice, bob):
        assert changes(device.event("call.changed")) == {"bob": ("joined", None)}
    return alice, bob, call


def test_an_accepted_call_goes_on(ringing):
    alice, bob, call = answered(ringing)
    got = alice.ok("call.get", call_id=call)["call"]
    assert (got["state"], got["answered_at"] is None, got["end"]) == ("active", False, None)
    assert participant(got, "bob")["device"] == "phone"
    assert participant(got, "bob")["answered_at"] == got["answered_at"]
    alice.quiet()
    bob.quiet()


def test_the_end_is_told_to_both(ringing):
    alice, bob, call = answered(ringing)
    reply = alice.ok("call.end", call_id=call, extended_data="goodbye")["call"]
    assert reply["state"] == "ended" and reply["end"]["by"] == "alice"
    assert reply["end"]["extended_data"] == "goodbye"
    for device in (alice, bob):
        assert ended(device) == ("completed", None)
        device.quiet()
    for device in (alice, bob):
        device.refused("call.end", "call_ended", call_id=call)
        device.refused("call.leave", "call_ended", call_id=call)


def test_one_leaves_then_the_last_one(ringing):
    alice, bob, call = answered(ringing)
    bob.ok("call.leave", call_id=call, extended_data="bye")
    for device in (alice, bob):
        event = device.event("call.changed")
        assert changes(event) == {"bob": ("left", "self")}
        assert event["changes"][0]["extended_data"] == "bye"
    bob.quiet()
    assert alice.ok("call.get", call_id=call)["call"]["state"] == "active"
    alice.ok("call.leave", call_id=call)
    assert changes(alice.event("call.changed")) == {"alice": ("left", "self")}
    assert ended(alice) == ("last_left", None)


def test_all_reject_and_the_call_stays(ringing):
    alice, bob, call = ringing("advanced")
    bob.ok("call.reject", call_id=call)
    assert changes(alice.event("call.changed")) == {"bob": ("rejected", "declined")}
    alice.quiet()
    assert alice.ok("call.get", call_id=call)["call"]["state"] == "ringing"


def test_an_unanswered_call_stays_for_its_caller(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode="advanced", timeout_ms=1_000)
    bob.event("call.incoming")
    bob.event("call.timed_out")
    assert changes(alice.event("call.changed")) == {"bob": ("timed_out", None)}
    alice.ok("call.end", call_id=call)
    assert ended(alice) == ("cancelled", "ended_while_ringing")
    bob.quiet()


def test_the_caller_ends_while_it_rings(ringing):
    alice, bob, call = ringing("advanced")
    alice.ok("call.end", call_id=call)
    for device in (alice, bob):
        assert ended(device) == ("cancelled", "ended_while_ringing")
        device.quiet()


def test_a_ringing_invitee_can_neither_end_nor_add_nor_leave(ringing):
    alice, bob, call = ringing("advanced")
    bob.refused("call.end", "wrong_state", call_id=call)
    bob.refused("call.leave", "wrong_state", call_id=call)
    bob.refused("call.add", "wrong_state", call_id=call, invitees=["carol"])
    alice.quiet()
    bob.quiet()


def test_somebody_is_added_and_accepts(ringing, agent):
    alice, bob, call = answered(ringing)
    carol = agent.connect("carol")
    ok = bob.ok("call.add", call_id=call, invitees=["carol"])
    assert ok["errors"] == [] and states(ok["call"])["carol"] == "inviting"
    for device in (alice, bob):
        assert changes(device.event("call.changed")) == {"carol": ("inviting", None)}
    incoming = carol.event("call.incoming")
    assert incoming["inviter"] == "bob"
    assert participant(incoming["call"], "carol")["invited_by"] == "bob"
    carol.ok("call.accept", call_id=call)
    for device in (alice, bob, carol):
        assert changes(device.event("call.changed")) == {"carol": ("joined", None)}
        device.quiet()


def test_adding_names_those_who_cannot_be_added(ringing, agent):
    alice, bob, call = answered(ringing)
    agent.connect("carol")
    ok = alice.ok("call.add", call_id=call, invitees=["bob", "alice", "carol", "carol"])
    assert {(one["user"], one["code"]) for one in ok["errors"]} == {
        ("bob", "already_in_call"), ("alice", "self"), ("carol", "duplicate")}
    assert states(ok["call"])["carol"] == "inviting"


def test_ten_participants_and_no_more(agent):
    alice = agent.connect("alice")
    nine = [f"user-{number}" for number in range(9)]
    call = invite(alice, *nine, mode="advanced")
    alice.refused("call.add", "too_many", call_id=call, invitees=["carol"])
    assert len(alice.ok("call.get", call_id=call)["call"]["participants"]) == 10


def test_surplus_invitees_are_named(agent):
    alice = agent.connect("alice")
    ten = [f"user-{number}" for number in range(10)]
    ok = alice.ok("call.invite", invitees=ten, mode="advanced")
    assert ok["errors"] == [{"user": "user-9", "code": "too_many"}]
    assert len(ok["call"]["participants"]) == 10


def test_one_of_several_is_cancelled(agent):
    alice, bob, carol = (agent.connect(name) for name in ("alice", "bob", "carol"))
    call = invite(alice, "bob", "carol", mode="advanced")
    bob.event("call.incoming")
    carol.event("call.incoming")
    ok = alice.ok("call.cancel", call_id=call, users=["carol"])
    assert ok["errors"] == []
    event = carol.event("call.cancelled")
    assert (event["inviter"], event["reason"]) == ("alice", "by_inviter")
    for device in (alice, bob):
        assert changes(device.event("call.changed")) == {"carol": ("cancelled", "by_inviter")}
    bob.ok("call.accept", call_id=call)
    carol.quiet()


def test_a_cancel_of_some_tells_which_failed(ringing, agent):
    alice, bob, call = answered(ringing)
    agent.connect("carol")
    alice.ok("call.add", call_id=call, invitees=["carol"])
    bob.refused("call.cancel", "not_inviter", call_id=call, users=["carol"])
    ok = alice.ok("call.cancel", call_id=call, users=["bob", "carol", "dave"])
    assert {(one["user"], one["code"]) for one in ok["errors"]} == {
        ("bob", "already_answered"), ("dave", "not_invited")}
    assert states(ok["call"])["carol"] == "cancelled"
    alice.refused("call.cancel", "already_answered", call_id=call, users=["bob"])


def test_a_whole_cancel_after_an_answer_is_refused(ringing):
    alice, _, call = answered(ringing)
    alice.refused("call.cancel", "already_answered", call_id=call)
    assert alice.ok("call.get", call_id=call)["call"]["state"] == "active"


def test_the_cancelled_can_be_invited_again(ringing, agent):
    alice, bob, call = ringing("advanced")
    carol = agent.connect("carol")
    alice.ok("call.add", call_id=call, invitees=["carol"])
    carol.event("call.incoming")
    alice.ok("call.cancel", call_id=call, users=["carol"])
    carol.event("call.cancelled")
    alice.ok("call.add", call_id=call, invitees=["carol"])
    assert carol.event("call.incoming")["call_id"] == call
    carol.ok("call.accept", call_id=call)
    assert bob.ok("call.get", call_id=call)["call"]["state"] == "active"


def test_strangers_are_told_nothing(ringing, agent):
    _, _, call = ringing("advanced")
    mallory = agent.connect("mallory")
    mallory.refused("call.get", "not_found", call_id=call)
    for op, data in [("call.accept", {}), ("call.reject", {}), ("call.cancel", {}),
                     ("call.leave", {}), ("call.end", {}), ("call.ringing", {}),
                     ("call.add", {"invitees": ["carol"]})]:
        mallory.refused(op, "not_invited", call_id=call, **data)
    mallory.quiet()


def test_the_caller_has_no_invitation_to_answer(ringing):
    alice, _, call = ringing("advanced")
    alice.refused("call.accept", "already_joined", call_id=call)


def test_two_users_call_each_other(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    one = invite(alice, "bob", mode="advanced")
    bob.event("call.incoming")
    other = invite(bob, "alice", mode="advanced")
    assert alice.event("call.incoming")["call_id"] == other != one
    alice.ok("call.accept", call_id=other)
    bob.ok("call.accept", call_id=one)
    for device in (alice, bob):
        listed = device.ok("call.list")["calls"]
        assert [(call["call_id"], call["state"]) for call in listed] == [
            (other, "active"), (one, "active")]


def test_names_may_hold_what_json_escapes(make_agent):
    """Quotes and backslashes in every name that people choose, also after a restart."""
    caller, callee, device = 'an"n\\', '\\"bob"', '"tab\\let"'
    plugin = "on.invite(function(call) log(call.caller.id) return ring {} end)"
    agent = make_agent(
        'answer_for = { "*" }\nplugins = { "p" }', plugins={"p": plugin}).start()
    ann, bob = agent.connect(caller, device), agent.connect(callee)
    placed = ann.ok(
        "call.invite", invitees=[callee], mode="advanced", kind='vi"deo\\',
        extended_data='"\\')["call"]
    assert placed["caller"] == caller
    call = placed["call_id"]
    shown = bob.event("call.incoming")
    assert (shown["inviter"], shown["call"]["caller"]) == (caller, caller)
    assert (shown["call"]["kind"], shown["call"]["extended_data"]) == ('vi"deo\\', '"\\')
    bob.ok("call.accept", call_id=call, extended_data='\\"')
    assert changes(ann.event("call.changed")) == {callee: ("joined", None)}
    # Another thread writes what was decided, soon after.
    decisions = agent.folder / "state" / "decisions.jsonl"
    wait_for("the decision in its file",
             lambda: decisions.exists() and call in decisions.read_text())
    agent.crash()
    agent.start()
    kept = agent.connect(caller, device).hello["calls"][0]
    assert kept["caller"] == caller and participant(kept, caller)["device"] == device
    assert participant(kept, callee)["invited_by"] == caller
    assert participant(kept, callee)["extended_data"] == '\\"'
    assert caller in agent.tool("explain", call)[1]
