"""Malformed messages get the named error, and the call that is under way does not change."""

import json

import pytest

from device import Device

LONG = "x" * 65


def invite_with(**data):
    return "call.invite", {"invitees": ["bob"]} | data


MALFORMED = [
    ("bad_request", "invitees", ("call.invite", {})),
    ("bad_request", "invitees", invite_with(invitees="bob")),
    ("bad_request", "invitees", invite_with(invitees=[])),
    ("bad_request", "invitees[0]", invite_with(invitees=[7])),
    ("bad_request", "invitees[0]", invite_with(invitees=[""])),
    ("bad_request", "invitees[1]", invite_with(invitees=["bob", "a b"])),
    ("bad_request", "invitees[0]", invite_with(invitees=[LONG])),
    ("bad_request", "invitees[0]", invite_with(invitees=["bö"])),
    ("bad_request", "mode", invite_with(mode="loud")),
    ("bad_request", "mode", invite_with(mode=1)),
    ("bad_request", "kind", invite_with(kind="k" * 33)),
    ("bad_request", "kind", invite_with(kind="")),
    ("bad_request", "timeout_ms", invite_with(timeout_ms=999)),
    ("bad_request", "timeout_ms", invite_with(timeout_ms=600_001)),
    ("bad_request", "timeout_ms", invite_with(timeout_ms=-1)),
    ("bad_request", "timeout_ms", invite_with(timeout_ms=1_500.5)),
    ("bad_request", "timeout_ms", invite_with(timeout_ms="30s")),
    ("bad_request", "extended_data", invite_with(extended_data={"a": 1})),
    ("too_large", None, invite_with(extended_data="x" * 2_049)),
    ("too_large", None, invite_with(extended_data="ü" * 1_025)),
    ("bad_request", "delivery_check", invite_with(delivery_check="yes")),
    ("bad_request", "push.title", invite_with(push={"title": 7})),
    ("bad_request", "call_id", ("call.accept", {})),
    ("bad_request", "call_id", ("call.accept", {"call_id": 7})),
    ("bad_request", "call_id", ("call.accept", {"call_id": None})),
    ("unsupported", None, ("call.dance", {})),
    ("unsupported", None, ("", {})),
]

LIVE = [
    ("bad_request", "reason", "call.reject", {"reason": "bored"}),
    ("bad_request", "reason", "call.reject", {"reason": 7}),
    ("too_large", None, "call.accept", {"extended_data": "x" * 2_049}),
    ("bad_request", "extended_data", "call.reject", {"extended_data": ["a"]}),
    ("bad_request", "audio", "call.accept", {"audio": "on"}),
    ("bad_request", "users", "call.cancel", {"users": "bob"}),
    ("bad_request", "users[0]", "call.cancel", {"users": ["a b"]}),
    ("bad_request", "invitees", "call.add", {"invitees": {}}),
]


def check(error, field):
    if field is not None:
        assert error["detail"]["field"] == field, error


@pytest.mark.parametrize("code, field, request_", MALFORMED, ids=repr)
def test_a_malformed_request_makes_no_call(agent, code, field, request_):
    alice = agent.connect("alice")
    op, data = request_
    check(alice.refused(op, code, **data), field)
    assert alice.ok("call.list")["calls"] == []
    alice.quiet()


@pytest.mark.parametrize("code, field, op, data", LIVE, ids=repr)
def test_a_malformed_request_changes_no_call(ringing, code, field, op, data):
    alice, bob, call = ringing("advanced")
    sender = alice if op in ("call.cancel", "call.add") else bob
    before = alice.ok("call.get", call_id=call)["call"]
    check(sender.refused(op, code, call_id=call, **data), field)
    assert alice.ok("call.get", call_id=call)["call"] == before
    alice.quiet()
    bob.quiet()


@pytest.mark.parametrize("message", [
    {"op": "call.list"}, {"id": None, "op": "call.list"}, {"id": True, "op": "call.list"},
    {"id": 1.5, "op": "call.list"}, {"id": LONG, "op": "call.list"}, {"id": [], "op": "call.list"},
])
def test_an_id_that_cannot_be_echoed(agent, message):
    bob = agent.connect("bob")
    bob.send(message)
    assert bob.reply(None)["error"]["code"] == "bad_request"
    bob.quiet()


@pytest.mark.parametrize("field, message", [
    ("op", {"id": 90}), ("op", {"id": 90, "op": 7}),
    ("data", {"id": 90, "op": "call.list", "data": []}),
    ("data", {"id": 90, "op": "call.list", "data": "x"}),
    ("key", {"id": 90, "op": "call.invite", "key": 7, "data": {"invitees": ["bob"]}}),
    ("key", {"id": 90, "op": "call.invite", "key": LONG, "data": {"invitees": ["bob"]}}),
    ("key", {"id": 90, "op": "call.invite", "key": "", "data": {"invitees": ["bob"]}}),
])
def test_a_malformed_envelope_names_the_field(agent, field, message):
    alice = agent.connect("alice")
    alice.send(message)
    error = alice.reply(90)["error"]
    assert (error["code"], error["detail"]["field"]) == ("bad_request", field)
    assert alice.ok("call.list")["calls"] == []


