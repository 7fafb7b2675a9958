"""Hello, tokens, one connection per device, closing codes, resume."""

import json
import time

import pytest
from websockets.sync.client import connect

from calls import changes, invite
from device import Device
from raw import RawSocket


def test_hello_tells_who_one_is_and_every_limit(agent):
    hello = agent.connect("bob", "phone-1").hello
    assert (hello["user"], hello["device"], hello["resumed"]) == ("bob", "phone-1", False)
    assert hello["calls"] == []
    assert hello["ping_interval_ms"] == 25_000 and hello["resume_window_ms"] == 120_000
    assert hello["server"].startswith("callagent/")
    assert abs(hello["server_time_at"] - time.time() * 1_000) < 60_000
    limits = hello["limits"]
    assert limits["message_bytes"] == 65_536 and limits["extended_data_bytes"] == 2_048
    assert (limits["invitees"], limits["participants"], limits["keys"]) == (9, 10, 1_000)


def test_the_subprotocol_is_echoed(agent):
    bob = agent.connect("bob")
    assert bob.ws.subprotocol == "callagent.v1.json"


def test_a_client_that_offers_no_subprotocol_is_served(agent):
    with connect(agent.url, compression=None) as ws:
        assert ws.subprotocol is None
        ws.send(json.dumps({"id": 1, "op": "hello", "data": {"token": "dev:bob", "device": "a"}}))
        assert json.loads(ws.recv(5))["ok"]["user"] == "bob"


def test_compression_is_not_agreed_to(agent):
    with connect(agent.url, compression="deflate") as ws:
        assert "Sec-WebSocket-Extensions" not in ws.response.headers


def test_an_operation_before_hello_closes_the_connection(agent):
    stranger = Device(agent.url, "bob", greet=False)
    stranger.post("call.list", {})
    assert stranger.closed() == 4200
    assert "hello comes first" in stranger.ws.close_reason


def test_silence_instead_of_hello_closes_after_five_seconds(agent):
    stranger = Device(agent.url, "bob", greet=False)
    assert stranger.closed(timeout=8) == 4200


def test_a_second_hello_is_refused_and_the_connection_stays(agent):
    bob = agent.connect("bob")
    bob.refused("hello", "wrong_state", token="dev:bob", device="phone")
    bob.quiet()


@pytest.mark.parametrize("token", ["bob", "dev:", "dev:a b", "dev:" + "x" * 65, "dev:ü",
                                   "eyJhbGciOiJub25lIn0.eyJzdWIiOiJib2IifQ."])
def test_a_bad_token_gets_its_error_and_is_sent_away(agent, token):
    stranger = Device(agent.url, "bob", greet=False)
    stranger.refused("hello", "unauthenticated", token=token, device="phone")
    assert stranger.closed() == 4203


@pytest.mark.parametrize("field, data", [
    ("token", {"device": "phone"}),
    ("token", {"token": 7, "device": "phone"}),
    ("token", {"token": "", "device": "phone"}),
    ("device", {"token": "dev:bob", "device": "a b"}),
    ("device", {"token": "dev:bob", "device": "x" * 65}),
    ("device", {"token": "dev:bob", "device": ""}),
    ("resume", {"token": "dev:bob", "device": "phone", "resume": "yes"}),
    ("resume.seq", {"token": "dev:bob", "device": "phone",
                    "resume": {"session": "5e", "seq": -1}}),
])
def test_a_malformed_hello_names_the_field(agent, field, data):
    stranger = Device(agent.url, "bob", greet=False)
    error = stranger.refused("hello", "bad_request", **data)
    assert error["detail"]["field"] == field


def test_names_of_64_bytes_are_served(agent):
    assert agent.connect("u" * 64, "d" * 64).hello["user"] == "u" * 64


def test_ping_is_answered_with_and_without_an_id(agent):
    bob = agent.connect("bob")
    assert bob.ok("ping") == {}
    bob.send({"op": "ping"})
    assert bob.reply(None)["ok"] == {}
    bob.send({"id": "text", "op": "ping"})
    assert bob.reply("text")["ok"] == {}


def test_a_newer_connection_of_the_same_device_replaces_the_older(agent):
    old = agent.connect("bob")
    new = agent.connect("bob")
    assert old.closed() == 4209
    new.quiet()


def test_one_device_per_user_when_so_configured(make_agent):
    agent = make_agent("devices_per_user = 1\n").start()
    phone = agent.connect("bob", "phone")
    laptop = agent.connect("bob", "laptop")
    assert phone.closed() == 4209
    laptop.quiet()


def test_the_eleventh_device_replaces_the_one_idle_longest(agent):
    devices = [agent.connect("bob", f"device-{number}") for number in range(10)]
    for device in devices[1:]:
        device.ok("ping")
    agent.connect("bob", "device-10")
    assert devices[0].closed() == 4209
    for device in devices[1:]:
        device.quiet()


