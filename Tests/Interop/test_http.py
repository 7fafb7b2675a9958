"""The same operations over HTTP, and the pages for operators."""

import gzip
import http.client
import json
import socket
import urllib.parse

import pytest

from calls import changes, ended, invite
from raw import RawSocket


def test_health_and_readiness(agent):
    assert agent.get("/healthz").status == 200
    assert agent.get("/readyz").status == 200


@pytest.mark.parametrize("kind", ["openapi", "asyncapi"])
def test_the_protocol_is_described(agent, kind):
    reply = agent.get(f"/v1/{kind}.json")
    assert reply.status == 200 and reply.body[kind].startswith("3.1")
    text = json.dumps(reply.body)
    assert "call.invite" in text or "/v1/call/invite" in text


def test_what_is_read_is_answered_as_it_is_described(agent):
    paths = agent.get("/v1/openapi.json").body["paths"]
    read = [path for path, row in paths.items() if "get" in row and "{" not in path]
    assert {"/healthz", "/readyz", "/metrics", "/v1/push/web-key"} <= set(read)
    for path in read:
        reply, responses = agent.get(path), paths[path]["get"]["responses"]
        described = responses.get(str(reply.status))
        assert described, f"{path}: {reply.status} is not among {list(responses)}"
        kind = reply.headers["Content-Type"].split(";")[0]
        if reply.status == 200:
            assert kind in described["content"], path
    assert "503" in paths["/readyz"]["get"]["responses"]


def test_the_numbers_are_for_the_operator_only(agent):
    assert agent.get("/metrics").status == 404
    assert agent.metrics()["callagent_ready"] == 1


def test_a_call_without_any_websocket(agent):
    placed = agent.post("call.invite", "alice", {"invitees": ["bob"], "mode": "advanced"})
    assert placed.status == 200 and placed.body["errors"] == []
    call = placed.body["call_id"]
    assert agent.post("call.ringing", "bob", {"call_id": call}).body == {}
    accepted = agent.post("call.accept", "bob", {"call_id": call}, device="watch")
    assert accepted.body["call"]["state"] == "active"
    got = agent.get(f"/v1/call/{call}", "alice")
    assert got.status == 200 and got.body["call"] == accepted.body["call"]
    devices = {one["user"]: one["device"] for one in got.body["call"]["participants"]}
    assert devices == {"alice": "http", "bob": "watch"}
    assert agent.post("call.end", "alice", {"call_id": call}).body["call"]["state"] == "ended"


def test_a_woken_phone_answers_with_one_request(agent):
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="common")
    assert agent.post("call.reject", "bob", {"call_id": call, "reason": "busy"}).status == 200
    assert changes(alice.event("call.changed")) == {"bob": ("rejected", "busy")}
    assert ended(alice) == ("busy", None)


def problem(reply, status, code):
    assert reply.status == status, reply.text
    assert reply.headers["Content-Type"].split(";")[0] == "application/problem+json"
    assert reply.body["code"] == code and reply.body["status"] == status
    return reply.body


@pytest.mark.parametrize("operation, data, status, code", [
    ("call.invite", {}, 400, "bad_request"),
    ("call.invite", {"invitees": ["alice"]}, 409, "self_call"),
    ("call.invite", {"invitees": ["bob"], "extended_data": "x" * 2_049}, 413, "too_large"),
    ("call.accept", {"call_id": "0" * 32}, 404, "not_found"),
    ("call.dance", {}, 409, "unsupported"),
])
def test_errors_are_problem_documents(agent, operation, data, status, code):
    problem(agent.post(operation, "alice", data), status, code)


def test_conflicts_have_their_own_code(ringing, agent):
    _, bob, call = ringing("common")
    problem(agent.post("call.leave", "alice", {"call_id": call}), 409, "wrong_mode")
    problem(agent.post("call.accept", "carol", {"call_id": call}), 403, "not_invited")
    bob.ok("call.accept", call_id=call)
    problem(agent.post("call.accept", "bob", {"call_id": call}), 409, "already_answered")
    problem(agent.get(f"/v1/call/{call}", "carol"), 404, "not_found")


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic ZGV2OmJvYg==",
                                    "Bearer bob", "Bearer dev:", "Bearer dev:a b"])
