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


def token(secret=SECRET, algorithm="HS256", kid=None, expires_in=60, **claims):
    """A JWT for bob; claims given as None are left out."""
    head = {"alg": algorithm, "typ": "JWT"} | ({"kid": kid} if kid else {})
    claims = {"sub": "bob", "aud": "calls", "exp": int(time.time()) + expires_in} | claims
    claims = {name: value for name, value in claims.items() if value is not None}
    body = ".".join(encode(json.dumps(part).encode()) for part in (head, claims))
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
    head = ["POST /v1/call/list HTTP/1.1", "Host: localhost", "Content-Length: 2", *lines]
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
          "Access-Control-Request-Headers": "authorization,content-type,idempotency-key,x-device,"
          "traceparent"}


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


def test_without_a_list_every_page_may_ask(guarded):
    bearer = {"Authorization": f"Bearer {token()}"}
    reply = asks_as_a_page(guarded, "null", extra=bearer)
    assert (reply.status, reply.headers["Access-Control-Allow-Origin"]) == (200, "*")
    plain = guarded.request("POST", "/v1/call/list", "{}", bearer)
    assert "Access-Control-Allow-Origin" not in plain.headers


def test_with_development_tokens_only_pages_of_this_machine_may_ask(agent):
    """K113: such tokens let any page be anybody, and a name of its own may point here."""
    own = "http://localhost:8000"
    reply = asks_as_a_page(agent, own)
    assert (reply.status, reply.headers["Access-Control-Allow-Origin"]) == (200, own)
    for page in ("https://evil.example", "null", "http://localhost.evil.example"):
        assert asks_as_a_page(agent, page).status == 403, page
        with pytest.raises(InvalidStatus) as refused:
            connect(agent.url, origin=page)
        assert refused.value.response.status_code == 403
    rebound = asks_as_a_page(agent, own, extra={"Host": f"evil.example:{agent.port}"})
    assert rebound.status == 403
    assert agent.request("GET", "/healthz", None, {"Host": "evil.example"}).status == 200


@pytest.mark.parametrize("named, host, status", [
    ("evil.example", "localhost", 403), ("localhost", "evil.example", 200)])
def test_the_name_in_the_target_counts(agent, named, host, status):
    """K113, and RFC 9112 section 3.2.2: `Host` does not count where the target has a name."""
    raw = RawSocket(agent.port).send((
        f"POST http://{named}/v1/call/list HTTP/1.1\r\nHost: {host}\r\n"
        "Authorization: Bearer dev:bob\r\nContent-Length: 2\r\n\r\n{}").encode())
    assert raw.status_line() == status
    raw.close()


def test_origins_says_otherwise_with_development_tokens(make_agent):
    agent = make_agent('origins = { "*" }\n').start()
    reply = asks_as_a_page(agent, "https://a.example", extra={"Host": "calls.example"})
    assert reply.status == 200


def test_a_server_without_a_name_must_say_for_whom(guarded):
    headers = {"Authorization": f"Bearer {token(sub=None, role='server')}"}
    reply = guarded.request("POST", "/v1/call/list", "{}", headers)
    assert (reply.status, reply.body["error"]["detail"]) == (400, {"field": "X-User"})
    assert guarded.request("POST", "/v1/call/list", "{}", headers | {"X-User": "bob"}).status == 200


@pytest.mark.parametrize("user", ["group:sales", "deleted:bob"])
def test_a_server_acts_for_no_group(guarded, user):
    headers = {"Authorization": f"Bearer {token(role='server')}", "X-User": user}
    reply = guarded.request("POST", "/v1/call/list", "{}", headers)
    error = reply.body["error"]
    assert (reply.status, error["code"]) == (400, "bad_request")
    assert error["detail"] == {"field": "X-User"} and user.split(":")[0] in error["message"]


# How many


def test_one_connection_too_many_is_sent_away(make_agent):
    agent = make_agent("limits = { connections = 3 }\n").launch()
    wait_for("a connection", lambda: reachable(agent))
    wait_for("room", lambda: agent.metrics()["callagent_connections"] == 0)
    guests = [agent.connect(f"user-{number}") for number in range(3)]
    assert not reachable(agent)
    assert agent.metrics()["callagent_refused_connections_total"] >= 1
    guests[0].close()
    wait_for("room for another", lambda: reachable(agent))
    guests[1].ok("ping")


PROXY = 'trusted_proxies = { "127.0.0.0/8", "10.0.0.0/8" }\n'


def from_address(agent, address, user=None):
    """A connection that a proxy passes on for `address`; with a user it says hello."""
    raw = RawSocket(agent.port)
    raw.upgrade(**{"X-Forwarded-For": address})
    if user:
        raw.hello(user)
    return raw


