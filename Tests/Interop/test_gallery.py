"""The bundled plugins on the real server: what users and phones notice of them."""

import json

import pytest

from calls import invite, participant, states
from double import TOPIC, token
from test_push import pushes, register, settled


def listed(*names, **options):
    """A part of the operator's file: these plugins with these options, written in Lua."""
    lines = [f'options["{name}"] = {options[key]}'
             for name in names if (key := name.replace("-", "_")) in options]
    head = "plugins = { " + ", ".join(json.dumps(name) for name in names) + " }"
    return "\n".join([head, *lines, ""])


def test_who_is_blocked_calls_nobody(make_agent):
    config = listed("blocklist", blocklist='{ callers = { "spam-*" }, dial = true }')
    agent = make_agent(config).start()
    agent.connect("bob")
    error = agent.connect("spam-1").refused(
        "call.invite", "refused", invitees=["bob"], mode="advanced")
    assert error["detail"]["code"] == "blocked"
    assert invite(agent.connect("alice"), "bob", mode="advanced")


def test_the_call_after_the_last_one_allowed_is_refused(make_agent):
    agent = make_agent(listed("flood-limit", flood_limit='{ calls = 2, within = "1h" }')).start()
    alice = agent.connect("alice")
    for name in ("bob", "carl"):
        agent.connect(name)
        alice.forget()
        invite(alice, name, mode="advanced")
    error = alice.refused("call.invite", "refused", invitees=["bob"], mode="advanced")
    assert error["detail"]["code"] == "limit"


def test_who_adds_too_many_is_refused_and_not_who_called(make_agent):
    agent = make_agent(listed("flood-limit", flood_limit='{ calls = 2, within = "1h" }')).start()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode="advanced")
    bob.ok("call.accept", call_id=call)
    for name in ("carl", "dora"):
        bob.ok("call.add", call_id=call, invitees=[name])
    error = bob.refused("call.add", "refused", call_id=call, invitees=["eve"])
    assert error["detail"]["code"] == "limit"
    assert invite(alice, "carl", mode="advanced"), "of her two calls this is the second"


@pytest.mark.parametrize("plugin, options", [
    ("busy", "{ lines = 4 }"), ("desk-hours", '{ lines = 4, hours = "00:00-24:00" }')])
def test_nobody_takes_all_lines_of_an_account_alone(make_agent, plugin, options):
    config = 'answer_for = { "desk" }\n' + listed(
        plugin, "auto-accept", **{plugin.replace("-", "_"): options},
        auto_accept='{ allow = { "*" }, wait = "0s" }')
    agent = make_agent(config).start()
    zoe, yan = agent.connect("zoe"), agent.connect("yan")

    def ask(caller):
        caller.forget()
        call = invite(caller, "desk", mode="advanced")
        (desk,) = caller.event("call.changed")["changes"]
        return call, desk["state"]

    calls, taken = zip(*(ask(zoe) for _ in range(3)))
    assert taken == ("joined", "joined", "rejected")
    assert ask(yan)[1] == "joined"
    for call in calls:
        zoe.ok("call.end", call_id=call)
    assert ask(zoe)[1] == "joined"


def test_who_is_blocked_adds_nobody_to_a_call(make_agent):
    config = listed("blocklist", blocklist='{ callers = { "spam-*" }, dial = true }')
    agent = make_agent(config).start()
    alice, spam = agent.connect("alice"), agent.connect("spam-1")
    call = invite(alice, "spam-1", mode="advanced")
    spam.ok("call.accept", call_id=call)
    error = spam.refused("call.add", "refused", call_id=call, invitees=["bob"])
    assert error["detail"]["code"] == "blocked"
    alice.ok("call.add", call_id=call, invitees=["bob"])


def test_nobody_answers_and_the_call_goes_on(make_agent):
    config = 'answer_for = { "desk" }\n' + listed(
        "forward-no-answer", forward_no_answer='{ to = { "dora", "carl" }, after = "1s" }')
    agent = make_agent(config).start()
    desk, carl, dora = (agent.connect(name) for name in ("desk", "carl", "dora"))
    invite(agent.connect("eve"), "dora", mode="advanced")
    dora.event("call.incoming")
    alice = agent.connect("alice")
    call = invite(alice, "desk", mode="advanced")
    desk.event("call.incoming")
    assert carl.event("call.incoming", timeout=20)["call"]["call_id"] == call
    desk.event("call.cancelled")
    found = alice.ok("call.get", call_id=call)["call"]
    assert states(found)["desk"] == "cancelled"
    assert participant(found, "carl")["state"] in ("inviting", "ringing")
    carl.ok("call.accept", call_id=call)


def test_an_account_without_a_phone_forwards_at_once(make_agent):
    config = 'answer_for = { "desk" }\n' + listed(
        "forward-no-answer", forward_no_answer='{ to = { "carl" } }')
    agent = make_agent(config).start()
    carl = agent.connect("carl")
    call = invite(agent.connect("alice"), "desk", mode="advanced")
    assert carl.event("call.incoming", timeout=20)["call"]["call_id"] == call


def test_extended_data_is_put_in_order(make_agent):
    agent = make_agent(listed("extended-data")).start()
    bob = agent.connect("bob")
    invite(agent.connect("alice"), "bob", mode="advanced", extended_data='{"topic":"x"}')
    data = bob.event("call.incoming")["call"]["extended_data"]
    assert json.loads(data) == {"topic": "x", "type": "voice_call"}


