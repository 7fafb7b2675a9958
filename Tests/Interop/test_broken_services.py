"""Push services that answer nonsense: phones keep their registrations, the operator sees why."""

import contextlib
import socket
import ssl
import threading

import pytest

from agent import wait_for
from double import token
from test_push import invite, register, settled

PAINT = "\x1b[2J\x9b31m\u202e\u2028\nNow"


def test_what_a_service_says_does_not_paint_the_terminal(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "apns", token("a1"))
    double.plan("a1", {"status": 400, "reason": PAINT})
    call = invite(agent.connect("alice"), "bob")
    settled(agent, failed=1)
    code, said = agent.tool("explain", call)
    assert code == 0 and said.count("misconfigured: 400") == 2, said
    for line in said.splitlines():
        assert line.isprintable(), line


def test_a_word_without_end_is_kept_short(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "apns", token("a1"))
    double.plan("a1", {"status": 400, "reason": "x" * 60_000})
    call = invite(agent.connect("alice"), "bob")
    settled(agent, failed=1)
    found = agent.admin("GET", f"/admin/v1/calls/{call}/explain").body
    assert len(found["pushes"][0]["result"]) < 200
    assert "x" * 200 not in agent.log_text()


def test_an_access_token_that_is_none_does_not_end_pushes(pusher, double):
    """Google says that it is good for a day."""
    agent = pusher()
    register(agent, "bob", "phone", "fcm", "fcm-1")
    double.plan("oauth", {"status": 200, "body": '{"access_token":"a\\nb","expires_in":86400}'}, {})
    invite(agent.connect("alice"), "bob")
    settled(agent, sent=1)


def test_a_gateway_that_calls_all_tokens_dead_silences_few_phones(pusher, double):
    agent = pusher()
    users = [f"user{number}" for number in range(30)]
    for user in users:
        register(agent, user, "phone", "webhook", f"{user}-token")
    double.plan("gateway", {"status": 410})
    alice = agent.connect("alice")
    for count, user in enumerate(users, 1):
        call = invite(alice, user)
        settled(agent, failed=count)
    metrics = agent.metrics()
    assert metrics["callagent_push_tokens_removed_total"] == 19
    assert "doubted: 410" in agent.tool("explain", call)[1]
    agent.logs("doubted: 410")
    double.plan("gateway")
    alice.ok("call.cancel", call_id=call)
    for user in users[19:]:
        invite(alice, user)
    wait_for("the phones ring", lambda: agent.metrics()["callagent_pushes_sent_total"] >= 11)


def frame(kind, stream=0, payload=b"", flags=0):
    """A frame of HTTP/2."""
    head = len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
    return head + payload


DATA, HEADERS, PRIORITY, SETTINGS, UNKNOWN = 0, 1, 2, 4, 254
END_HEADERS = 4
SUCCESS = frame(HEADERS, 1, b"\x88", END_HEADERS)


@contextlib.contextmanager
def flood(double, begin, frames):
    """A push service that answers a request by frames without end: its address, and whether it
    has begun."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(double.folder / "good.crt", double.folder / "good.key")
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0))
    over, flows = threading.Event(), threading.Event()

    def pour():
        with contextlib.suppress(OSError):
            while not over.is_set():
                plain, _ = listener.accept()
                with contextlib.suppress(OSError), context.wrap_socket(
                        plain, server_side=True) as line:
                    line.sendall(frame(SETTINGS))
                    heard = b""
                    while len(heard) < 600:  # the request, sealed
                        heard += line.recv(65_536)
                    line.sendall(frame(SETTINGS, flags=1) + begin)
                    while not over.is_set():
                        line.sendall(frames)
                        flows.set()

    thread = threading.Thread(target=pour, daemon=True)
    thread.start()
    yield f"https://localhost:{listener.getsockname()[1]}", flows
    over.set()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(30)


@pytest.mark.parametrize("begin, frames", [
    pytest.param(SUCCESS, frame(DATA, 1), id="empty data"),
    pytest.param(b"", frame(PRIORITY, 1, b"\0\0\0\0\x10"), id="priorities"),
    pytest.param(b"", frame(UNKNOWN), id="unknown frames"),
])
def test_a_service_that_sends_frames_without_end_is_not_felt_by_others(
        pusher, double, begin, frames):
    """Any user may name a service of his own; libcurl reads until nothing more is there."""
    agent = pusher()
    register(agent, "bob", "phone", "fcm", "fcm-1")
    alice, mallory = agent.connect("alice"), agent.connect("mallory")
    with flood(double, begin, frames * 5_000) as (address, flows):
        subscription = double.subscription("x") | {"endpoint": f"{address}/x"}
        register(agent, "sleeper", "phone", "web", subscription)
        invite(mallory, "sleeper")
        for _ in range(3):
            assert flows.wait(30)
            before = sent(agent)
            call = invite(alice, "bob")
            wait_for("bob's push", lambda least=before: sent(agent) > least, patience=5)
            alice.ok("call.cancel", call_id=call)


def sent(agent):
    return agent.metrics()["callagent_pushes_sent_total"]
