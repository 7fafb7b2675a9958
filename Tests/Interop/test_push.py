"""Phones that sleep: they are woken, and find the truth when they ask."""

import time

import pytest

from agent import wait_for
from calls import ended, participant
from double import token

PLUGIN = 'plugins = { "shape" }\n'


def invite(caller, *invitees, **data):
    """Places a call, whatever was told the caller before; returns the call's id."""
    caller.forget()
    ok = caller.ok("call.invite", invitees=list(invitees), **data)
    assert ok["errors"] == []
    return ok["call_id"]


def register(agent, user, device, provider, value, **more):
    """Registers a device for pushes over HTTP, so that it is not connected."""
    key = "subscription" if provider == "web" else "token"
    reply = agent.post(
        "device.push_register", user, {"provider": provider, key: value} | more, device=device)
    assert reply.status == 200, reply.text


def pushes(double, count, **plan):
    """The next pushes, without the requests for access tokens, once there are so many."""
    found = []

    def enough():
        found.extend(one for one in double.seen() if one["subject"] != "oauth")
        return len(found) >= count

    wait_for(f"{count} pushes", enough)
    assert len(found) == count, found
    return found


def settled(agent, sent=0, failed=0):
    """Waits until so many pushes have ended."""

    def counts():
        metrics = agent.metrics()
        lost = sum(value for name, value in metrics.items()
                   if name.startswith("callagent_pushes_failed_total"))
        return (metrics["callagent_pushes_sent_total"], lost) == (sent, failed)

    wait_for(f"{sent} sent and {failed} failed", counts)


# Every provider

def test_every_provider_wakes_a_device(pusher, double):
    agent = pusher()
    targets = {"apns_voip": token("a1"), "apns": token("a2"), "fcm": "fcm-1",
               "web": double.subscription("chrome"), "webhook": "anything"}
    for number, (provider, value) in enumerate(targets.items()):
        register(agent, "bob", f"phone-{number}", provider, value)
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced", push={"title": "Ann", "body": "calls"})
    found = {one["subject"]: one for one in pushes(double, 5)}
    assert all(200 <= one["verdict"] < 300 for one in found.values()), found
    voip, alert = found[token("a1")], found[token("a2")]
    assert voip["fields"]["apns-topic"].endswith(".voip")
    assert voip["fields"]["apns-push-type"] == "voip"
    assert voip["payload"]["call_id"] == call and voip["payload"]["kind"] == "invite"
    assert 0 < voip["payload"]["expires_in_ms"] <= 90_000
    assert alert["payload"]["aps"]["alert"] == {"title": "Ann", "body": "calls"}
    assert found["fcm-1"]["payload"]["android"]["priority"] == "HIGH"
    assert found["fcm-1"]["payload"]["data"]["call_id"] == call
    assert found["chrome"]["payload"]["call_id"] == call, "decrypted by http_ece"
    assert found["gateway"]["payload"]["token"] == "anything"
    settled(agent, sent=5)
    metrics = agent.metrics()
    for provider in targets:
        assert metrics[f'callagent_push_duration_seconds_count{{provider="{provider}"}}'] == 1


def test_a_connected_device_is_not_woken(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "fcm", "sleeping")
    register(agent, "bob", "tablet", "fcm", "awake")
    alice, bob = agent.connect("alice"), agent.connect("bob", "tablet")
    invite(alice, "bob", mode="advanced")
    bob.event("call.incoming")
    (push,) = pushes(double, 1)
    assert push["subject"] == "sleeping"


def test_the_life_of_a_call_in_pushes(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "fcm", "bob-1")
    register(agent, "carl", "phone", "fcm", "carl-1")
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    (push,) = pushes(double, 1)
    assert push["payload"]["data"]["kind"] == "invite"
    alice.ok("call.add", call_id=call, invitees=["carl"])
    (push,) = pushes(double, 1)
    assert (push["subject"], push["payload"]["data"]["kind"]) == ("carl-1", "add")
    alice.ok("call.cancel", call_id=call, users=["bob"])
    (push,) = pushes(double, 1)
    assert (push["subject"], push["payload"]["data"]["kind"]) == ("bob-1", "cancel")
    alice.ok("call.end", call_id=call)
    (push,) = pushes(double, 1)
    assert (push["subject"], push["payload"]["data"]["kind"]) == ("carl-1", "end")
    call = invite(alice, "bob", mode="advanced", timeout_ms=1_000)
    kinds = [one["payload"]["data"]["kind"] for one in pushes(double, 2)]
    assert kinds == ["invite", "missed"]


