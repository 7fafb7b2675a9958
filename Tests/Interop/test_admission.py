"""Who may connect: signed tokens, web pages, how many from where."""

import base64
import hashlib
import hmac
import json
import signal
import time

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from agent import wait_for
from device import Device
from raw import RawSocket

SECRET = "a secret of at least 32 bytes, for tests"
KEYS = f'auth = {{ {{ alg = "HS256", key = "{SECRET}", aud = "calls" }} }}\n'


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(secret=SECRET, algorithm="HS256", expires_in=60, **claims):
    """A JWT for bob; claims given as None are left out."""
    claims = {"sub": "bob", "aud": "calls", "exp": int(time.time()) + expires_in} | claims
    claims = {name: value for name, value in claims.items() if value is not None}
    body = ".".join(
        encode(json.dumps(part).encode()) for part in ({"alg": algorithm, "typ": "JWT"}, claims))
    if algorithm == "none":
        return body + "."
    return body + "." + encode(hmac.digest(secret.encode(), body.encode(), hashlib.sha256))


@pytest.fixture
def guarded(make_agent):
    return make_agent(KEYS).start()


def test_a_signed_token_says_who_one_is(guarded):
    assert guarded.connect("bob", token=token()).hello["user"] == "bob"


BAD_TOKENS = {
    "another secret": {"secret": SECRET + "!"},
    "no algorithm": {"algorithm": "none"},
    "another algorithm": {"algorithm": "HS384"},
    "a public key algorithm": {"algorithm": "RS256"},
    "no expiry": {"exp": None},
    "an expiry that is no number": {"exp": "soon"},
    "expired": {"expires_in": -60},
    "another audience": {"aud": "shop"},
    "no audience": {"aud": None},
    "no user": {"sub": None},
    "a user with a space": {"sub": "a b"},
    "not yet valid": {"nbf": int(time.time()) + 600},
}


@pytest.mark.parametrize("name", BAD_TOKENS)
def test_a_token_that_is_not_good(guarded, name):
    bad = token(**BAD_TOKENS[name])
    stranger = Device(guarded.url, "bob", greet=False)
    stranger.refused("hello", "unauthenticated", token=bad, device="phone")
    assert stranger.closed() == 4203
    headers = {"Authorization": f"Bearer {bad}"}
    reply = guarded.request("POST", "/v1/call/list", "{}", headers)
    assert (reply.status, reply.body["code"]) == (401, "unauthenticated")


def forged(header, claims=None, secret=SECRET):
    """A token with exactly this header, signed with HMAC whatever that says."""
    claims = claims or {"sub": "bob", "aud": "calls", "exp": int(time.time()) + 60}
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode()
             for part in (header, claims)]
    body = ".".join(encode(part) for part in parts)
    return body + "." + encode(hmac.digest(secret.encode(), body.encode(), hashlib.sha256))


