"""What the OpenAPI document says of a request, and what the server takes: the same."""

import http.client
import json

import jsonschema
import pytest

CALL = "0" * 32
# For each operation data that has its form.
GOOD = {
    "call.invite": {"invitees": ["bob"]}, "call.add": {"call_id": CALL, "invitees": ["bob"]},
    "call.ringing": {"call_id": CALL}, "call.accept": {"call_id": CALL},
    "call.accept_ack": {"call_id": CALL, "user": "bob"}, "call.reject": {"call_id": CALL},
    "call.cancel": {"call_id": CALL}, "call.join": {"call_id": CALL},
    "call.leave": {"call_id": CALL}, "call.end": {"call_id": CALL},
    "call.remove": {"call_id": CALL, "users": ["bob"]},
    "call.transfer": {"call_id": CALL, "to": "bob"},
    "call.report": {"call_id": CALL, "media": "connected"}, "call.media": {"call_id": CALL},
    "call.hold": {"call_id": CALL, "on": True}, "call.items": {"call_id": CALL},
    "call.signal": {"call_id": CALL, "data": 1}, "call.get": {"call_id": CALL}, "call.list": {},
    "call.token": {"call_id": CALL}, "user.get": {"users": ["bob"]},
    "user.set": {"user": "bob", "name": "Bob"},
    "device.push_register": {"provider": "fcm", "token": "t"},
    "device.push_unregister": {"provider": "fcm"}, "bye": {},
}
VALUES = [
    "", "x", "a b", "é", "X" * 32, "x" * 33, "x" * 64, "x" * 65, "x" * 129, "x" * 2_048,
    "x" * 2_049, 0, 1, -1, 999, 1_000, 600_000, 600_001, 30_000, 30_001, 1.5, 2**53 + 1, True,
    False, [], ["bob"], [5], [None], ["a b"], [f"u{number}" for number in range(101)], {},
    {"a": "b"}, {"a": 5}, {"a,b": "c"}, {f"{number}": "" for number in range(11)},
    {"title": "t"}, {"title": 5}, {"payload": "x" * 4_097}, "audio", "declined", "busy", "ringing",
    "ended", "caller", "completed", ["completed"], ["nosuch"], "connected", "apns", "production",
    CALL, "F" * 32, "group:x",
]
# What no schema of JSON can say: cursors are the server's own, tokens the provider's, names are
# text that can be seen, and a subscription comes without a token.
OWN_RULES = {("call.list", "cursor"), ("device.push_register", "provider"), ("user.set", "name"),
             ("device.push_register", "token"), ("device.push_register", "subscription")}


def is_refused_for_its_form(connection, op, data):
    connection.request("POST", "/v1/" + op.replace(".", "/"), json.dumps(data),
                       {"Authorization": "Bearer dev:alice"})
    reply = connection.getresponse()
    body = json.loads(reply.read())
    if reply.status == 200:
        return False
    error = body["error"]
    return error["code"] in ("bad_request", "too_large") and "errors" not in error["detail"]


def test_every_operation_is_tried(agent):
    paths = agent.get("/v1/openapi.json").body["paths"]
    assert {f"/v1/{op.replace('.', '/')}" for op in GOOD} == {
        path for path, row in paths.items() if "post" in row}


@pytest.mark.parametrize("op", GOOD)
def test_the_document_tells_which_data_is_taken(make_agent, op):
    agent = make_agent("limits = { requests_per_second = 100000 }\n").start()
    components = agent.get("/v1/openapi.json").body["components"]
    schema = {"$ref": f"#/components/schemas/{op}.data", "components": components}
    validator = jsonschema.Draft202012Validator(schema)
    fields = components["schemas"][f"{op}.data"].get("properties", {})
    connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=30)
    tried = 0
    for field in fields:
        without = {name: value for name, value in GOOD[op].items() if name != field}
        for data in (without, *(without | {field: value} for value in VALUES)):
            if (op, field) in OWN_RULES and validator.is_valid(data):
                continue
            refused = is_refused_for_its_form(connection, op, data)
            assert refused != validator.is_valid(data), f"{op} {json.dumps(data)[:200]}"
            tried += 1
    assert tried > 0 or not fields