def test_who_leaves_or_ends_has_those_told_who_are_away(pusher, double):
    agent = pusher()
    for user in "bob", "carl", "dora":
        register(agent, user, "phone", "fcm", f"{user}-1")
    alice, bob = agent.connect("alice"), agent.connect("bob", "tablet")
    dora = agent.connect("dora", "tablet")
    call = invite(alice, "bob", "carl", "dora", mode="advanced")
    assert {one["subject"] for one in pushes(double, 3)} == {"bob-1", "carl-1", "dora-1"}
    for one in bob, dora:
        one.ok("call.accept", call_id=call)
    agent.post("call.accept", "carl", {"call_id": call}, device="phone")
    dora.ok("call.leave", call_id=call, push={"title": "Dora left", "payload": "x"})
    (push,) = pushes(double, 1)
    data = push["payload"]["data"]
    assert (push["subject"], data["kind"], data["title"]) == ("carl-1", "leave", "Dora left")
    assert (data["payload"], data["user"]) == ("x", "carl")
    bob.ok("call.leave", call_id=call)
    alice.ok("call.end", call_id=call, push={"title": "Over"})
    (push,) = pushes(double, 1)
    data = push["payload"]["data"]
    assert (push["subject"], data["kind"], data["title"]) == ("carl-1", "end", "Over")
    settled(agent, sent=5)


@pytest.mark.parametrize("provider", ["apns_voip", "apns", "fcm"])
def test_the_payload_of_the_caller_stays_beside_that_of_plugins(pusher, double, provider):
    agent = pusher('plugins = { "ios-voip", "android-fcm" }\n')
    value = "phone-1" if provider == "fcm" else token("a1")
    register(agent, "bob", "phone", provider, value)
    alice = agent.connect("alice")
    given = {"title": "Ann", "body": "calls",
             "payload": '{"room": "7", "kind": "mine", "user": "mine", "call_kind": "mine"}'}
    call = invite(alice, "bob", mode="advanced", kind="video", push=given)
    (push,) = pushes(double, 1)
    data = push["payload"]["data"] if provider == "fcm" else push["payload"]
    assert (data["room"], data["kind"], data["user"], data["call_id"]) == (
        "7", "invite", "bob", call)
    assert (data["call_kind"], data["call_mode"], data["caller"]) == ("video", "advanced", "alice")
    assert str(data["video"]).lower() == "true"
    shown = data["aps"]["alert"] if provider == "apns" else data
    assert (shown["title"], shown["body"]) == ("Ann", "calls")
    alice.ok("call.end", call_id=call)
    invite(alice, "bob", mode="advanced", push={"payload": "hello"})
    data = [one["payload"] for one in pushes(double, 1 if provider == "apns_voip" else 2)][-1]
    data = data["data"] if provider == "fcm" else data
    assert (data["payload"], data["call_kind"]) == ("hello", "audio")


def test_voip_announces_calls_and_nothing_else(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "apns_voip", token("a1"))
    register(agent, "bob", "phone", "apns", token("a2"))
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    (push,) = pushes(double, 1)
    assert push["subject"] == token("a1")
    alice.ok("call.cancel", call_id=call)
    (push,) = pushes(double, 1)
    assert push["subject"] == token("a2")
    assert push["fields"]["apns-collapse-id"] == call


# Tokens

def test_a_dead_token_is_forgotten_and_the_plugins_are_told(pusher, double):
    agent = pusher(PLUGIN, {"shape": """-- Counts pushes that failed.
on.push_failed(function(push, call, reason)
  log.info("told", { provider = push.provider, reason = reason, caller = call.caller.id })
end)
"""})
    register(agent, "bob", "phone", "apns", token("d1"))
    double.plan("d1", {"status": 410, "reason": "Unregistered"})
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    settled(agent, failed=1)
    agent.logs('"caller":"alice"')
    pushes(double, 1)
    alice.ok("call.cancel", call_id=call)
    invite(alice, "bob", mode="advanced")
    register(agent, "carl", "phone", "fcm", "carl-1")
    invite(alice, "carl", mode="advanced")
    assert pushes(double, 1)[0]["subject"] == "carl-1", "the dead token was tried again"
    assert agent.metrics()["callagent_push_tokens_removed_total"] == 1