OWN = "a key of the stranger, which is long enough"
JWK = {"kty": "oct", "k": encode(OWN.encode())}
FORGED = {
    "a key in the header": forged({"alg": "HS256", "jwk": JWK}, secret=OWN),
    "a place of keys": forged({"alg": "HS256", "jku": "http://127.0.0.1:1/keys"}, secret=OWN),
    "a certificate": forged({"alg": "HS256", "x5u": "http://127.0.0.1:1/"}, secret=OWN),
    "a file as key": forged({"alg": "HS256", "kid": "../../../dev/null"}, secret=""),
    "an extension that must be understood": forged({"alg": "HS256", "crit": ["b64"], "b64": False}),
    "two algorithms": forged(b'{"alg": "none", "alg": "RS256"}'),
    "no object": forged(b'["HS256"]'),
    "an expiry beyond all numbers": forged(
        {"alg": "HS256"}, b'{"sub": "bob", "aud": "calls", "exp": 1e999}'),
    "an expiry before the epoch": forged(
        {"alg": "HS256"}, {"sub": "bob", "aud": "calls", "exp": -1}),
    "a user of 65 bytes": forged(
        {"alg": "HS256"}, {"sub": "x" * 65, "aud": "calls", "exp": int(time.time()) + 60}),
    "a user that is a list": forged(
        {"alg": "HS256"}, {"sub": ["bob"], "aud": "calls", "exp": int(time.time()) + 60}),
    "four parts": forged({"alg": "HS256"}) + ".",
    "padding": forged({"alg": "HS256"}) + "=",
    "nothing": "..",
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_token(guarded, name):
    stranger = Device(guarded.url, "bob", greet=False)
    stranger.refused("hello", "unauthenticated", token=FORGED[name], device="phone")
    assert stranger.closed() == 4203
    headers = {"Authorization": f"Bearer {FORGED[name]}"}
    assert guarded.request("POST", "/v1/call/list", "{}", headers).status == 401


def test_keys_in_the_header_of_a_good_token_are_passed_over(guarded):
    good = forged({"alg": "HS256", "jwk": JWK, "jku": "http://127.0.0.1:1/", "kid": "any"})
    assert guarded.connect("bob", token=good).ok("ping") == {}
    audiences = {"sub": "bob", "aud": ["shop", "calls"], "exp": int(time.time()) + 60}
    assert guarded.connect("bob", token=token(**audiences)).ok("ping") == {}


@pytest.mark.parametrize("field", ["Authorization", "X-User", "X-Device", "Idempotency-Key"])
def test_who_one_is_must_be_said_once(guarded, field):
    """Of two such fields a proxy may have looked at the other one."""
    server = token(sub="backend", role="server")
    values = {"Authorization": f"Bearer {server}", "X-User": "carol", "X-Device": "desk",
              "Idempotency-Key": "one"}
    lines = [f"{name}: {value}" for name, value in values.items()]
    head = ["POST /v1/call/list HTTP/1.1", "Host: a", "Content-Length: 2", *lines]
    raw = RawSocket(guarded.port).send(("\r\n".join(head) + "\r\n\r\n{}").encode())
    assert raw.status_line() == 200
    head.append(f"{field}: {values[field]}")
    raw = RawSocket(guarded.port).send(("\r\n".join(head) + "\r\n\r\n{}").encode())
    assert raw.status_line() == 400


def test_development_tokens_are_over_when_there_are_keys(guarded):
    stranger = Device(guarded.url, "bob", greet=False)
    stranger.refused("hello", "unauthenticated", token="dev:bob", device="phone")
    assert stranger.closed() == 4203


def test_a_token_that_runs_out_ends_the_connection(guarded):
    bob = guarded.connect("bob", token=token(expires_in=-3))
    assert bob.closed(timeout=8) == 4101
    again = guarded.connect("bob", token=token(), resume=bob.resume)
    assert again.hello["resumed"] is True


def test_a_server_acts_for_its_users_over_http_only(guarded):
    server = token(sub="backend", role="server")
    headers = {"Authorization": f"Bearer {server}", "X-User": "carol"}
    body = json.dumps({"invitees": ["bob"]})
    reply = guarded.request("POST", "/v1/call/invite", body, headers)
    assert (reply.status, reply.body["call"]["caller"]) == (200, "carol")
    headers["Authorization"] = f"Bearer {token()}"
    reply = guarded.request("POST", "/v1/call/invite", body, headers)
    assert (reply.status, reply.body["code"]) == (403, "forbidden")
    stranger = Device(guarded.url, "backend", greet=False)
    stranger.refused("hello", "forbidden", token=server, device="phone")
    assert stranger.closed() == 4203


# Web pages

PAGES = 'origins = { "https://app.example.com" }\n'


def opens(agent, origin):
    """Whether a page of this origin gets its WebSocket."""
    try:
        with connect(agent.url, origin=origin, open_timeout=5):
            return True
    except InvalidStatus as refused:
        assert refused.response.status_code == 403
        return False


def test_only_pages_of_these_origins_may_connect(make_agent):
    agent = make_agent(PAGES).start()
    assert opens(agent, "https://app.example.com") and opens(agent, "HTTPS://APP.example.com")
    for origin in ("https://example.com", "http://app.example.com", "null",
                   "https://app.example.com:8443", "https://app.example.com.evil.org"):
        assert not opens(agent, origin), origin
    assert opens(agent, None), "what is no page has no origin"


def test_a_reload_changes_who_may_connect(make_agent):
    agent = make_agent(PAGES).start()
    assert not opens(agent, "https://other.example.com")
    agent.configure('origins = { "https://other.example.com" }\n')
    agent.signal(signal.SIGHUP)
    wait_for("the new origin", lambda: opens(agent, "https://other.example.com"))
    assert not opens(agent, "https://app.example.com")


ACCEPT = {"Access-Control-Request-Method": "POST",
          "Access-Control-Request-Headers": "authorization,content-type,idempotency-key,x-device"}


def asks_as_a_page(agent, origin, method="POST", path="/v1/call/list", extra=None):
    headers = {"Origin": origin, "Authorization": "Bearer dev:alice"} | (extra or {})
    return agent.request(method, path, "{}" if method == "POST" else None, headers)


def test_pages_may_use_http_like_the_websocket(make_agent):
    agent = make_agent(PAGES).start()
    page = "https://app.example.com"
    before = asks_as_a_page(agent, page, "OPTIONS", extra=ACCEPT)
    assert (before.status, before.text) == (204, "")
    assert before.headers["Access-Control-Allow-Origin"] == page
    assert "POST" in before.headers["Access-Control-Allow-Methods"]
    allowed = before.headers["Access-Control-Allow-Headers"].lower().split(", ")
    assert set(ACCEPT["Access-Control-Request-Headers"].split(",")) <= set(allowed)
    assert "x-user" not in allowed
    for path, status in (("/v1/call/list", 200), ("/v1/call/get", 400)):
        reply = asks_as_a_page(agent, page, path=path)
        assert reply.status == status
        assert reply.headers["Access-Control-Allow-Origin"] == page
        assert reply.headers["Vary"] == "Origin"
    refused = asks_as_a_page(agent, "https://evil.example")
    assert (refused.status, refused.body["code"]) == (403, "forbidden")
    assert refused.headers["Access-Control-Allow-Origin"] is None
    assert asks_as_a_page(agent, "https://evil.example", "OPTIONS", extra=ACCEPT).status == 403
    assert agent.post("call.list", "alice", {}).status == 200, "what is no page has no origin"


def test_without_a_list_every_page_may_ask(agent):
    assert asks_as_a_page(agent, "null").headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Origin" not in agent.post("call.list", "alice", {}).headers


def test_a_server_without_a_name_must_say_for_whom(guarded):
    headers = {"Authorization": f"Bearer {token(sub=None, role='server')}"}
    reply = guarded.request("POST", "/v1/call/list", "{}", headers)
    assert (reply.status, reply.body["error"]["detail"]) == (400, {"field": "X-User"})
    assert guarded.request("POST", "/v1/call/list", "{}", headers | {"X-User": "bob"}).status == 200


# How many


@pytest.mark.parametrize("limit", ["connections_per_address", "connections"])
def test_one_connection_too_many_is_sent_away(make_agent, limit):
    agent = make_agent(f"limits = {{ {limit} = 3 }}\n").launch()
    wait_for("a connection", lambda: reachable(agent))
    wait_for("room", lambda: agent.metrics()["callagent_connections"] == 0)
    guests = [agent.connect(f"user-{number}") for number in range(3)]
    assert not reachable(agent)
    assert agent.metrics()["callagent_refused_connections_total"] >= 1
    guests[0].close()
    wait_for("room for another", lambda: reachable(agent))
    guests[1].ok("ping")


def reachable(agent):
    try:
        socket = RawSocket(agent.port)
        socket.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        return socket.status_line() == 200
    except OSError:
        return False