def test_without_a_good_token_nothing_is_told(agent, header):
    headers = {} if header is None else {"Authorization": header}
    reply = agent.request("GET", "/v1/call/" + "0" * 32, headers=headers)
    problem(reply, 401, "unauthenticated")
    assert "Bearer" in reply.headers["WWW-Authenticate"]


def test_who_has_said_all_still_hears_the_answer(agent):
    body = b'{"invitees": ["bob"], "mode": "advanced"}'
    raw = RawSocket(agent.port).send(
        b"POST /v1/call/invite HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer dev:alice\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body) + body)
    raw.socket.shutdown(socket.SHUT_WR)
    assert raw.status_line() == 200
    while raw.read_more():
        pass
    assert json.loads(raw.buffer)["call_id"]


def test_strangers_are_not_told_what_is_wrong_with_the_form(agent):
    for body in (b"{", b"{}", b'{"invitees": 5}'):
        problem(agent.request("POST", "/v1/call/invite", body, {}), 401, "unauthenticated")


def test_a_packed_body_is_not_called_bad_json(agent):
    headers = {"Authorization": "Bearer dev:alice", "Content-Encoding": "gzip"}
    packed = gzip.compress(b'{"invitees": ["bob"]}')
    reply = agent.request("POST", "/v1/call/invite", packed, headers)
    problem(reply, 400, "bad_request")
    assert reply.body["error"]["detail"] == {"field": "Content-Encoding"}
    headers["Content-Encoding"] = "identity"
    assert agent.request("POST", "/v1/call/list", b"{}", headers).status == 200


@pytest.mark.parametrize("method", ["POST", "OPTIONS"])
@pytest.mark.parametrize("path", ["/v1/call/", "/v1/user/", "/v1/device/"])
def test_half_an_operation_is_no_path(agent, method, path):
    problem(agent.request(method, path, headers={"Authorization": "Bearer dev:alice"}),
            404, "not_found")


@pytest.mark.parametrize("body", ["", "{", "[]", "null", "{} {}", '"text"', "\ufeff{}"])
def test_a_body_that_is_no_object_is_refused(agent, body):
    headers = {"Authorization": "Bearer dev:alice", "Content-Type": "application/json"}
    reply = agent.request("POST", "/v1/call/invite", body.encode(), headers)
    problem(reply, 400, "bad_request")


def test_a_body_over_the_limit_is_refused(agent):
    headers = {"Authorization": "Bearer dev:alice", "Content-Type": "application/json"}
    reply = agent.request("POST", "/v1/call/invite", b" " * 65_537, headers)
    problem(reply, 413, "too_large")


def test_unknown_paths_and_methods(agent):
    assert agent.get("/nowhere").status == 404
    assert agent.request("DELETE", "/healthz").status == 405
    assert agent.request("GET", "/v1/call/invite/too/deep").status == 404


def test_one_connection_serves_many_requests(agent):
    connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=5)
    headers = {"Authorization": "Bearer dev:alice", "Content-Type": "application/json"}
    body = json.dumps({"invitees": ["bob"]})
    for _ in range(20):
        connection.request("POST", "/v1/call/invite", body, headers)
        reply = connection.getresponse()
        assert reply.status == 200
        reply.read()
    connection.close()


def test_the_page_in_a_list_goes_through_http_too(agent):
    for _ in range(3):
        agent.post("call.invite", "alice", {"invitees": ["bob"]})
    page = agent.post("call.list", "alice", {"limit": 2}).body
    rest = agent.post("call.list", "alice", {"limit": 2, "cursor": page["cursor"]}).body
    assert len(page["calls"]) == 2 and len(rest["calls"]) == 1 and rest["cursor"] is None


def test_a_path_cannot_leave_its_place(agent):
    for path in ("/v1/../healthz", "/v1/call/" + urllib.parse.quote("../../x", safe="")):
        assert agent.get(path, "alice").status in (400, 404, 405)


def test_who_comes_by_a_foreign_name_is_told_that_it_is_the_name(agent):
    """It is no page, and would look for the wrong thing."""
    reply = agent.request("GET", "/v1/openapi.json", headers={"Host": "calls.example"})
    assert reply.status == 403 and "Host" in reply.body["detail"], reply.text
    page = {"Host": "127.0.0.1", "Origin": "https://calls.example"}
    reply = agent.request("GET", "/v1/openapi.json", headers=page)
    assert reply.status == 403 and "pages of this origin" in reply.body["detail"], reply.text
