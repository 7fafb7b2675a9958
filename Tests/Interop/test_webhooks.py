"""Other systems hear of every call: signed, in order, at least once."""

import http.server
import json
import pathlib
import queue
import threading
import time

import pytest
import standardwebhooks
from websockets.exceptions import ConnectionClosed

from agent import wait_for
from test_push import invite


@pytest.fixture
def hooked(make_agent, double):
    """Starts a server that tells receivers at the double, by default one called `crm`."""

    def start(*receivers, more="", config=""):
        return make_agent(
            double.hook_config(*(receivers or ("crm",)), more=more) + config,
            environment=double.environment).start()

    return start


def events(double, count):
    """The next events that receivers got, once there are so many."""
    found = []

    def enough():
        found.extend(double.seen())
        return len(found) >= count

    wait_for(f"{count} events", enough)
    assert len(found) == count, found
    return found


def types(found):
    return [one["payload"]["type"] for one in found]


def figure(agent, name, count):
    wait_for(f"{count} {name}", lambda: agent.metrics()[f"callagent_{name}"] == count)


def test_the_life_of_a_call_is_told_in_order(hooked, double):
    agent = hooked()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode="advanced", extended_data="hello")
    bob.ok("call.accept", call_id=call, extended_data="hi")
    alice.ok("call.end", call_id=call)
    found = events(double, 4)
    assert all(one["verdict"] == 204 for one in found), "standardwebhooks verifies each"
    assert types(found) == ["call.created", "call.incoming", "call.changed", "call.ended"]
    created, incoming, changed, over = (one["payload"] for one in found)
    assert created["data"]["call"]["extended_data"] == "hello"
    assert created["data"]["call_id"] == call and created["timestamp_at"] > 1_500_000_000_000
    assert (incoming["data"]["user"], incoming["data"]["inviter"]) == ("bob", "alice")
    assert changed["data"]["changes"] == [
        {"user": "bob", "state": "joined", "reason": None, "extended_data": "hi"}]
    assert over["data"]["call"]["end"]["by"] == "alice"
    assert over["data"]["end"] == over["data"]["call"]["end"]
    answered_at = over["data"]["call"]["answered_at"]
    assert over["data"]["duration_ms"] == over["data"]["ended_at"] - answered_at
    by = {"alice": {"user": "alice", "device": "phone"}, "bob": {"user": "bob", "device": "phone"}}
    assert [one["payload"]["data"]["actor"] for one in found] == [
        by["alice"], by["alice"], by["bob"], by["alice"]]
    revisions = [one["payload"]["data"]["revision"] for one in found]
    assert revisions == sorted(revisions)
    ids = {one["fields"]["webhook-id"] for one in found}
    assert len(ids) == 4 and all(call in one for one in ids)
    figure(agent, "webhooks_delivered_total", 4)


def test_who_comes_and_goes_is_told(hooked, double):
    """Also those for whom other products have no callback: join, leave and end."""
    agent = hooked()
    alice, dave = agent.connect("alice"), agent.connect("dave")
    call = invite(alice, "bob", mode="advanced")
    alice.ok("call.add", call_id=call, invitees=["carol"])
    dave.ok("call.join", call_id=call)
    dave.ok("call.leave", call_id=call)
    alice.ok("call.end", call_id=call)
    found = events(double, 7)
    assert types(found) == ["call.created", "call.incoming", "call.incoming", "call.changed",
                            "call.changed", "call.changed", "call.ended"]
    added = found[2]["payload"]["data"]
    assert (added["user"], added["inviter"]) == ("carol", "alice")
    states = [[(change["user"], change["state"]) for change in one["payload"]["data"]["changes"]]
              for one in found[3:6]]
    assert states == [[("carol", "inviting")], [("dave", "joined")], [("dave", "left")]]


def test_cancelled_rejected_and_timed_out(hooked, double):
    agent = hooked()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode="common")
    alice.ok("call.cancel", call_id=call, extended_data="never mind")
    found = events(double, 5)
    assert types(found)[2:] == ["call.changed", "call.cancelled", "call.ended"]
    data = found[3]["payload"]["data"]
    assert (data["users"], data["inviter"], data["reason"], data["extended_data"]) == (
        ["bob"], "alice", "whole", "never mind")
    call = invite(alice, "bob", mode="common")
    bob.forget()
    bob.ok("call.reject", call_id=call, reason="busy")
    found = events(double, 4)
    assert found[2]["payload"]["data"]["changes"][0]["reason"] == "busy"
    invite(alice, "bob", mode="common", timeout_ms=1_000)
    found = events(double, 5)
    assert types(found)[2:] == ["call.changed", "call.timed_out", "call.ended"]
    assert found[3]["payload"]["data"]["users"] == ["bob"]
    assert found[3]["payload"]["data"]["actor"] == {"timer": "ring"}