def test_plugins_are_told_of_a_push_that_fails_long_after_its_call(pusher, double):
    agent = pusher(PLUGIN, {"shape": """-- Tells of pushes that failed.
on.push_failed(function(push, call, reason)
  log.info("told", { data = call.extended_raw })
end)
"""}, state=":memory:")
    register(agent, "bob", "phone", "fcm", "bob-1")
    double.plan("bob-1", {"status": 404, "reason": "UNREGISTERED", "delay": 2.0})
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced", extended_data="the first")
    alice.ok("call.cancel", call_id=call)
    for _ in range(80):  # more than the switchboard holds beside a store in memory
        alice.ok("call.cancel", call_id=invite(alice, "carl", mode="advanced"))
    agent.logs('"data":"the first"')


def test_a_token_that_died_before_it_was_registered_again_is_kept(pusher, double):
    """Apple says since when a token is dead; the phone has come back since."""
    agent = pusher()
    register(agent, "bob", "phone", "apns", token("d2"))
    double.plan("d2", {"status": 410, "reason": "Unregistered", "dead_for": 60})
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    settled(agent, failed=1)
    wait_for("the outcome", lambda: "outdated: 410 Unregistered before it was registered"
             in agent.tool("explain", call, "--json")[1])
    said = agent.tool("explain", call)[1]
    assert "push invite for bob/phone by apns: outdated: 410" in said, said
    alice.ok("call.cancel", call_id=call)
    settled(agent, failed=2)
    double.plan("d2")
    invite(alice, "bob", mode="advanced")
    settled(agent, sent=1, failed=2)
    assert agent.metrics()["callagent_push_tokens_removed_total"] == 0
    agent.crash()
    agent.start()
    double.plan("d2", {"status": 410, "reason": "Unregistered", "dead_for": 60})
    invite(agent.connect("alice", "tablet"), "bob", mode="advanced")
    settled(agent, failed=1)
    assert agent.metrics()["callagent_push_tokens_removed_total"] == 0, "the moment is stored"


def test_what_is_said_of_the_token_before_says_nothing_of_the_new_one(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "fcm", "bob-old")
    double.plan("bob-old", {"status": 404, "reason": "UNREGISTERED", "delay": 1.0})
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    pushes(double, 1)
    register(agent, "bob", "phone", "fcm", "bob-new")
    settled(agent, failed=1)
    alice.ok("call.cancel", call_id=call)
    assert pushes(double, 1)[0]["subject"] == "bob-new"


def test_a_mistake_of_environment_or_topic_keeps_the_registration(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "apns", token("e1"), environment="sandbox")
    double.plan("e1", {"status": 400, "reason": "BadDeviceToken"})
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    settled(agent, failed=1)
    alice.ok("call.cancel", call_id=call)
    double.plan("e1")
    double.seen()
    register(agent, "bob", "phone", "apns", token("e1"))
    invite(alice, "bob", mode="advanced")
    settled(agent, sent=1, failed=1)
    assert agent.metrics()["callagent_push_tokens_removed_total"] == 0


def refused(agent, field, **registration):
    """The registration is refused over HTTP and in a session, naming the field."""
    reply = agent.post("device.push_register", "bob", registration, device="phone")
    assert (reply.status, reply.body["code"]) == (400, "bad_request"), reply.text
    assert reply.body["error"]["detail"]["field"] == field, reply.text
    error = agent.connect("bob").refused("device.push_register", "bad_request", **registration)
    assert error["detail"]["field"] == field and error["message"].startswith(field), error


@pytest.mark.parametrize("provider, value", [
    ("apns", "a token"), ("apns", "../device"), ("apns_voip", "AAECAw=="), ("fcm", "a token")])
def test_a_token_that_is_none_is_refused(pusher, provider, value):
    refused(pusher(), "token", provider=provider, token=value)


