"""The management API over TCP: who may ask, what a viewer sees, and what strangers cannot do."""

import contextlib
import http.client
import json
import os
import socket

import pytest

from agent import free_port, job_end, wait_for
from console import ROLES, Console, agent, console, get, port, token

SECRET_WORDS = "the code of the door is 4711"


def test_who_may_ask(console):
    assert console.get("/status").status == 401
    for text in ("", "x.y.z", "dev:ann", token("ann", "operator", secret="x" * 40)):
        reply = console.get("/status", token=text)
        assert reply.status == 401 and reply.headers["WWW-Authenticate"] == "Bearer", text
        assert reply.headers["Connection"] == "close"
    for role in (None, "server", "boss"):
        assert console.get("/status", token=token("ann", role)).status == 403, role
    assert console.get("/status", token=token("ann", "viewer", expires_in=-60)).status == 401
    for role in ("viewer", "operator"):
        assert console.get("/status", token=token("ann", role)).status == 200


def test_a_token_of_the_console_is_no_client_s(agent):
    for role in ("viewer", "operator"):
        reply = agent.request(
            "POST", "/v1/call/list", "{}", {"Authorization": "Bearer " + token("ann", role)})
        assert reply.status == 403, reply.text


def test_a_revoked_token_is_refused(agent, console):
    good = token("ann", "operator", jti="seven")
    assert console.get("/status", token=good).status == 200
    assert agent.admin("POST", "/admin/v1/revoke", {"jti": "seven"}).status == 200
    assert console.get("/status", token=good).status == 401


@pytest.mark.parametrize("headers", [
    {"Host": "evil.example"}, {"Host": "evil.example:7700"}, {"Host": "127.0.0.1.evil.example"},
    {"Host": "0x7f000001"}, {"Host": ""}, {"Origin": "http://evil.example"}, {"Origin": "null"},
    {"Origin": "http://127.0.0.1.evil.example"}, {"Origin": "file://"},
    {"Origin": "http://localhost:80@evil.example"}, {"Origin": "http://localhost/x"},
])
def test_foreign_pages_and_names_are_refused(console, headers):
    for path in ("/admin/v1/status", "/"):
        reply = console.request("GET", path, headers=headers, token=console.operator)
        assert reply.status == 403, (headers, path)


@pytest.mark.parametrize("headers", [
    {"Host": "localhost"}, {"Host": "127.0.0.1:1"}, {"Host": "[::1]:80"},
    {"Origin": "http://localhost:99"}, {"Origin": "http://127.0.0.1"},
])
def test_own_names_are_taken(console, headers):
    assert console.get("/status", token=console.viewer, headers=headers).status == 200


def test_two_hosts_are_none(console):
    lines = (
        "GET /admin/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n"
        f"Authorization: Bearer {console.operator}\r\n\r\n")
    with socket.create_connection(("127.0.0.1", console.port), timeout=10) as raw:
        raw.sendall(lines.encode())
        status = raw.recv(4_096).split(b" ")[1]
    assert status in (b"400", b"403")


def test_the_name_in_the_target_counts(console):
    lines = (
        "GET http://evil.example/admin/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {console.operator}\r\n\r\n")
    with socket.create_connection(("127.0.0.1", console.port), timeout=10) as raw:
        raw.sendall(lines.encode())
        assert raw.recv(4_096).split(b" ")[1] == b"403"


def test_every_answer_protects_the_page(console):
    for path in ("/admin/v1/status", "/nothing", "/admin/v1/nothing"):
        headers = console.request("GET", path, token=console.viewer).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "require-trusted-types-for 'script'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert not any(name.lower().startswith("access-control") for name in headers)
    assert console.get("/status", token=console.viewer).headers["Cache-Control"] == "no-store"