def test_what_is_told_equals_what_devices_are_told(hooked, double):
    """The same members, but for whom it concerns; `call` of call.incoming as its viewer sees it."""
    agent = hooked()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    tablet = agent.connect("alice", "tablet")
    call = alice.ok("call.invite", invitees=["bob"], mode="direct", kind="video",
                    extended_data="hi")["call_id"]
    bob.ok("call.accept", call_id=call)
    alice.ok("call.report", call_id=call, media="connected")
    bob.ok("call.report", call_id=call, media="connected")
    bob.ok("call.media", call_id=call, audio=False)
    bob.ok("call.hold", call_id=call, on=True)
    bob.ok("call.items", call_id=call, put={"seat": "4"})
    bob.ok("call.end", call_id=call, extended_data="bye")
    expected = ["call.created", "call.incoming", "call.changed", "call.media_phase",
                "call.media_phase", "call.media_flags", "call.hold", "call.items", "call.ended"]
    found = events(double, len(expected))
    assert types(found) == expected
    told = [tablet.event("call.created"), bob.event("call.incoming")]
    told += [alice.event(name) for name in expected[2:]]
    for one, event in zip(found, told):
        data = dict(one["payload"]["data"])
        if one["payload"]["type"] == "call.incoming":
            assert data.pop("user") == "bob"
        if one["payload"]["type"] == "call.ended":
            assert data.pop("call")["state"] == "ended"
        assert data == event, one["payload"]["type"]


def test_a_part_that_fails_is_told(hooked, double):
    agent = hooked()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode="handshake", timeout_ms=1_000)
    bob.ok("call.ringing", call_id=call)
    found = events(double, 6)
    assert types(found)[2:] == ["call.changed", "call.changed", "call.failed", "call.ended"]
    data = found[4]["payload"]["data"]
    assert (data["users"], data["reason"], data["actor"]) == (
        ["bob"], "expired", {"timer": "expire"})


def test_a_receiver_gets_the_events_that_it_wants(hooked, double):
    agent = hooked("crm", more=', events = { "call.ended" }')
    alice = agent.connect("alice")
    alice.ok("call.end", call_id=invite(alice, "bob", mode="advanced"))
    assert types(events(double, 1)) == ["call.ended"]


def test_while_the_secret_is_changed_both_fit(make_agent, double):
    """`secret` is a list then; the receiver checks the old one and the new one."""
    one = f'secret "file:{double.folder}/hook"'
    both = f'{{ {one}, secret "file:{double.folder}/next_hook" }}'
    config = double.hook_config("rotating")
    agent = make_agent(config, environment=double.environment).start()
    invite(agent.connect("alice"), "bob", mode="advanced")
    assert [one["verdict"] for one in events(double, 1)] != [204], "one signature is not enough"
    agent.stop()
    agent.configure(config.replace(f"secret = {one}", f"secret = {both}"))
    agent.start()
    invite(agent.connect("alice"), "bob", mode="advanced")
    found = events(double, 4)
    assert [one["verdict"] for one in found] == [204] * 4, "also those that could not be verified"
    assert found[0]["fields"]["webhook-signature"].count("v1,") == 2


def test_a_wrong_body_would_be_noticed(hooked, double):
    """The published package refuses the same signature over another body."""
    agent = hooked()
    invite(agent.connect("alice"), "bob", mode="advanced")
    one = events(double, 2)[0]
    verifier = standardwebhooks.Webhook(double.hello["hook_secrets"][0])
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        verifier.verify(json.dumps(one["payload"]).encode() + b" ", one["fields"])


PAGE = pathlib.Path(__file__).parents[2] / "Sources/AgentServer/AgentServer.docc/Webhooks.md"
SECRETS = ["whsec_" + letter * 32 for letter in "ab"]


