"""A request's trace goes on to whatever it caused: decisions, journals, webhooks, pushes."""

import json

import pytest

from agent import wait_for
from calls import invite as call_somebody
from console import ROLES, token
from support import ACCEPT
from test_push import pushes, register
from test_webhooks import events, hooked, types

FIRST = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SECOND = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
MALFORMED = [
    "", FIRST[:-1], FIRST + "0", FIRST + "-more", FIRST.upper(), FIRST.replace("-", "_"),
    "ff" + FIRST[2:], f"00-{'0' * 32}-00f067aa0ba902b7-01",
    f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01", "x" * 60_000,
    "00-4bf92f3577b34da6a3ce929d0e0e473\\u0036-00f067aa0ba902b7-01"]
WRONG = [7, None, ["x"], {"traceparent": FIRST}]


def ask(device, op, trace, **data):
    """A request that names a trace."""
    number = next(device.ids)
    device.send({"id": number, "op": op, "data": data, "trace": trace})
    reply = device.reply(number)
    assert "ok" in reply, reply
    return reply["ok"]


def invite(device, *invitees, trace, mode="advanced", **data):
    ok = ask(device, "call.invite", trace, invitees=list(invitees), mode=mode, **data)
    return ok["call_id"]


def journal(agent, call_id):
    """The trace of each entry of a call's journal that has one."""
    reply = agent.admin("GET", f"/admin/v1/calls/{call_id}/journal")
    assert reply.status == 200, reply.text
    return [(one["kind"], one["traceparent"]) for one in reply.body["items"]
            if "traceparent" in one]


def decisions(agent, call_id):
    reply = agent.admin("GET", f"/admin/v1/decisions?call_id={call_id}")
    assert reply.status == 200, reply.text
    return [one.get("traceparent") for one in reply.body["items"]]


def traces(found):
    """The trace of each event or push that was sent."""
    return [one["fields"].get("traceparent") for one in found]


def test_webhooks_have_the_trace_of_what_caused_them(hooked, double):
    agent = hooked()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call_id = invite(alice, "bob", trace=FIRST)
    ask(bob, "call.accept", SECOND, call_id=call_id)
    alice.ok("call.end", call_id=call_id)
    found = events(double, 4)
    assert types(found) == ["call.created", "call.incoming", "call.changed", "call.ended"]
    # Who names none goes on in the last one.
    assert traces(found) == [FIRST, FIRST, SECOND, SECOND]
    assert all(one["verdict"] == 204 for one in found), "the signature fits all the same"
    wait_for("the deliveries", lambda: len(journal(agent, call_id)) == 6)
    told = journal(agent, call_id)
    assert [trace for kind, trace in told if kind == "request"] == [FIRST, SECOND]
    assert sorted(trace for kind, trace in told if kind == "webhook") == sorted(traces(found))


def test_a_timer_belongs_to_the_call_s_trace(hooked, double):
    agent = hooked()
    invite(agent.connect("alice"), "bob", trace=FIRST, mode="common", timeout_ms=1_000)
    found = events(double, 5)
    assert "call.timed_out" in types(found) and set(traces(found)) == {FIRST}


def test_a_trace_survives_a_crash_with_the_event(hooked, double):
    agent = hooked()
    double.plan("crm", {"act": "hang"})
    alice = agent.connect("alice")
    call_id = invite(alice, "bob", trace=FIRST)
    assert traces(events(double, 1)) == [FIRST]
    agent.crash()
    double.plan("crm")
    agent.start()
    found = events(double, 2)
    assert types(found) == ["call.created", "call.incoming"]
    assert traces(found) == [FIRST, FIRST]
    # The call lives on, but not its trace.
    agent.connect("alice").ok("call.end", call_id=call_id)
    assert traces(events(double, 1)) == [None]


