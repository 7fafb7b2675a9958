"""Idempotency keys: over connections, HTTP and restarts."""

import sqlite3

import pytest

from agent import wait_for
from calls import changes, invite
from test_admission import KEYS, token


def test_the_same_key_gives_the_first_reply_and_changes_nothing(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    first = alice.ok("call.invite", key="k1", invitees=["bob"])
    again = alice.ok("call.invite", key="k1", invitees=["bob"])
    assert again == first
    bob.event("call.incoming")
    bob.quiet()
    alice.quiet()


def test_the_first_reply_is_returned_even_when_the_call_went_on(ringing):
    alice, bob, _ = ringing("common")
    first = alice.ok("call.invite", key="k", invitees=["bob"])
    bob.event("call.incoming")
    bob.ok("call.reject", call_id=first["call_id"])
    assert alice.ok("call.invite", key="k", invitees=["bob"]) == first


def test_a_key_with_another_body_is_reused(agent):
    alice = agent.connect("alice")
    alice.ok("call.invite", key="k", invitees=["bob"])
    alice.refused("call.invite", "key_reused", key="k", invitees=["carol"])
    alice.refused("call.cancel", "key_reused", key="k", call_id="0" * 32)


def test_the_order_of_members_is_no_difference(agent):
    alice = agent.connect("alice")
    first = alice.ok("call.invite", key="k", invitees=["bob"], kind="video")
    assert alice.ok("call.invite", key="k", kind="video", invitees=["bob"]) == first


def test_keys_belong_to_their_user(agent):
    alice, carol = agent.connect("alice"), agent.connect("carol")
    one = alice.ok("call.invite", key="k", invitees=["bob"])
    other = carol.ok("call.invite", key="k", invitees=["bob"])
    assert one["call_id"] != other["call_id"]


def test_a_refusal_is_kept_under_its_key(ringing, agent):
    alice, bob, call = ringing("common")
    carol = agent.connect("carol")
    carol.refused("call.accept", "not_invited", key="k", call_id=call)
    carol.refused("call.accept", "not_invited", key="k", call_id=call)
    alice.refused("call.leave", "wrong_mode", key="k", call_id=call)
    bob.ok("call.accept", call_id=call)
    alice.refused("call.leave", "wrong_mode", key="k", call_id=call)


def test_a_malformed_request_leaves_its_key_free(agent):
    alice = agent.connect("alice")
    alice.refused("call.invite", "bad_request", key="k", invitees="bob")
    alice.ok("call.invite", key="k", invitees=["bob"])


def test_keys_on_reading_operations_are_ignored(agent):
    alice = agent.connect("alice")
    assert alice.ok("call.list", key="k")["calls"] == []
    invite(alice, "bob")
    assert len(alice.ok("call.list", key="k")["calls"]) == 1
    alice.ok("call.list", key="k", limit=5)


def test_the_same_key_on_another_connection(agent):
    phone, laptop = agent.connect("alice", "phone"), agent.connect("alice", "laptop")
    first = phone.ok("call.invite", key="k", invitees=["bob"])
    assert laptop.ok("call.invite", key="k", invitees=["bob"]) == first


def test_the_same_key_over_http(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    first = alice.ok("call.invite", key="k", invitees=["bob"])
    reply = agent.post("call.invite", "alice", {"invitees": ["bob"]}, key="k")
    assert (reply.status, reply.body) == (200, first)
    bob.event("call.incoming")
    bob.quiet()


def test_duplicates_under_way_get_one_call(agent):
    alice = agent.connect("alice")
    bob = agent.connect("bob")
    numbers = [alice.post("call.invite", {"invitees": ["bob"]}, key="k") for _ in range(20)]
    replies = [alice.reply(number)["ok"] for number in numbers]
    assert all(reply == replies[0] for reply in replies)
    bob.event("call.incoming")
    bob.quiet()


def test_the_same_key_after_a_crash(make_agent):
    agent = make_agent().start()
    first = agent.connect("alice").ok("call.invite", key="k", invitees=["bob"], mode="advanced")
    agent.crash()
    agent.start()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    assert alice.ok("call.invite", key="k", invitees=["bob"], mode="advanced") == first
    alice.refused("call.invite", "key_reused", key="k", invitees=["carol"], mode="advanced")
    assert bob.event("call.incoming")["call_id"] == first["call_id"]
    bob.quiet()
    bob.ok("call.accept", key="a", call_id=first["call_id"])
    assert changes(alice.event("call.changed")) == {"bob": ("joined", None)}


def test_the_same_key_over_http_after_a_crash(make_agent):
    agent = make_agent().start()
    data = {"invitees": ["bob"], "mode": "advanced"}
    first = agent.connect("alice").ok("call.invite", key="k", **data)
    refused = agent.post("call.accept", "bob", {"call_id": "0" * 32}, key="r")
    agent.crash()
    agent.start()
    assert agent.post("call.invite", "alice", data, key="k").body == first
    again = agent.post("call.accept", "bob", {"call_id": "0" * 32}, key="r")
    assert (again.status, again.text) == (refused.status, refused.text)
    reused = agent.post("call.accept", "bob", {"call_id": first["call_id"]}, key="r")
    assert (reused.status, reused.body["code"]) == (409, "key_reused")


@pytest.mark.parametrize("hours, is_kept", [(23.9, True), (24.1, False)])
def test_a_key_is_kept_for_a_day(make_agent, hours, is_kept):
    agent = make_agent().start()
    first = agent.connect("alice").ok("call.invite", key="k", invitees=["bob"], mode="advanced")
    agent.stop()
    with sqlite3.connect(agent.folder / "state" / "callagent.db") as store:
        changed = store.execute("UPDATE kept_reply SET at = at - ?", (int(hours * 3_600_000),))
        assert changed.rowcount == 1
    store.close()
    agent.start()
    again = agent.connect("alice").ok("call.invite", key="k", invitees=["bob"], mode="advanced")
    assert (again["call_id"] == first["call_id"]) is is_kept


def test_the_same_key_for_another_operation_is_reused(ringing):
    alice, bob, call = ringing()
    bob.ok("call.ringing", key="k", call_id=call)
    bob.refused("call.accept", "key_reused", key="k", call_id=call)
    bob.ok("call.accept", key="l", call_id=call)


def test_a_refusal_for_haste_leaves_its_key_free(make_agent):
    agent = make_agent(KEYS + "limits = { requests_per_second = 2 }\n").start()
    alice = agent.connect("alice", token=token(sub="alice"))
    data = {"invitees": ["bob"], "mode": "advanced"}
    hasty = [alice.post("call.invite", data, key=f"k{number}") for number in range(20)]
    replies = [alice.reply(number) for number in hasty]
    late = next(at for at, reply in enumerate(replies) if "error" in reply)
    assert replies[late]["error"]["code"] == "rate_limited"
    made = wait_for("an answer", lambda: alice.ask("call.invite", key=f"k{late}", **data).get("ok"))
    assert made["call_id"]


def test_the_oldest_of_more_than_a_thousand_keys_goes_first(agent):
    alice = agent.connect("alice")
    first = alice.ok("call.invite", key="k0", invitees=["bob"], mode="advanced")
    for number in range(1, 1_001):
        alice.refused("call.accept", "not_found", key=f"k{number}", call_id="0" * 32)
    again = alice.ok("call.invite", key="k0", invitees=["bob"], mode="advanced")
    assert again["call_id"] != first["call_id"]