@pytest.fixture
def receiver():
    """Takes every request, and keeps its header fields and its bytes."""
    seen = queue.Queue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            seen.put(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.seen = seen
    yield server
    server.shutdown()
    server.server_close()


def test_a_receiver_that_checks_as_the_page_says_takes_ours_and_nothing_else(
        make_agent, receiver):
    names = {}
    exec(PAGE.read_text().split("```python\n")[1].split("```")[0], names)  # pylint: disable=W0122
    is_ours = names["is_ours"]
    agent = make_agent(
        f'webhooks = {{ {{ name = "crm", url = "http://127.0.0.1:{receiver.server_port}/",\n'
        f'  secret = {{ "{SECRETS[0]}", "{SECRETS[1]}" }}, allow = {{ "127.0.0.0/8" }} }} }}\n'
    ).start()
    invite(agent.connect("alice"), "bob", mode="advanced", extended_data="h\u00e9")
    headers, body = receiver.seen.get(timeout=20)
    # While the secret is changed either of both will do.
    assert all(is_ours(headers, body, [one]) for one in SECRETS)
    assert is_ours(headers, body, ["whsec_" + "c" * 32, SECRETS[1]])
    now = time.time()
    assert is_ours(headers, body, SECRETS, now + 290)
    for wrong in (
            (headers, body + b" ", SECRETS), (headers, body, ["whsec_" + "c" * 32]),
            (headers, body, []), (headers, body, SECRETS, now + 400),
            (headers, body, SECRETS, now - 400), ({}, body, SECRETS)):
        assert not is_ours(*wrong), wrong
    for name, value in (
            ("webhook-id", "evt_1"), ("webhook-timestamp", str(int(now) + 1)),
            ("webhook-timestamp", "\u0661"), ("webhook-timestamp", ""), ("webhook-signature", ""),
            ("webhook-signature", "v1,"), ("webhook-signature", "v2" + "x" * 40)):
        assert not is_ours(headers | {name: value}, body, SECRETS), (name, value)


def test_trouble_holds_back_one_call_and_no_other(hooked, double):
    agent = hooked()
    alice = agent.connect("alice")
    double.plan("crm", {"status": 500}, {"status": 204})
    first = invite(alice, "bob", mode="advanced")
    (lost,) = events(double, 1)
    second = invite(alice, "carl", mode="advanced")
    found = events(double, 2)
    assert {one["payload"]["data"]["call_id"] for one in found} == {second}
    alice.ok("call.end", call_id=first)
    agent.connect("dan")
    later = events(double, 3)  # the retry after 5 s, then what waited behind it
    assert types(later) == ["call.created", "call.incoming", "call.ended"]
    assert {one["payload"]["data"]["call_id"] for one in later} == {first}
    assert later[0]["fields"]["webhook-id"] == lost["fields"]["webhook-id"]


def test_after_an_outage_everything_flows_with_the_first_event_that_is_taken(hooked, double):
    """Also those that would have waited for minutes, and also in another life of the process."""
    agent = hooked()
    double.plan("crm", {"status": 500})
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    failed = "callagent_webhook_attempts_failed_total"
    wait_for("two attempts", lambda: agent.metrics()[failed] == 2, patience=30)
    assert "trouble: status 500" in agent.tool("webhooks")[1]
    assert agent.metrics()["callagent_webhook_lag_seconds"] > 0
    alice.ok("device.push_register", provider="fcm", token="behind-the-outcome")
    agent.crash()
    double.plan("crm")
    double.seen()
    agent.start()
    later = invite(agent.connect("alice"), "carl", mode="advanced")
    found = events(double, 4)
    assert {one["payload"]["data"]["call_id"] for one in found} == {call, later}
    wait_for("no trouble", lambda: "trouble" not in agent.tool("webhooks")[1])
    wait_for("no lag", lambda: agent.metrics()["callagent_webhook_lag_seconds"] == 0)


def test_an_event_tells_its_call_and_how_often_it_was_tried(hooked, double):
    agent = hooked()
    double.plan("crm", {"status": 500})
    call = invite(agent.connect("alice"), "bob", mode="advanced")
    agent.logs("webhook postponed")

    def shown(state):
        items = agent.admin("GET", f"/admin/v1/webhooks?state={state}").body["items"]
        return sorted((one["call_id"], one["attempts"]) for one in items)

    wait_for("the first", lambda: (call, 1) in shown("open"))
    double.plan("crm")
    wait_for("both", lambda: shown("delivered") == [(call, 1), (call, 2)])


def test_nothing_is_lost_in_a_crash(hooked, double):
    agent = hooked()
    double.plan("crm", {"act": "hang"})
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    alice.ok("call.end", call_id=call)
    events(double, 1)
    agent.crash()
    double.plan("crm")
    agent.start()
    found = events(double, 3)
    assert types(found) == ["call.created", "call.incoming", "call.ended"]
    figure(agent, "webhooks_delivered_total", 3)


def test_what_the_store_has_but_did_not_confirm_is_told_when_it_is_back(hooked, double):
    agent = hooked()
    state, away = agent.folder / "state", agent.folder / "state.away"
    known = []
    for number in range(5):  # The server may notice first that its files are gone.
        alice = agent.connect("alice")
        known = [call["call_id"] for call in alice.hello["calls"]]
        if known:
            break
        state.rename(away)
        with pytest.raises((ConnectionClosed, AssertionError)):
            invite(alice, "bob", mode="advanced")
        alarm = "not the file that was opened"
        wait_for("the alarm", lambda n=number: agent.log_text().count(alarm) > n)
        away.rename(state)
        wait_for("readiness", agent.is_ready)
    assert len(known) == 1
    found = events(double, 2)
    assert types(found) == ["call.created", "call.incoming"]
    assert found[0]["payload"]["data"]["call_id"] == known[0]
    alice.ok("call.end", call_id=known[0])
    assert types(events(double, 1)) == ["call.ended"]


def test_a_receiver_that_is_gone_is_disabled_until_an_operator_says_otherwise(hooked, double):
    agent = hooked()
    double.plan("crm", {"status": 410})
    alice = agent.connect("alice")
    invite(alice, "bob", mode="advanced")
    events(double, 1)
    figure(agent, "webhooks_disabled", 1)
    assert "crm  DISABLED" in agent.tool("webhooks")[1]
    double.plan("crm")
    invite(alice, "carl", mode="advanced")  # nobody is told of this one
    agent.crash()
    agent.start()
    figure(agent, "webhooks_disabled", 1)
    assert double.seen() == []
    assert agent.tool("webhooks", "enable", "crm") == (0, "enabled: crm\n")
    found = events(double, 2)
    assert types(found) == ["call.created", "call.incoming"]
    assert found[0]["payload"]["data"]["call"]["participants"][1]["user"] == "bob"
    assert "enabled" in agent.tool("webhooks")[1]
    assert agent.tool("webhooks", "enable", "nobody")[0] == 1


def test_events_are_replayed_on_demand(hooked, double):
    agent = hooked()
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    first = events(double, 2)[0]["fields"]["webhook-id"]
    figure(agent, "webhooks_delivered_total", 2)
    wait_for("stored", lambda: "call.incoming" in agent.tool(
        "webhooks", "events", "--state", "delivered")[1])
    assert agent.tool("webhooks", "events") == (0, "no such events\n")
    assert agent.tool("webhooks", "replay", "--state", "delivered", "--call", call) == (
        0, "replayed: 2\n")
    again = events(double, 2)
    assert [one["fields"]["webhook-id"] for one in again][0] == first
    figure(agent, "webhooks_delivered_total", 4)
    wait_for("stored", lambda: agent.tool(
        "webhooks", "replay", first, "--state", "delivered") == (0, "replayed: 1\n"))
    assert events(double, 1)[0]["fields"]["webhook-id"] == first
    code, text = agent.tool("webhooks", "reply")
    assert code == 2 and "did you mean 'replay'?" in text


def test_a_receiver_far_behind_catches_up_within_bounded_memory(hooked, double):
    agent = hooked("crm", "slow")
    double.plan("slow", {"act": "hang"})
    alice = agent.connect("alice")
    for number in range(400):
        alice.ok("call.end", call_id=invite(alice, f"user{number}", mode="advanced"))
    figure(agent, "webhooks_delivered_total", 1_200)
    assert agent.metrics()["callagent_webhooks"] <= 500
    assert "behind" in agent.tool("webhooks")[1]
    # What was taken just before a crash would be told again.
    wait_for("stored", lambda: agent.tool(
        "webhooks", "events", "--endpoint", "crm", "--state", "open") == (0, "no such events\n"))
    agent.crash()
    double.plan("slow")
    double.seen()
    agent.start()
    found = events(double, 1_200)
    assert {one["subject"] for one in found} == {"slow"}
    told = {}
    for one in found:
        told.setdefault(one["payload"]["data"]["call_id"], []).append(one["payload"]["type"])
    assert set(map(tuple, told.values())) == {("call.created", "call.incoming", "call.ended")}


def test_events_of_a_quiet_account_go_past_those_of_a_busy_one(hooked, double):
    agent = hooked()
    double.plan("crm", *[{"act": "hang"}] * 8, {"status": 200})
    mallory = agent.connect("mallory")
    for number in range(150):
        mallory.ok("call.end", call_id=invite(mallory, f"user{number}", mode="advanced"))
    assert {one["payload"]["type"] for one in events(double, 8)} == {"call.created"}
    call = invite(agent.connect("alice"), "bob", mode="advanced")
    found = events(double, 2)
    assert types(found) == ["call.created", "call.incoming"]
    assert {one["payload"]["data"]["call_id"] for one in found} == {call}
    assert agent.metrics()["callagent_webhooks"] <= 130
    wait_for("stored", lambda: agent.tool(
        "webhooks", "events", "--call", call, "--state", "open") == (0, "no such events\n"))
    agent.crash()
    agent.start()
    told = events(double, 450)
    assert {one["payload"]["data"]["actor"]["user"] for one in told} == {"mallory"}


def test_the_house_is_closed_to_webhooks_unless_opened(make_agent, double):
    config = double.hook_config("crm").replace(', allow = { "127.0.0.0/8", "::1" }', "")
    assert "allow" not in config
    agent = make_agent(config, environment=double.environment).start()
    invite(agent.connect("alice"), "bob", mode="advanced")
    figure(agent, "webhook_attempts_failed_total", 1)
    agent.logs("refused_address")
    assert double.seen() == []