@pytest.mark.parametrize("member, value", [
    ("endpoint", None), ("endpoint", "http://push.example/"), ("endpoint", "https://10.0.0.1/"),
    ("endpoint", "https://[fd00::1]/"), ("endpoint", "https://user:word@push.example/"),
    ("keys.p256dh", "BA" + "A" * 84), ("keys.p256dh", "BA" + "A" * 85), ("keys.auth", "A" * 21)])
def test_a_subscription_that_no_push_could_go_to_is_refused(pusher, double, member, value):
    """Also a key of the right length that is no point on the curve."""
    subscription = double.subscription("chrome")
    inner = subscription["keys"] if "." in member else subscription
    inner[member.split(".")[-1]] = value
    refused(pusher(), f"subscription.{member}", provider="web", subscription=subscription)


def test_unregistered_is_left_in_peace(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "fcm", "bob-1")
    reply = agent.post("device.push_unregister", "bob", {"provider": "fcm"}, device="phone")
    assert reply.status == 200
    register(agent, "carl", "phone", "fcm", "carl-1")
    alice = agent.connect("alice")
    invite(alice, "bob", "carl", mode="advanced")
    assert pushes(double, 1)[0]["subject"] == "carl-1"


def test_a_phone_that_changes_hands_rings_for_its_new_owner(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "fcm", "the-phone")
    register(agent, "carl", "phone", "fcm", "the-phone")
    alice = agent.connect("alice")
    invite(alice, "bob", mode="advanced")
    call = invite(alice, "carl", mode="advanced")
    (push,) = pushes(double, 1)
    assert push["payload"]["data"]["call_id"] == call


def test_a_user_has_as_many_registrations_as_devices(pusher, double):
    """Whoever could register without end could make each of their calls a flood."""
    agent = pusher()
    for number in range(100):
        register(agent, "bob", f"phone-{number}", "fcm", f"bob-{number}")
        # Of two in one millisecond neither is older.
        registered = time.time_ns() // 1_000_000
        while time.time_ns() // 1_000_000 == registered:
            pass
    alice = agent.connect("alice")
    invite(alice, "bob", mode="advanced")
    called = {one["subject"] for one in pushes(double, 10)}
    assert called == {f"bob-{number}" for number in range(90, 100)}
    register(agent, "bob", "phone-0", "fcm", "bob-99")
    invite(alice, "bob", mode="advanced")
    assert {one["subject"] for one in pushes(double, 10)} == called
    settled(agent, sent=20)


# Trouble

def test_trouble_of_the_provider_is_tried_again_while_it_rings(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "fcm", "bob-1")
    double.plan("bob-1", {"status": 503, "reason": "UNAVAILABLE"},
                {"status": 502, "body": "<html>bad gateway</html>"}, {"status": 200})
    alice = agent.connect("alice")
    invite(alice, "bob", mode="advanced")
    assert len(pushes(double, 3)) == 3
    settled(agent, sent=1)


def test_no_more_attempts_once_the_call_was_answered(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "fcm", "bob-1")
    double.plan("bob-1", {"status": 503, "reason": "UNAVAILABLE", "headers": {"retry-after": "2"}})
    alice, bob = agent.connect("alice"), agent.connect("bob", "tablet")
    call = invite(alice, "bob", mode="advanced")
    pushes(double, 1)
    bob.ok("call.accept", call_id=call)
    wait_for("given up", lambda: agent.metrics()["callagent_pushes_withdrawn_total"] == 1)
    assert double.seen() == []
    settled(agent)
    wait_for("stored", lambda: '"result":"withdrawn"' in agent.tool("explain", call, "--json")[1])


def test_open_jobs_go_on_after_a_crash(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "fcm", "bob-1")
    double.plan("bob-1", {"status": 503, "reason": "UNAVAILABLE", "headers": {"retry-after": "60"}})
    invite(agent.connect("alice"), "bob", mode="advanced")
    (before,) = pushes(double, 1)
    agent.crash()
    double.plan("bob-1")
    agent.start()
    (after,) = pushes(double, 1)
    assert after["payload"]["data"]["call_id"] == before["payload"]["data"]["call_id"]
    settled(agent, sent=1)


def test_a_finished_job_is_not_sent_again_after_a_crash(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "fcm", "bob-1")
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    pushes(double, 1)
    settled(agent, sent=1)
    alice.ok("call.get", call_id=call)
    agent.post("device.push_register", "carl", {"provider": "fcm", "token": "carl-1"},
               device="phone")  # behind the outcome, so that is durable too
    agent.crash()
    agent.start()
    invite(agent.connect("alice", "tablet"), "carl", mode="advanced")
    assert [one["subject"] for one in pushes(double, 1)] == ["carl-1"]