def routes(console):
    """Every method and path, from the document that the routes are made of."""
    document = console.get("/openapi.json", token=console.viewer).body
    for path, row in document["paths"].items():
        for method, described in row.items():
            named = path.replace("{call_id}", "0a" * 16)
            named = named.replace("{job}", "1").replace("{user}", "ann")
            while "{" in named:
                head, rest = named.split("{", 1)
                named = head + "x" + rest.split("}", 1)[1]
            yield method.upper(), named, described["x-role"]


def test_a_viewer_changes_nothing(console):
    found = list(routes(console))
    changing = [one for one in found if one[0] != "GET"]
    assert len(changing) > 12
    for method, path, role in found:
        reply = console.request(method, path, token=console.viewer)
        if method != "GET":
            assert role == "operator" and reply.status == 403, (method, path)
            lowered = console.request(
                method, path, token=console.operator, headers={"X-Role": "viewer"})
            assert lowered.status == 403, (method, path)
        else:
            assert (reply.status == 403) == (role == "operator"), (method, path, reply.text)


@pytest.mark.parametrize("headers, status", [
    (None, 401), ({"Host": "evil.example"}, 403), ({"Origin": "http://evil.example"}, 403)])
def test_no_path_is_open_to_strangers(console, headers, status):
    """Without a token, and with an operator's at a foreign page or under a foreign name."""
    found = list(routes(console))
    assert len(found) > 40
    for method, path, _ in found:
        given = None if headers is None else console.operator
        reply = console.request(method, path, token=given, headers=headers)
        assert reply.status == status, (method, path, reply.status)


def test_nobody_raises_its_role(console):
    reply = console.request(
        "POST", "/admin/v1/reload", token=console.viewer, headers={"X-Role": "operator"})
    assert reply.status == 403
    assert console.get("/status", token=console.viewer, headers={"X-Role": "x"}).status == 400


def test_a_viewer_sees_nothing_of_what_was_said(agent, console):
    ann = agent.connect("ann", token=token("ann"))
    made = ann.ok("call.invite", invitees=["bob"], mode="advanced", extended_data=SECRET_WORDS)
    call_id = made["call_id"]
    paths = [
        "/calls", "/calls?after=0", f"/calls/{call_id}", f"/calls/{call_id}/explain",
        "/history", "/decisions", "/log", "/audit", "/users/ann", "/pushes", "/config"]
    for path in paths:
        reply = console.get(path, token=console.viewer)
        assert reply.status == 200, (path, reply.text)
        assert SECRET_WORDS not in reply.text, path
    assert SECRET_WORDS in console.get("/calls", token=console.operator).text
    ann.ok("call.end", call_id=call_id, extended_data=SECRET_WORDS)
    wait_for("history", lambda: console.get("/history", token=console.operator).body["items"])
    assert SECRET_WORDS not in console.get("/history", token=console.viewer).text
    assert SECRET_WORDS in console.get("/history", token=console.operator).text


def test_a_viewer_sees_no_result_of_a_job(agent, console):
    """An invitation that was tried has what a plugin answered and wrote."""
    (agent.folder / "plugins" / "support.lua").write_text(
        'on.invite(function() return accept { extended_data = "hush" } end)')
    assert console.request("POST", "/admin/v1/reload", {}, token=console.operator).status == 200
    body = {"invite": {"from": "ann", "to": "support"}}
    job = console.request("POST", "/admin/v1/try", body, token=console.operator).body["job"]
    path = f"/jobs/{job}"
    wait_for("the end", lambda: console.get(path, console.operator).body["state"] == "done")
    assert "hush" in console.get(path, console.operator).text
    shown = console.get(path, console.viewer).body
    assert shown == {"job": job, "kind": "try", "by": "olga", "state": "done", "progress": 1.0}


TELLS = """
local cfg = config { key = option.secret(nil, { required = true, min = 32 }) }
on.invite(function() log.info(cfg.key:reverse()) error(cfg.key) end)
test("it", function(t) t.invite { to = "support" } end)
"""


