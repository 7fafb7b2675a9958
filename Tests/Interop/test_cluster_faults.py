"""What goes wrong between nodes and their database: a network that swallows or is slow."""

import os
import time

import pytest

from agent import wait_for
from calls import invite
from cluster import answers, begin, serving, shown, stands_by, tool
from way import Way

FULL = bool(os.environ.get("CALLAGENT_FULL"))


@pytest.fixture
def way(nodes, database):
    """What the first node has between it and the database."""
    made = Way(database.port)
    nodes[0].environment["CALLAGENT_DATABASE"] = database.address.replace(
        f"port={database.port}", f"port={made.port}")
    yield made
    made.close()


def test_an_owner_that_is_cut_off_falls_silent_and_another_one_serves(nodes, way):
    begin(nodes)
    first, *others = nodes
    alice = first.connect("alice")
    kept = invite(alice, "bob", timeout_ms=600_000)
    way.swallows = True
    cut = time.monotonic()
    number = alice.post("call.invite", {"invitees": ["carl"], "mode": "advanced"})
    second = serving(others)
    print(f"another one serves after {time.monotonic() - cut:.2f} s")
    assert alice.closed() == 4001
    assert number not in alice.replies or alice.replies[number]["error"]["code"] == "unavailable"
    assert not answers(first)
    listed = [call["call_id"] for call in second.connect("alice").hello["calls"]]
    assert listed == [kept], "what the first one had under way is nowhere"
    way.swallows = False
    wait_for("standing by", lambda: stands_by(first), patience=60)
    assert shown(second)["epoch"] == 2


def test_a_short_cut_leaves_the_owner_its_calls(nodes, way):
    begin(nodes)
    first = nodes[0]
    call = invite(first.connect("alice"), "bob", timeout_ms=600_000)
    way.swallows = True
    with pytest.raises((AssertionError, OSError, TimeoutError, KeyError)):
        first.connect("dora").ok("call.invite", invitees=["carl"], mode="advanced")
    way.swallows = False
    owner = serving(nodes)
    assert call in [one["call_id"] for one in owner.connect("alice").hello["calls"]]


def test_a_slow_database_is_no_dead_owner(nodes, way):
    begin(nodes)
    first = nodes[0]
    alice = first.connect("alice")
    way.delay = 0.05
    begun = shown(nodes[1])["epoch"]
    for _ in range(20 if FULL else 5):
        call = invite(alice, "bob", timeout_ms=600_000)
        alice.ok("call.cancel", call_id=call)
    assert shown(nodes[1])["epoch"] == begun
    assert answers(first)