def test_a_provider_that_hangs_is_not_felt_by_calls(pusher, double):
    agent = pusher()
    double.plan("bob", {"act": "hang"})
    for number in range(10):
        register(agent, "bob", f"phone-{number}", "fcm", f"bob-{number}")
    alice, carl = agent.connect("alice"), agent.connect("carl")
    calls = [invite(alice, "bob", mode="advanced") for _ in range(30)]
    assert len(set(calls)) == 30
    call = invite(alice, "carl", mode="common")
    carl.event("call.incoming")
    carl.ok("call.accept", call_id=call)
    alice.event("call.changed")
    assert ended(alice) == ("settled", "answered")
    assert agent.metrics()["callagent_pushes"] == 300


# Plugins

def test_a_plugin_shapes_what_is_shown(pusher, double):
    agent = pusher(PLUGIN, {"shape": """-- Names the caller.
on.push(function(push, call)
  push.title = call.caller.id .. " calls"
  push.payload = { room = call.id }
  return push
end)
"""})
    register(agent, "bob", "phone", "apns", token("a2"))
    call = invite(agent.connect("alice"), "bob", mode="advanced")
    (push,) = pushes(double, 1)
    assert push["payload"]["aps"]["alert"]["title"] == "alice calls"
    assert push["payload"]["room"] == call == push["payload"]["call_id"]


def test_a_plugin_drops_a_push(pusher, double):
    agent = pusher(PLUGIN, {"shape": """-- Keeps the night quiet.
on.push(function(push) if push.user == "bob" then return drop "night" end end)
"""})
    register(agent, "bob", "phone", "fcm", "bob-1")
    register(agent, "carl", "phone", "fcm", "carl-1")
    invite(agent.connect("alice"), "bob", "carl", mode="advanced")
    assert pushes(double, 1)[0]["subject"] == "carl-1"
    wait_for("the count", lambda: agent.metrics()["callagent_pushes_dropped_total"] == 1)


@pytest.mark.parametrize("change", [
    "push.kind = 'voip'", "push.topic = 'com.other.app.voip'", "push.collapse_id = 'a b'",
    "push.payload = { f = print }", "push.expires_in = -1", "push.nonsense = 1",
    "error 'broken'", "while true do end"])
def test_a_push_that_a_plugin_broke_leaves_as_it_was(pusher, double, change):
    agent = pusher(PLUGIN, {"shape": f"""-- Breaks the push.
on.push(function(push) push.title = "broken" {change} return push end)
"""})
    register(agent, "bob", "phone", "apns", token("a2"))
    invite(agent.connect("alice"), "bob", mode="advanced")
    (push,) = pushes(double, 1)
    assert push["payload"]["aps"]["alert"]["title"] == "alice"


# Phones

PHONE = "fcm-phone"


@pytest.fixture
def phone(pusher, double):
    """A phone of bob that asks the server whenever it is woken; what it saw is returned."""

    def make(plan=(), act=None, registers=True):
        agent = pusher()
        if registers:
            register(agent, "bob", "phone", "fcm", PHONE)
        double.do("phone", token=PHONE, api=f"http://127.0.0.1:{agent.port}", bearer="dev:bob",
                  device="phone", plan=list(plan), **({"act": act} if act else {}))
        return agent

    return make


def woken(double, count):
    """What the phone saw each time it was woken, once that happened so often."""
    log = []

    def enough():
        log.extend(double.do("phone", log=True)["log"])
        return len(log) >= count

    wait_for(f"woken {count} times", enough)
    return log


def test_a_woken_phone_accepts_with_one_request(phone, double):
    agent = phone(act="accept")
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    (seen,) = woken(double, 1)
    assert (seen["call_id"], seen["status"], seen["state"], seen["act"]) == (
        call, 200, "ringing", 200)
    alice.event("call.changed")
    assert participant(alice.ok("call.get", call_id=call)["call"], "bob")["device"] == "phone"