def test_bye_logs_the_device_out(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob")
    bob.event("call.incoming")
    assert bob.ok("bye") == {}
    again = agent.connect("bob", resume=bob.resume)
    assert again.hello["resumed"] is False
    assert again.event("call.incoming")["call_id"] == call


def test_resume_replays_what_was_missed_in_order(ringing, agent):
    alice, bob, call = ringing()
    alice.ack()
    resume = alice.resume
    alice.vanish()
    bob.ok("call.ringing", call_id=call)
    bob.ok("call.accept", call_id=call)
    again = agent.connect("alice", resume=resume)
    assert again.hello["resumed"] is True
    assert again.hello["session"] == resume["session"]
    assert changes(again.event("call.changed")) == {"bob": ("ringing", None)}
    assert changes(again.event("call.changed")) == {"bob": ("joined", None)}
    again.quiet()


def test_resume_from_an_earlier_number_replays_from_there(ringing, agent):
    alice, bob, call = ringing()
    bob.ok("call.ringing", call_id=call)
    alice.event("call.changed")
    bob.ok("call.accept", call_id=call)
    alice.event("call.changed")
    again = agent.connect("alice", resume={"session": alice.session, "seq": 1})
    assert again.hello["resumed"] is True
    assert changes(again.event("call.changed")) == {"bob": ("joined", None)}
    again.quiet()


@pytest.mark.parametrize("wrong", ["session", "seq", "device"])
def test_resume_that_does_not_fit_gives_the_full_truth(ringing, agent, wrong):
    alice, _, call = ringing()
    resume = dict(alice.resume)
    device = "tablet" if wrong == "device" else "phone"
    if wrong == "session":
        resume["session"] = "0" * len(resume["session"])
    if wrong == "seq":
        resume["seq"] += 5
    alice.vanish()
    again = agent.connect("alice", device, resume=resume)
    assert again.hello["resumed"] is False
    assert [one["call_id"] for one in again.hello["calls"]] == [call]
    again.quiet()


def test_nobody_resumes_a_session_of_somebody_else(ringing, agent):
    alice, _, _ = ringing()
    alice.vanish()
    again = agent.connect("mallory", resume=alice.resume)
    assert again.hello["resumed"] is False and again.hello["calls"] == []
    assert agent.connect("alice", resume=alice.resume).hello["resumed"] is True


def test_a_session_that_said_bye_is_over(agent):
    bob = agent.connect("bob")
    bob.ok("bye")
    assert agent.connect("bob", resume=bob.resume).hello["resumed"] is False


def test_a_resumed_session_may_be_resumed_again(ringing, agent):
    alice, bob, call = ringing()
    bob.ok("call.ringing", call_id=call)
    first = alice.resume
    for _ in range(3):
        alice.vanish()
        alice = agent.connect("alice", resume=first)
        assert alice.hello["resumed"] is True
        assert changes(alice.event("call.changed")) == {"bob": ("ringing", None)}
    alice.ack()
    bob.ok("call.accept", call_id=call)
    assert changes(alice.event("call.changed")) == {"bob": ("joined", None)}
    alice.quiet()


@pytest.mark.parametrize("how", ["stop", "crash"])
def test_who_was_away_learns_how_a_call_ended_also_after_a_restart(make_agent, how):
    agent = make_agent().start()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode="direct")
    bob.event("call.incoming")
    bob.vanish()
    alice.ok("call.cancel", call_id=call)
    getattr(agent, how)()
    agent.start()
    again = agent.connect("bob", resume=bob.resume)
    assert again.hello["resumed"] is False and again.hello["calls"] == []
    found = again.ok("call.get", call_id=call)["call"]
    assert (found["state"], found["end"]["reason"]) == ("ended", "cancelled")
    assert [one["call_id"] for one in again.ok("call.list")["calls"]] == [call]


def test_an_acknowledged_event_cannot_be_asked_for_again(ringing, agent):
    alice, bob, call = ringing()
    bob.ok("call.ringing", call_id=call)
    alice.event("call.changed")
    alice.ack()
    alice.ok("ping")
    alice.vanish()
    again = agent.connect("alice", resume={"session": alice.session, "seq": 0})
    assert again.hello["resumed"] is False


@pytest.mark.parametrize("ack", [10**9, 0, 1])
def test_an_acknowledgement_out_of_range_harms_nobody(ringing, ack):
    alice, _, _ = ringing()
    alice.send({"ack": ack})
    alice.quiet()


@pytest.mark.patient
def test_a_silent_connection_is_closed_after_33_seconds(agent):
    silent = RawSocket(agent.port).upgrade()
    silent.send_json({"id": 1, "op": "hello", "data": {"token": "dev:bob", "device": "phone"}})
    assert silent.close_code(timeout=45) == 4009
