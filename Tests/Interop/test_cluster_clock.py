"""A node whose wall clock is wrong takes over."""

import time

import pytest

from agent import wait_for
from calls import invite
from clock import WrongClock
from cluster import answers, begin, owns

HOUR = 3_600


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_its_calls_ring_as_long_as_they_should(nodes, seconds):
    a, b, _ = nodes
    WrongClock(b, seconds)
    begin([a, b])
    phone = a.connect("ann")
    asked = {"key": "once", "invitees": ["bob"], "timeout_ms": 12_000}
    call = phone.ok("call.invite", **asked)["call_id"]
    made = time.monotonic()
    a.crash()
    wait_for("b serves", lambda: owns(b) and answers(b))
    phone = b.connect("ann")
    (one,) = phone.hello["calls"]
    assert (one["call_id"], one["state"]) == (call, "ringing")
    # What was asked before is known, however late or early it is.
    assert phone.ok("call.invite", **asked)["call_id"] == call
    assert phone.event("call.changed", timeout=30)["actor"] == {"timer": "ring"}
    assert 11 < time.monotonic() - made < 16
    # Nobody else's calls are hurt either.
    later = invite(phone, "carl", timeout_ms=600_000)
    assert phone.ok("call.get", call_id=later)["call"]["state"] == "ringing"