def test_an_address_is_the_one_that_a_trusted_proxy_names(make_agent):
    agent = make_agent(PROXY + "limits = { connections_per_address = 2 }\n").start()
    held = [from_address(agent, "192.0.2.1", f"user-{number}") for number in range(2)]
    assert from_address(agent, "192.0.2.1").status == 429
    held.append(from_address(agent, "192.0.2.2, 10.1.2.3", "other"))
    held += [from_address(agent, None, f"plain-{number}") for number in range(4)]
    held += [from_address(agent, "unknown", f"odd-{number}") for number in range(4)]
    held[0].socket.close()
    wait_for("room", lambda: agent.metrics()["callagent_connections"] == len(held) - 1)
    from_address(agent, "192.0.2.1", "late")


def test_a_proxy_that_nobody_named_locks_nobody_out(make_agent):
    agent = make_agent("limits = { connections_per_address = 1, newcomers_per_address = 1 }\n")
    agent.start()
    held = [from_address(agent, "192.0.2.1", f"user-{number}") for number in range(5)]
    assert agent.metrics()["callagent_connections"] == len(held)


def test_of_those_who_do_not_say_hello_the_oldest_goes(make_agent):
    agent = make_agent(PROXY + 'limits = { newcomers = 3, hello_time = "60s" }\n').start()
    known = agent.connect("alice")
    silent = [RawSocket(agent.port).upgrade() for _ in range(4)]
    assert silent[0].next_frame() is None, "one more than the limit sends the oldest away"
    for number, raw in enumerate(silent[1:]):
        raw.hello(f"user-{number}")
    known.ok("ping")


def test_of_one_address_the_oldest_that_does_not_say_hello_goes(make_agent):
    limits = 'limits = { newcomers_per_address = 2, hello_time = "60s" }\n'
    agent = make_agent(PROXY + limits).start()
    other = from_address(agent, "192.0.2.9")
    mine = [from_address(agent, "192.0.2.1") for _ in range(3)]
    assert mine[0].next_frame() is None
    for number, raw in enumerate((other, mine[1], mine[2])):
        raw.hello(f"user-{number}")


def test_a_tenth_of_all_connections_is_for_those_who_come_back(make_agent):
    agent = make_agent("limits = { connections = 10 }\n").start()
    guests = [agent.connect(f"user-{number}") for number in range(9)]
    stranger = Device(agent.url, "late", greet=False)
    stranger.refused("hello", "unavailable", token="dev:late", device="phone")
    assert stranger.closed() == 4001
    agent.connect("user-0").ok("ping")
    assert guests[0].closed() == 4209


def asks(agent, user):
    """A connection after a request over HTTP of a user, or with a token."""
    raw = RawSocket(agent.port)
    raw.send(f"GET /v1/call/{'0' * 32} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
             f"{user if '.' in user else 'dev:' + user}\r\n\r\n".encode())
    raw.status = raw.status_line()
    return raw


def is_over(raw):
    """Whether the server has ended the connection, if it was not told anything more."""
    raw.buffer = b""
    raw.socket.settimeout(0.2)
    try:
        while raw.socket.recv(65_536):
            pass
        return True
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def test_idle_connections_over_http_give_way(make_agent):
    """K110: one account's connections take nobody's place."""
    agent = make_agent('limits = { connections = 20, connections_per_user = 100 }\n').start()
    bob = agent.connect("bob")
    mine = [asks(agent, "mallory") for _ in range(30)]
    assert [raw.status for raw in mine] == [404] * 30
    agent.connect("carol").ok("ping")
    bob.vanish()
    agent.connect("bob", resume=bob.resume).ok("ping")
    assert agent.get("/readyz").status == 200
    assert is_over(mine[0]) and not is_over(mine[-1])


def test_a_user_has_so_many_connections_over_http(make_agent):
    agent = make_agent("limits = { connections_per_user = 3 }\n").start()
    other = asks(agent, "other")
    mine = [asks(agent, "mallory") for _ in range(5)]
    assert [is_over(raw) for raw in mine] == [True, True, False, False, False]
    assert not is_over(other)


def test_who_is_told_to_wait_has_no_place_of_those_who_are_known(make_agent):
    limits = "limits = { requests_per_second = 1, newcomers = 3 }\n"
    agent = make_agent(KEYS + limits).start()
    good = token()
    first = asks(agent, good)
    late = [asks(agent, good) for _ in range(12)]
    told = [raw for raw in late if raw.status == 429]
    assert first.status == 404 and len(told) > 3
    assert [is_over(raw) for raw in told] == [True] * (len(told) - 3) + [False] * 3
    assert not is_over(first)


def test_where_nobody_gives_way_an_answer_over_http_is_the_last_one(make_agent):
    agent = make_agent("limits = { connections = 10 }\n").start()
    guests = [agent.connect(f"user-{number}") for number in range(9)]
    late = asks(agent, "late")
    assert late.status == 404 and "connection: close" in late.head.lower()
    assert is_over(late)
    guests[0].ok("ping")


def reachable(agent):
    try:
        socket = RawSocket(agent.port)
        socket.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return socket.status_line() == 200
    except OSError:
        return False