@pytest.mark.parametrize("id_", [0, -7, 2**53, "a", "x" * 64])
def test_every_other_id_is_echoed(agent, id_):
    bob = agent.connect("bob")
    bob.send({"id": id_, "op": "ping"})
    assert bob.reply(id_)["ok"] == {}


def test_null_is_as_good_as_absent(agent):
    alice = agent.connect("alice")
    ok = alice.ok("call.invite", invitees=["bob"], kind=None, timeout_ms=None, extended_data=None)
    call = ok["call"]
    assert (call["kind"], call["timeout_ms"], call["extended_data"]) == ("audio", 90_000, None)


def test_unknown_fields_are_ignored(agent):
    alice = agent.connect("alice")
    alice.send({"id": 90, "op": "call.invite", "colour": "red",
                "data": {"invitees": ["bob"], "weather": {"wind": [1, 2]}}})
    assert "ok" in alice.reply(90)


UNPARSEABLE = [
    "", "hello", "{", '{"id":1,"op":"ping"', '{"id":1,"op":"ping"} x', "[]", "7", "null",
    '"text"', "{'id':1}", '{"id":01,"op":"ping"}', '{"id":1,"op":"pi\nng"}',
    '{"id":1,"op":"\\x41"}', "\ufeff{}",
    '{"id":NaN,"op":"ping"}', '{"id":1,,"op":"ping"}', '{"id":1,"op":"ping",}',
]


@pytest.mark.parametrize("text", UNPARSEABLE, ids=lambda text: repr(text)[:30])
def test_an_unparseable_message_is_answered_and_the_third_closes(agent, text):
    bob = agent.connect("bob")
    for _ in range(2):
        bob.send(text)
        assert bob.reply(None)["error"]["code"] == "bad_request"
    bob.quiet()
    bob.send(text)
    assert bob.closed() == 4200


def test_half_of_a_surrogate_pair_is_refused_under_its_id(agent):
    bob = agent.connect("bob")
    for number in range(5):
        data = '{"invitees":["ann"],"extended_data":"cut \\ud83d"}'
        bob.send(f'{{"op":"call.invite","data":{data},"id":{number}}}')
        error = bob.reply(number)["error"]
        assert (error["code"], error["detail"]["field"]) == ("bad_request", "extended_data")
    bob.quiet()


@pytest.mark.parametrize("depth", [100, 10_000])
def test_deep_nesting_is_no_way_in(agent, depth):
    bob = agent.connect("bob")
    bob.send('{"op":' + "[" * depth + "]" * depth + "}")
    assert bob.reply(None)["error"]["code"] == "bad_request"
    bob.quiet()


def test_a_message_of_64_kib_passes_and_one_byte_more_closes(agent):
    bob = agent.connect("bob")
    text = json.dumps({"id": "big", "op": "ping", "data": {"pad": ""}})
    bob.send(text.replace('""', '"' + "x" * (65_536 - len(text)) + '"'))
    assert bob.reply("big")["ok"] == {}
    bob.send(text.replace('""', '"' + "x" * (65_537 - len(text)) + '"'))
    assert bob.closed() == 1009


def test_extended_data_of_2048_bytes_passes_unchanged(ringing):
    text = '"\\/\u0001 ü€😀' + "x" * 2_030
    text = text.encode()[:2_048].decode()
    alice, bob, call = ringing("common", extended_data=text)
    assert bob.ok("call.get", call_id=call)["call"]["extended_data"] == text


@pytest.mark.parametrize("invitees, code", [
    (["alice"], "self_call"), (["alice", "alice"], "self_call"),
])
def test_calling_oneself(agent, invitees, code):
    alice = agent.connect("alice")
    error = alice.refused("call.invite", code, invitees=invitees)
    assert [one["user"] for one in error["detail"]["errors"]] == invitees
    assert alice.ok("call.list")["calls"] == []


def test_those_who_cannot_be_invited_are_named_and_the_others_ring(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    ok = alice.ok("call.invite", invitees=["alice", "bob", "bob"])
    assert sorted((one["user"], one["code"]) for one in ok["errors"]) == [
        ("alice", "self"), ("bob", "duplicate")]
    bob.event("call.incoming")
    bob.quiet()


def test_an_ack_of_another_type(agent):
    bob = agent.connect("bob")
    for ack in ("7", None, 1.5, [], True):
        bob.send({"ack": ack})
        assert bob.reply(None)["error"]["code"] == "bad_request"
    bob.quiet()


def test_a_message_with_operation_and_ack_is_an_operation(agent):
    bob = agent.connect("bob")
    bob.send({"id": 90, "op": "ping", "ack": "nonsense"})
    assert bob.reply(90)["ok"] == {}


def test_a_malformed_message_before_hello_is_answered(agent):
    stranger = Device(agent.url, "bob", greet=False)
    stranger.send("nonsense")
    assert stranger.reply(None)["error"]["code"] == "bad_request"
    stranger.greet()