def test_a_woken_phone_connects_and_finds_the_call(phone, double):
    agent = phone()
    call = invite(agent.connect("alice"), "bob", mode="advanced")
    woken(double, 1)
    bob = agent.connect("bob")
    assert [one["call_id"] for one in bob.hello["calls"]] == [call]
    assert bob.event("call.incoming")["call"]["call_id"] == call
    bob.ok("call.accept", call_id=call)


def test_an_app_registers_is_closed_and_answers_from_its_sleep(phone, double):
    """The whole way: a session, a token, the app is gone, a call, a push, one request."""
    agent = phone(act="accept", registers=False)
    alice, bob = agent.connect("alice"), agent.connect("bob")
    bob.ok("device.push_register", provider="fcm", token=PHONE)
    bob.vanish()
    wait_for("the app is gone", lambda: agent.metrics()["callagent_connections"] == 1)
    call = invite(alice, "bob", mode="advanced")
    (seen,) = woken(double, 1)
    assert (seen["kind"], seen["state"], seen["act"]) == ("invite", "ringing", 200)
    alice.event("call.changed")
    bob = agent.connect("bob")
    (one,) = bob.hello["calls"]
    assert (one["call_id"], participant(one, "bob")["state"]) == (call, "joined")


def test_a_phone_that_connects_after_the_caller_gave_up_has_missed_a_call(phone, double):
    agent = phone()
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    assert [one["kind"] for one in woken(double, 1)] == ["invite"]
    alice.ok("call.cancel", call_id=call)
    assert [one["kind"] for one in woken(double, 1)] == ["cancel"]
    bob = agent.connect("bob", missed=True)
    assert bob.hello["calls"] == []
    missed = bob.event("call.missed")
    assert (missed["call_id"], missed["missed"]) == (call, 1)
    error = bob.refused("call.accept", "cancelled", call_id=call)
    assert not error["retryable"]


def test_a_phone_that_wakes_after_the_caller_gave_up_learns_that(phone, double):
    agent = phone(plan=[{"delay": 1.0}], act="accept")
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    pushes(double, 1)
    alice.ok("call.cancel", call_id=call)
    seen = woken(double, 2)
    assert [(one["kind"], one["state"]) for one in seen] == [("cancel", "ended"),
                                                             ("invite", "ended")]
    assert seen[1]["act"] == 409, "a call that is over cannot be accepted"


def test_two_pushes_for_one_call_are_one_call(phone, double):
    agent = phone(plan=[{"copies": 2}], act="accept")
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    seen = woken(double, 2)
    assert {one["call_id"] for one in seen} == {call}
    assert sorted(one["act"] for one in seen) == [200, 409]


def test_a_lost_push_is_made_good_by_connecting(phone, double):
    agent = phone(plan=[{"drop": True}])
    call = invite(agent.connect("alice"), "bob", mode="advanced")
    pushes(double, 1)
    assert agent.connect("bob").event("call.incoming")["call_id"] == call


# The operator's file

@pytest.mark.parametrize("config, said", [
    ("push = { apn = {} }", "callagent.lua:3: push: unknown field 'apn' (did you mean 'apns'?)"),
    ("push = {\n  apns = { key = 'x', keyid = 'y' } }", "unknown field 'keyid'"),
    ("push = { apns = { key = 'x', key_id = 'k', team_id = 't', bundle_id = 'b' } }",
     "callagent.lua:3: push: apns: key: the key must be PEM"),
    ("push = { fcm = { account = '{}' } }", "callagent.lua:3: push: fcm: account: "),
    ("push = { webhook = { url = 'ftp://x', secret = 's' } }", "must begin with https://"),
    ("webhooks = { { name = 'a', url = 'https://a.example', secret = 'x' } }",
     "callagent.lua:3: webhooks: [1]: secret: must begin with 'whsec_'"),
    ("webhooks = { { name = 'a', url = 'https://a.example', secret = 'x', evnts = {} } }",
     "unknown field 'evnts' (did you mean 'events'?)"),
    ("webhooks = { { name = 'a', url = 'https://a.example', secret = 'x', events = 'call.end' } }",
     "unknown event 'call.end'"),
])
def test_a_mistake_is_named_with_its_line(make_agent, config, said):
    agent = make_agent(config + "\n")
    assert said in agent.refuses_to_start()
    code, text = agent.tool("check")
    assert code == 1 and said in text