@pytest.mark.parametrize("over", ["socket", "http"])
def test_decisions_are_shown_with_the_trace(bot, over):
    agent = bot(ACCEPT)
    if over == "socket":
        call_id = invite(agent.connect("ann"), "support", trace=FIRST)
    else:
        reply = agent.request(
            "POST", "/v1/call/invite", json.dumps({"invitees": ["support"], "mode": "advanced"}),
            {"Authorization": "Bearer dev:ann", "traceparent": FIRST})
        assert reply.status == 200, reply.text
        call_id = reply.body["call_id"]
    plain = call_somebody(agent.connect("ben"), "support", mode="advanced")
    wait_for("both decisions", lambda: len(
        decisions(agent, call_id) + decisions(agent, plain)) == 2)
    assert decisions(agent, call_id) == [FIRST] and decisions(agent, plain) == [None]
    assert {("request", FIRST), ("asked", FIRST)} <= set(journal(agent, call_id))
    assert journal(agent, plain) == []
    code, output = agent.tool("explain", call_id)
    assert code == 0 and output.count(FIRST) == 2, output
    assert "traceparent" not in agent.tool("explain", plain)[1]
    agent.stop()
    # From the files too.
    assert agent.tool("explain", call_id)[1].count(FIRST) == 2
    assert agent.tool("explain", plain)[1].count("  trace ") == 0


def test_decisions_are_followed_with_the_trace(bot):
    agent = bot(ACCEPT)
    ann = agent.connect("ann")
    output = open(agent.folder / "trace.out", "w+b")
    trace = agent.begin_tool("trace", "--count", "1", output=output)
    # It begins some time after its process did.
    wait_for("its end", lambda: invite(ann, "support", trace=SECOND)
             and trace.poll() is not None, pause=0.2)
    output.seek(0)
    assert output.read().decode().count(f"  trace {SECOND}\n") == 1


def test_a_push_to_the_operator_s_own_service_has_it(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "webhook", "anything")
    alice = agent.connect("alice")
    call_id = invite(alice, "bob", trace=FIRST)
    assert traces(pushes(double, 1)) == [FIRST]
    ask(alice, "call.cancel", SECOND, call_id=call_id)
    assert traces(pushes(double, 1)) == [SECOND]
    call_somebody(alice, "bob", mode="advanced")
    assert traces(pushes(double, 1)) == [None]
    wait_for("the outcomes", lambda: [kind for kind, _ in journal(agent, call_id)].count(
        "push") == 2)


def test_a_token_names_the_trace_of_what_is_asked_with_it(make_agent, double):
    agent = make_agent(
        ROLES + double.hook_config("crm"), environment=double.environment).start()
    ann = agent.connect("ann", token=token("ann", traceparent=FIRST))
    call_somebody(ann, "bob", mode="advanced")
    invite(ann, "carl", trace=SECOND)
    other = agent.connect("dan", token=token("dan", traceparent="none"))
    call_somebody(other, "bob", mode="advanced")
    told = {}
    for one in events(double, 6):
        told.setdefault(one["payload"]["data"]["call_id"], []).extend(traces([one]))
    assert [told[call] for call in sorted(told)] == [[FIRST] * 2, [SECOND] * 2, [None] * 2]


def test_what_is_malformed_is_ignored(hooked, double):
    agent = hooked()
    alice = agent.connect("alice")
    for number, trace in enumerate(MALFORMED + WRONG):
        invite(alice, f"bob-{number}", trace=trace)
    assert set(traces(events(double, 2 * len(MALFORMED + WRONG)))) == {None}
    body = json.dumps({"invitees": ["bob"], "mode": "advanced"})
    headers = {"Authorization": "Bearer dev:ann"}
    for trace in (FIRST + "0", "x" * 1_000, "ff" + FIRST[2:]):
        reply = agent.request(
            "POST", "/v1/call/invite", body, headers | {"traceparent": trace})
        assert reply.status == 200, reply.text
    assert set(traces(events(double, 6))) == {None}
