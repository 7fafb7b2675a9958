"""The console at a node that does not own: its pages are there, the owner answers."""

import signal
import subprocess

import pytest

from agent import free_port, job_end, wait_for
from calls import ended, invite
from cluster import answers, owns
from console import ROLES, Console, token
from test_links import linked  # noqa: F401

DESK = 'plugins = { "desk" }\nanswer_for = { "desk" }\n'
BUSY = 'on.invite(function(call) return reject "busy" end)\n'


@pytest.fixture
def consoles(linked, nodes):  # noqa: F811
    """Three nodes, of which the second has a console and does not own."""
    for node in nodes:
        (node.folder / "plugins" / "desk.lua").write_text(BUSY)
    place = free_port()
    owner, b, c = linked(
        config=ROLES + DESK, of_b=f'console = {{ listen = "127.0.0.1:{place}" }}\n')
    return owner, b, c, Console(b, place)


def test_a_console_at_a_front_end_shows_what_the_owner_knows(consoles):
    owner, b, _, console = consoles
    alice = owner.connect("alice", token=token("alice"))
    call = invite(alice, "bob", timeout_ms=600_000)
    page = console.request("GET", "/")
    assert page.status == 200 and "<html" in page.text, page.text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    reply = console.get("/calls", token=console.viewer)
    assert [one["call_id"] for one in reply.body["items"]] == [call], reply.text
    assert reply.headers["X-Node"] == "a" and reply.headers["Cache-Control"] == "no-store"
    you = console.get("/status", token=console.viewer).body["you"]
    assert you == {"name": "vera", "role": "viewer"}
    assert console.get("/status?node=b", token=console.viewer).body["node"] == "b"
    # What changes is waited for as at the owner.
    after = console.get("/calls?after=0", token=console.viewer).body["after"]
    alice.ok("call.cancel", call_id=call)
    changed = console.get(f"/calls?after={after}&wait_ms=20000", token=console.viewer).body
    assert changed["items"][0]["call_id"] == call


def test_who_may_ask_there_the_owner_says(consoles):
    owner, b, _, console = consoles
    for text in (None, "", "x.y.z", "dev:ann", token("ann", "operator", secret="x" * 40),
                 token("ann", "viewer", expires_in=-60)):
        reply = console.get("/status", token=text)
        assert reply.status == 401 and reply.headers["Connection"] == "close", text
    assert console.get("/status", token=token("ann", "server")).status == 403
    assert console.get("/status", token=console.viewer, headers={"Host": "evil"}).status == 403
    call = "/calls/" + "0" * 32 + "/end"
    refused = console.request("POST", "/admin/v1" + call, body={}, token=console.viewer)
    assert refused.status == 403, refused.text
    # A token that is taken back at any node is good at none.
    good = token("ann", "operator", jti="seven")
    assert console.get("/status", token=good).status == 200
    assert owner.admin("POST", "/admin/v1/revoke", {"jti": "seven"}).status == 200
    assert console.get("/status", token=good).status == 401
    lines = owner.admin("GET", "/admin/v1/audit").body["items"]
    assert any(line["path"] == "/admin/v1" + call and (line["who"], line["from"]) == (
        "vera", "node b") for line in lines), lines


def test_a_reload_there_takes_its_files(consoles):
    owner, b, _, console = consoles
    (b.folder / "plugins" / "desk.lua").write_text(BUSY.replace("busy", "declined"))
    path = "/admin/v1/reload"
    for credential, status in ((None, 401), (console.viewer, 403)):
        assert console.request("POST", path, body={}, token=credential).status == status
    brought = {"files": {"callagent.lua": ""}}
    assert console.request("POST", path, body=brought, token=console.operator).status == 400
    # What is replayed there is what a reload there takes, and not what the owner has on its disk.
    begun = console.request("POST", "/admin/v1/replay", body={}, token=console.operator)
    replay = job_end(begun, lambda path: console.get(path, token=console.operator))
    assert replay["state"] == "done", replay
    looked_at = replay["result"]["generation"]
    assert looked_at != owner.admin("GET", "/admin/v1/status").body["generation"]
    other = console.request("POST", path, body={"generation": "x"}, token=console.operator)
    assert other.status == 409 and "replay them again" in other.text, other.text
    done = console.request(
        "POST", path, body={"generation": looked_at}, token=console.operator)
    assert done.status == 200 and done.body["generation"] == looked_at, done.text
    alice = owner.connect("alice", token=token("alice"))
    invite(alice, "desk", mode="common")
    alice.event("call.changed")
    assert ended(alice)[0] == "rejected"


def test_it_says_that_there_is_no_owner_and_goes_on_when_it_owns(consoles):
    owner, b, c, console = consoles
    assert c.stop() == 0
    owner.signal(signal.SIGSTOP)
    wait_for("no owner", lambda: console.get("/status", token=console.viewer).status == 503)
    wait_for("b owns", lambda: owns(b) and answers(b))
    reply = wait_for("its own console", lambda: (
        one := console.get("/status", token=console.viewer)).status == 200 and one)
    assert reply.body["node"] == "b" and "X-Node" not in reply.headers
    owner.signal(signal.SIGCONT)


def test_the_console_command_works_there(consoles):
    owner, b, _, _ = consoles
    asked = b.begin_tool("console", output=subprocess.PIPE)
    try:
        line = asked.stdout.readline().decode()
        place, credential = line.strip().removeprefix("http://127.0.0.1:").split("/#token=")
        mine = Console(b, int(place))
        assert mine.get("/status", token=credential).body["node"] == "a"
    finally:
        asked.terminate()
        asked.wait(10)


def test_a_console_without_keys_is_refused_before_it_owns(linked, nodes):  # noqa: F811
    owner, b, _ = linked()
    assert b.stop() == 0
    b.configure((b.folder / "callagent.lua").read_text().split("\n", 2)[2]
                + f'console = {{ listen = "127.0.0.1:{free_port()}" }}\n')
    b.refuses_to_start()
    assert "console without keys" in b.log_text()
    assert owner.process.poll() is None
