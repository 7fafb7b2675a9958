"""Calls that were: get and list."""

import pytest

from calls import invite


@pytest.fixture
def history(agent):
    """alice with five ended calls, newest first, and a sixth that rings."""
    alice, bob = agent.connect("alice"), agent.connect("bob")
    made = []
    for number in range(5):
        call = invite(alice, "bob", mode="common")
        if number % 2:
            bob.ok("call.accept", call_id=call)
        else:
            alice.ok("call.cancel", call_id=call)
        made.insert(0, call)
        alice.forget()
        bob.forget()
    made.insert(0, invite(bob, "alice", mode="common"))
    return alice, made


def ids(page):
    return [call["call_id"] for call in page["calls"]]


def test_newest_first_with_the_whole_call(history):
    alice, made = history
    page = alice.ok("call.list")
    assert ids(page) == made and page["cursor"] is None
    for call in page["calls"]:
        assert call == alice.ok("call.get", call_id=call["call_id"])["call"]


def test_pages(history):
    alice, made = history
    found, cursor = [], {}
    while True:
        page = alice.ok("call.list", limit=4, **cursor)
        found += ids(page)
        if page["cursor"] is None:
            break
        cursor = {"cursor": page["cursor"]}
    assert found == made


def test_filters(history):
    alice, made = history
    assert ids(alice.ok("call.list", state="ringing")) == made[:1]
    assert ids(alice.ok("call.list", state="ended")) == made[1:]
    assert ids(alice.ok("call.list", role="caller")) == made[1:]
    assert ids(alice.ok("call.list", role="invitee")) == made[:1]
    assert ids(alice.ok("call.list", end_reasons=["settled"])) == [made[2], made[4]]
    both = alice.ok("call.list", end_reasons=["settled", "cancelled"], limit=100)
    assert ids(both) == made[1:]


def test_a_span_of_time_includes_its_begin_and_not_its_end(history):
    alice, made = history
    times = {call["call_id"]: call["created_at"] for call in alice.ok("call.list")["calls"]}
    since, until = times[made[3]], times[made[1]]
    expected = [call for call in made if since <= times[call] < until]
    assert ids(alice.ok("call.list", since_at=since, until_at=until)) == expected


def test_a_larger_limit_is_clamped(history):
    alice, made = history
    assert ids(alice.ok("call.list", limit=1_000)) == made


@pytest.mark.parametrize("field, data", [
    ("limit", {"limit": 0}), ("limit", {"limit": -1}), ("limit", {"limit": "9"}),
    ("cursor", {"cursor": "no cursor"}), ("cursor", {"cursor": 7}),
    ("state", {"state": "dead"}), ("role", {"role": "king"}),
    ("end_reasons", {"end_reasons": "settled"}), ("since_at", {"since_at": "today"}),
])
def test_a_malformed_question_names_the_field(agent, field, data):
    error = agent.connect("alice").refused("call.list", "bad_request", **data)
    assert error["detail"]["field"].startswith(field)


def test_one_sees_only_ones_own_calls(history, agent):
    assert agent.connect("mallory").ok("call.list")["calls"] == []