@pytest.mark.parametrize("job, source", [
    ("try", "env:PATH"), ("try", "file:hush"), ("test", "file:there-is-none"),
])
def test_an_operator_far_away_is_told_no_secret(agent, console, job, source):
    """An operator's texts are asked here, where the environment and files of the server are."""
    words = "the words of a file that nobody may read"
    (agent.folder / "hush").write_text(words)
    hush = os.environ["PATH"] if source == "env:PATH" else words
    files = {"plugins/tells.lua": TELLS, "callagent.lua": (
        'answer_for = { "support" }\nplugins = { "tells" }\n'
        f'options["tells"] = {{ key = secret "{source}" }}\n')}
    body = {"invite": {"from": "ann", "to": "support"}} if job == "try" else {}
    begun = console.request(
        "POST", f"/admin/v1/{job}", {**body, "files": files}, token=console.operator)
    end = job_end(begun, lambda path: console.get(path, console.operator))
    text = json.dumps(end)
    # Nor whether there is such a file.
    assert end["state"] == "done" and hush not in text and hush[::-1] not in text, text
    assert job == "test" or f"secret:{source.split(':')[1]}" in text, text


def test_config_shows_no_secret(console):
    text = console.get("/config", token=console.operator).text
    assert "a secret of at least" not in text and "answer_for" in text


def test_the_audit_says_who_did_what(console):
    reply = console.request(
        "POST", "/admin/v1/revoke", {"user": "bob", "issuer": "shop"}, token=console.operator)
    assert reply.status == 200, reply.text
    console.request("POST", "/admin/v1/reload", {"now": True}, token=console.operator)
    console.request("POST", "/admin/v1/reload", token=console.viewer)
    lines = wait_for("three lines", lambda: [
        line for line in [console.get("/audit", token=console.operator).body["items"]]
        if len(line) == 3])[0]
    assert [line["n"] for line in lines] == [3, 2, 1]
    first = lines[2]
    assert first["who"] == "olga" and first["role"] == "operator"
    assert first["from"] == "127.0.0.1" and first["status"] == 200
    assert first["method"] == "POST" and first["path"] == "/admin/v1/revoke"
    assert first["body"] == {"user": "bob", "issuer": "shop"}
    assert lines[1]["status"] == 400 and lines[0]["status"] == 403
    assert lines[0]["who"] == "vera" and lines[0]["role"] == "viewer"
    seen = console.get("/audit", token=console.viewer).body["items"]
    assert [line["body"] for line in seen] == [None] * 3
    # It goes on where it was after a start.
    console.agent.stop()
    console.agent.start()
    console.request("POST", "/admin/v1/shadow/end", token=console.operator)
    again = wait_for("the fourth line", lambda: [
        line for line in console.get("/audit?limit=2", token=console.operator).body["items"]
        if line["n"] == 4])
    assert again[0]["path"] == "/admin/v1/shadow/end"


def test_bodies_in_the_audit_are_bounded_and_without_secrets(console):
    plugin = "-- " + "x" * 100_000
    body = {"files": {"plugins/support.lua": plugin}, "invite": {"from": "a", "token": "geheim"}}
    assert console.request(
        "POST", "/admin/v1/try", body, token=console.operator).status == 202
    long = {"generation": "y" * 200_000}
    assert console.request("POST", "/admin/v1/rollback", long, token=console.operator).status == 400
    lines = wait_for("two lines", lambda: [
        line for line in [console.get("/audit", token=console.operator).body["items"]]
        if len(line) == 2])[0]
    assert all(len(json.dumps(line)) < 4_000 for line in lines)
    kept = lines[1]["body"]
    assert kept["files"]["plugins/support.lua"].startswith("sha256 ")
    assert kept["invite"] == {"from": "a", "token": "***"}
    assert lines[0]["body"].endswith("…")


def test_refused_requests_leave_few_lines(console):
    for _ in range(25):
        assert console.request(
            "POST", "/admin/v1/reload", token=console.viewer).status == 403
    for _ in range(25):
        assert console.request("POST", "/admin/v1/reload", token="x").status == 401
    # At most ten a minute, and a minute may end meanwhile.
    assert len(console.get("/audit", token=console.operator).body["items"]) <= 20
    status = console.get("/status", token=console.operator).body
    assert status["figures"]["refused_strangers"] >= 25


