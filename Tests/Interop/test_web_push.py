"""Pushes to browsers: who we are, how long a push lives, and what a service's refusal means."""

import re
import time

import jwt
import pytest

from test_push import invite, pushes, register, settled


def claims(push):
    """What the token of a push says; the double has checked its signature."""
    signed = re.fullmatch(r"vapid t=([\w.-]+), k=[\w-]+", push["fields"]["authorization"])
    return jwt.decode(signed[1], options={"verify_signature": False})


def refused_once(agent, double, status):
    """bob's browser is called and its service answers `status`; then the call is over."""
    register(agent, "bob", "laptop", "web", double.subscription("chrome"))
    double.plan("chrome", {"status": status})
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    settled(agent, failed=1)
    assert len(pushes(double, 1)) == 1, "it is not tried again"
    return alice, call


def test_a_push_says_who_we_are_and_how_long_it_matters(pusher, double):
    agent = pusher()
    register(agent, "bob", "laptop", "web", double.subscription("chrome"))
    register(agent, "carl", "laptop", "web", double.subscription("firefox"))
    alice = agent.connect("alice")
    call = invite(alice, "bob", "carl", mode="advanced")
    rung = pushes(double, 2)
    for push in rung:
        fields, said = push["fields"], claims(push)
        assert push["verdict"] == 201, "decrypted by http_ece, believed by py_vapid"
        assert said["aud"] == double.base and said["sub"] == "mailto:ops@example.com"
        assert 0 < said["exp"] - time.time() <= 86_400
        assert 0 < int(fields["ttl"]) <= 90 and fields["urgency"] == "high"
        assert re.fullmatch(r"[\w-]{1,32}", fields["topic"])
    assert len({push["fields"]["authorization"] for push in rung}) == 1, "one token for a service"
    alice.ok("call.cancel", call_id=call)
    for push in pushes(double, 2):
        assert push["payload"]["kind"] == "cancel"
        assert push["fields"]["topic"] == rung[0]["fields"]["topic"], "it replaces the ring"


@pytest.mark.parametrize("status", [404, 410])
def test_a_subscription_that_is_gone_is_forgotten(pusher, double, status):
    agent = pusher()
    alice, call = refused_once(agent, double, status)
    assert agent.metrics()["callagent_push_tokens_removed_total"] == 1
    double.plan("chrome")
    alice.ok("call.cancel", call_id=call)
    register(agent, "carl", "phone", "fcm", "carl-1")
    invite(alice, "bob", "carl", mode="advanced")
    assert [one["subject"] for one in pushes(double, 1)] == ["carl-1"]


@pytest.mark.parametrize("status", [400, 401, 403, 413])
def test_a_push_that_is_refused_leaves_the_subscription(pusher, double, status):
    agent = pusher()
    alice, _ = refused_once(agent, double, status)
    assert agent.metrics()["callagent_push_tokens_removed_total"] == 0
    double.plan("chrome")
    invite(alice, "bob", mode="advanced")
    assert [one["subject"] for one in pushes(double, 1)] == ["chrome"]


def test_a_service_that_asks_for_time_gets_it(pusher, double):
    agent = pusher()
    register(agent, "bob", "laptop", "web", double.subscription("chrome"))
    double.plan("chrome", {"status": 429, "headers": {"retry-after": "2"}}, {})
    begin = time.monotonic()
    invite(agent.connect("alice"), "bob", mode="advanced")
    first, second = pushes(double, 2)
    assert time.monotonic() - begin >= 1.9, "2 s, by two clocks"
    assert int(second["fields"]["ttl"]) < int(first["fields"]["ttl"]), "it lives no longer"
    settled(agent, sent=1)


def test_a_service_that_asks_for_more_time_than_there_is_is_given_up(pusher, double):
    agent = pusher()
    register(agent, "bob", "laptop", "web", double.subscription("chrome"))
    double.plan("chrome", {"status": 429, "headers": {"retry-after": "60"}})
    invite(agent.connect("alice"), "bob", mode="advanced", timeout_ms=30_000)
    settled(agent, failed=1)
    assert len(pushes(double, 1)) == 1