def test_phones_are_told_what_the_plugins_say(pusher, double):
    config = listed(
        "ios-voip", "android-fcm",
        ios_voip='{ bundle = "com.example.app", fields = { "topic" }, hide = true }',
        android_fcm='{ fields = { "topic" } }')
    agent = pusher(config)
    register(agent, "bob", "iphone", "apns_voip", token("b1"))
    register(agent, "carl", "pixel", "fcm", "carl-1")
    alice = agent.connect("alice")
    ok = alice.ok(
        "call.invite", invitees=["bob", "carl"], mode="advanced", kind="video",
        extended_data='{"topic":"invoice","secret":"x"}')
    found = {one["subject"]: one for one in pushes(double, 2)}
    android, ios = found.pop("carl-1"), found.popitem()[1]
    settled(agent, sent=2)
    ios, android = ios["payload"], android["payload"]["data"]
    assert (ios["caller"], ios["topic"], ios["video"]) == ("Someone", "invoice", True)
    assert (android["caller"], android["topic"], android["video"]) == ("alice", "invoice", "true")
    assert ios["call_id"] == android["call_id"] == ok["call_id"]
    assert "secret" not in ios and "secret" not in android


@pytest.mark.parametrize("provider, size, more", [
    ("apns_voip", 4_000, 1_900), ("apns", 3_500, 1_900), ("apns", 3_500, 400)])
def test_a_caller_leaves_a_plugin_no_room_to_say_which_app_a_push_is_for(
        make_agent, double, provider, size, more):
    """What is sent to another app would be the end of the callee's pushes for a day."""
    config = double.push_config.replace(TOPIC, "com.example.other")
    agent = make_agent(
        config + 'plugins = { "ios-voip" }\n'
        f'options["ios-voip"] = {{ bundle = "{TOPIC}" }}\n',
        environment=double.environment).start()
    register(agent, "bob", "phone", provider, token("a1"))
    given = {"payload": json.dumps({"x": "x" * size})}
    data = json.dumps({"type": "x" * more})
    for caller, push in (("mallory", given), ("alice", {})):
        invite(agent.connect(caller), "bob", mode="advanced", push=push, extended_data=data)
        (one,) = pushes(double, 1)
        assert one["verdict"] == 200 and one["fields"]["apns-topic"].startswith(TOPIC), one
        assert one["payload"]["caller"] == caller


@pytest.mark.parametrize("provider", ["apns_voip", "apns", "fcm"])
def test_a_caller_who_is_hidden_is_in_no_push(pusher, double, provider):
    """Not the id, nor the name, nor in data that nobody is shown."""
    agent = pusher('plugins = { "ios-voip", "android-fcm" }\n'
                   'options["ios-voip"] = { hide = true }\n'
                   'options["android-fcm"] = { hide = true }\n')
    register(agent, "bob", "phone", provider, "phone-1" if provider == "fcm" else token("a1"))
    if provider == "apns_voip":
        register(agent, "bob", "phone", "apns", token("a2"))
    alice = agent.connect("alice", greet=False)
    alice.ok("hello", token="dev:alice", device="phone", name="Ann Smith")
    call = invite(alice, "bob", mode="advanced")
    found = pushes(double, 1)
    alice.ok("call.cancel", call_id=call)
    found += pushes(double, 1)
    for one in found:
        said = json.dumps(one["payload"])
        assert "Someone" in said and "alice" not in said and "Ann Smith" not in said, said


def test_a_push_that_a_plugin_failed_to_shape_says_nothing_of_the_registration(
        make_agent, double):
    config = double.push_config.replace(TOPIC, "com.example.other")
    agent = make_agent(config + listed("shape"), {"shape": f"""-- Breaks for mallory.
on.push(function(push, call)
  push.topic = "{TOPIC}"
  if call.caller.id == "mallory" then error "broken" end
  return push
end)
"""}, environment=double.environment).start()
    register(agent, "bob", "phone", "apns", token("a1"))
    invite(agent.connect("mallory"), "bob", mode="advanced")
    assert pushes(double, 1)[0]["verdict"].startswith("400 DeviceTokenNotForTopic")
    settled(agent, failed=1)
    invite(agent.connect("alice"), "bob", mode="advanced")
    assert pushes(double, 1)[0]["verdict"] == 200


def test_a_call_that_cannot_be_handed_on_keeps_nobody_waiting(make_agent):
    """One account that has used up the transfers of its call is the first in the line."""
    agent = make_agent(
        'answer_for = { "sales" }\ngroups = { staff = { "bob" } }\n'
        + listed("queue", queue='{ group = "staff", say_every = "1s" }')).start()
    mallory = agent.connect("mallory")
    call = invite(mallory, "sales", mode="advanced")
    for number in range(10):
        mallory.ok("call.transfer", call_id=call, to=f"nobody-{number}")
        mallory.ok("call.cancel", call_id=call, users=[f"nobody-{number}"])
    mallory.refused("call.transfer", "too_many", call_id=call, to="nobody")
    invite(agent.connect("alice"), "sales", mode="advanced")
    bob = agent.connect("bob")
    assert bob.event("call.incoming")["call"]["caller"] == "alice"