def of_four_connections(agent, port):
    config = ROLES + f'console = {{ listen = "127.0.0.1:{port}", connections = 4 }}\n'
    agent.configure(config, {})
    assert agent.tool("reload")[0] == 0
    return Console(agent, port)


def test_strangers_make_room_for_those_who_showed_a_token(agent, port):
    console = of_four_connections(agent, port)
    with console.open() as kept:
        assert get(kept, "/admin/v1/status", console.operator).status == 200
        strangers = [
            socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(12)]
        for stranger in strangers:
            stranger.sendall(b"GET / HTTP/1.1\r\n")
        assert get(kept, "/admin/v1/status", console.operator).status == 200
        assert console.get("/status", token=console.viewer).status == 200
        for stranger in strangers:
            stranger.close()


def test_who_has_most_connections_makes_room(agent, port):
    console = of_four_connections(agent, port)
    with contextlib.ExitStack() as open_ones:
        many = [open_ones.enter_context(console.open()) for _ in range(4)]
        for one in many:
            assert get(one, "/admin/v1/status", console.viewer).status == 200
        # The operator comes in although a viewer has all places, and keeps the place.
        operator = open_ones.enter_context(console.open())
        assert get(operator, "/admin/v1/status", console.operator).status == 200
        late = open_ones.enter_context(console.open())
        assert get(late, "/admin/v1/status", console.viewer).status == 200
        assert get(operator, "/admin/v1/status", console.operator).status == 200
        for one in many[:2]:
            with pytest.raises((OSError, http.client.HTTPException)):
                get(one, "/admin/v1/status", console.viewer)


def test_a_body_has_a_bound(console):
    reply = console.request(
        "POST", "/admin/v1/try", {"invite": {"x": "y" * 300_000}}, token=console.operator)
    assert reply.status == 413


@pytest.mark.parametrize("config, words", [
    ('console = { listen = "127.0.0.1:0" }', "console without keys"),
    (ROLES + 'console = { listen = "0.0.0.0:7700" }', "origins must say"),
    (ROLES + 'console = { listen = "[::]:7700" }', "origins must say"),
    (ROLES + 'console = { connections = 5 }', "listen is missing"),
    (ROLES + 'console = { listen = "127.0.0.1:7700", tls = { cert = "x" } }', "cert and key"),
    (ROLES + 'console = { listen = "127.0.0.1:7700", tsl = 1 }', "tls"),
    (ROLES + 'console = { listen = "127.0.0.1:7700", connections = 0 }', "connections"),
])
def test_what_cannot_be_is_found_before_a_start(make_agent, config, words):
    agent = make_agent(config + "\n")
    code, text = agent.tool("check", "callagent.lua")
    assert code != 0 and words in text


def test_a_reload_opens_moves_and_closes_it(make_agent):
    agent = make_agent(ROLES).start()
    first, second = free_port(), free_port()
    for port in (first, second):
        agent.configure(ROLES + f'console = {{ listen = "127.0.0.1:{port}" }}\n')
        assert agent.tool("reload")[0] == 0
        console = Console(agent, port)
        assert console.get("/status", token=console.viewer).status == 200
    with pytest.raises(OSError):
        Console(agent, first).get("/status")
    agent.configure(ROLES)
    assert agent.tool("reload")[0] == 0
    with pytest.raises(OSError):
        Console(agent, second).get("/status")


def test_the_tool_mints_tokens_of_both_roles(agent, console):
    for role in ("viewer", "operator"):
        code, text = agent.tool("token", "olga", "--role", role, "--for", "1h")
        minted = text.strip()
        assert code == 0
        assert console.get("/status", token=minted).status == 200
        changed = console.request("POST", "/admin/v1/shadow/end", token=minted).status
        assert changed == (403 if role == "viewer" else 409)
