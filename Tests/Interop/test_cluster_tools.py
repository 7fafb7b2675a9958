"""The operator's commands at a node that does not own: the owner carries them out."""

import json
import os
import signal
import time

from agent import wait_for
from calls import ended, invite
from cluster import answers, owns, tool
from link import RawLink, counted, word
from preload import preload
from test_admission import KEYS, token
from test_links import linked  # noqa: F401
from test_standstill import HANG

DESK = 'plugins = { "desk" }\nanswer_for = { "desk" }\n'
BUSY = 'on.invite(function(call) return reject "busy" end)\n'


def with_desk(linked, nodes, more=""):  # noqa: F811
    """Three nodes with a plugin; only the first has its file."""
    (nodes[0].folder / "plugins" / "desk.lua").write_text(BUSY)
    return linked(config=DESK + more)


def test_commands_work_at_a_front_end(linked, nodes):  # noqa: F811
    owner, b, _ = with_desk(linked, nodes, KEYS)
    alice = b.connect("alice", token=token(sub="alice"))
    invite(alice, "desk", mode="common")
    alice.event("call.changed")
    assert ended(alice)[0] == "busy"
    call = invite(alice, "bob", timeout_ms=600_000)
    for words in (["calls"], ["plugins"], ["explain", call], ["status"]):
        code, said = b.tool(*words)
        assert code == 0, said
    assert call in b.tool("calls")[1] and "desk" in b.tool("plugins")[1]
    assert "alice" in b.tool("explain", call)[1]
    assert b.tool("end", call)[0] == 0
    ended(alice)
    for words in (["revoke", "alice"], ["forget", "alice", "--yes"]):
        code, said = b.tool(*words)
        assert code == 0, said
    assert alice.closed() == 4102
    assert "alice" not in owner.tool("explain", call)[1]


def test_who_asks_while_the_owner_stops_is_told_what_happened(linked):  # noqa: F811
    owner, b, _ = linked()
    owner.signal(signal.SIGSTOP)
    try:
        code, said = b.tool("calls")
    finally:
        owner.signal(signal.SIGCONT)
    assert code == 1 and "node b lost its owner before that answered" in said, said
    assert "key" not in said, "a tool has none"


def test_what_stands_in_the_database_does_not_paint_the_terminal(nodes, database):
    path = "/old\x1b[2J\x9b31m\u202e\nall is well".encode().hex()
    database.run(f"UPDATE space SET importing = '\\x{path}'")
    code, said = tool(nodes[0])
    assert code == 1 and "/old" in said and "all is well" in said
    assert all(line.isprintable() for line in said.strip().split("\n")), repr(said)
    assert "\nall is well" not in said


def test_doctor_finds_the_process_that_serves_for_the_owner(linked):  # noqa: F811
    """Its secrets are in its environment, and what is in use is in use by it."""
    owner, b, _ = linked()
    for node in (owner, b):
        assert "CALLAGENT_DATABASE" not in os.environ
        said = node.tool("doctor")[1]
        assert f"process {node.process.pid} runs" in said, said
        assert "no server runs" not in said and "in use" not in said and "secret" not in said, said


def test_doctor_says_what_is_true_while_the_database_is_away(linked, database):  # noqa: F811
    """A front end that waits for an owner does not hang: to end it would only hurt its clients."""
    owner, b, _ = linked()
    database.control("-m", "immediate", "stop")
    wait_for("no owner", lambda: b.admin("GET", "/admin/v1/status").status == 503)
    wait_for("it is away", lambda: owner.get("/readyz").status == 503)
    for node in (owner, b):
        code, said = node.tool("doctor")
        assert code == 1 and f"process {node.process.pid} runs and takes no calls" in said, said
        assert "end it" not in said and "does not answer at unix" not in said, said
        line = next(line for line in said.splitlines() if "the database does not answer" in line)
        assert "cluster init" not in line and "look at PostgreSQL" in line, said
    database.control("start")
    for node in (owner, b):
        wait_for("it serves", lambda one=node: answers(one))


def test_doctor_of_a_front_end_compares_what_all_nodes_have(linked, nodes):  # noqa: F811
    """`cluster` and `listen` are each node's own, so callagent.lua is never the owner's."""
    for node in nodes:
        (node.folder / "plugins" / "desk.lua").write_text(BUSY)
    _, b, _ = linked(config=DESK)
    said = b.tool("doctor")[1]
    assert "the files on disk are in force" in said and "not in force" not in said, said
    (b.folder / "plugins" / "desk.lua").write_text(BUSY.replace("busy", "declined"))
    said = b.tool("doctor")[1]
    assert "not in force as on disk: plugins/desk.lua" in said, said


def test_the_audit_names_the_node_and_the_role_holds(linked):  # noqa: F811
    owner, b, _ = linked()
    alice = b.connect("alice")
    call = invite(alice, "bob", timeout_ms=600_000)
    path = f"/admin/v1/calls/{call}/end"
    refused = b.admin("POST", path, {}, {"X-Role": "viewer"})
    assert refused.status == 403, refused.text
    assert b.admin("GET", "/admin/v1/status", headers={"X-Role": "viewer"}).body["you"][
        "role"] == "viewer"
    assert b.admin("GET", "/admin/v1/status", headers={"X-Role": "king"}).status == 400
    done = b.admin("POST", path, {})
    assert (done.status, done.headers["X-Node"]) == (200, "a"), done.text
    lines = owner.admin("GET", "/admin/v1/audit").body["items"]
    assert [line["from"] for line in lines if path in json.dumps(line)] == ["node b", "node b"]
    assert b.admin("GET", "/admin/v1/nonsense").status == 404
    assert b.admin("GET", "/elsewhere").status == 404
    figures = b.admin("GET", "/metrics").text
    assert "callagent_cluster_links 1" in figures
    name = 'callagent_cluster_node_info{node="%s",role="%s"} 1'
    assert name % ("b", "standby") in figures
    assert name % ("a", "owner") in owner.admin("GET", "/metrics").text


def test_a_reload_puts_the_files_of_its_node_into_force(linked, nodes):  # noqa: F811
    owner, b, c = with_desk(linked, nodes)
    alice = c.connect("alice")
    code, said = b.tool("reload")
    assert code == 1 and "plugin 'desk' not found" in said, "it has no such file yet"
    (b.folder / "plugins" / "desk.lua").write_text(BUSY.replace("busy", "declined"))
    before = json.loads(owner.tool("plugins", "--json")[1])["generation"]
    code, said = b.tool("reload")
    assert code == 0, said
    after = json.loads(owner.tool("plugins", "--json")[1])["generation"]
    assert after != before
    invite(alice, "desk", mode="common")
    alice.event("call.changed")
    assert ended(alice)[0] == "rejected"
    # It is what the next owner has too, and the owner's own files count when it reloads.
    (b.folder / "plugins" / "desk.lua").write_text("nonsense")
    code, said = b.tool("reload")
    assert code == 1 and "desk.lua:1" in said, said
    assert b.tool("reload", "--canary", "desk-1")[0] == 1
    assert owner.tool("reload")[0] == 0
    assert json.loads(b.tool("plugins", "--json")[1])["generation"] == before


def test_nobody_but_a_node_brings_files(linked):  # noqa: F811
    owner, b, _ = linked()
    files = {"files": {"callagent.lua": "", "plugins/x.lua": "on.invite(function() end)"}}
    for node in (owner, b):
        reply = node.admin("POST", "/admin/v1/reload", files)
        assert reply.status == 400 and "files" in reply.text, reply.text


def test_without_an_owner_a_command_is_told_so_at_once(linked):  # noqa: F811
    owner, b, c = linked()
    assert b.admin("GET", "/admin/v1/status").status == 200
    waits = b.begin_tool("trace")
    owner.crash()
    began = time.monotonic()
    wait_for("no owner", lambda: b.admin("GET", "/admin/v1/status").status == 503)
    assert time.monotonic() - began < 3
    new = wait_for("another owner", lambda: next(filter(owns, (b, c)), None))
    other = c if new is b else b
    wait_for("it serves", lambda: answers(other))
    reply = other.admin("GET", "/admin/v1/status")
    assert (reply.status, reply.headers["X-Node"]) == (200, new.folder.name)
    waits.terminate()
    waits.wait(10)


def test_a_node_manages_only_with_what_the_database_says(linked, database):  # noqa: F811
    owner, b, _ = linked()
    asked = counted("GET") + counted("/admin/v1/status") + word(0) + counted("")
    change = counted("POST") + counted("/admin/v1/revoke") + word(0) + counted('{"user":"bob"}')
    token = bytes.fromhex(database.run("SELECT encode(token, 'hex') FROM space;"))

    def manager(role, proof):
        return counted("x") + counted(role) + counted(proof)

    # Whoever is on this machine may reach the link, and is no operator thereby.
    stranger = RawLink(owner.place)
    stranger.opens(1)
    for proof in (b"", bytes(16), token[:-1], token[:-1] + bytes([token[-1] ^ 1])):
        stranger.say("manages", word(1) + manager("operator", proof) + asked)
        assert stranger.hear("answers")[4:8] == word(401)
    stranger.say("manages", word(1) + manager("operator", token) + asked)
    assert stranger.hear("answers")[4:8] == word(200)
    stranger.say("manages", word(1) + manager("viewer", token) + change)
    assert stranger.hear("answers")[4:8] == word(403)
    stranger.say("manages", word(1) + manager("king", token) + asked)
    assert stranger.is_ended()
    assert b.connect("alice").ok("ping") == {}


def test_an_owner_that_stands_still_is_not_said_to_serve(nodes):
    """The lease is kept by a thread of its own, which goes on without the loop."""
    owner = nodes[0]
    preload(owner, HANG)
    owner.start()
    assert tool(owner)[0] == 0
    (owner.folder / "awake").touch()
    (owner.folder / "hang").touch()
    wait_for("the loop to hang", (owner.folder / "hangs").exists)
    said = wait_for("what is wrong", lambda: (
        found := tool(owner)) and "its process stands still" in found[1] and found)
    assert said[0] == 1 and said[1].startswith(
        "a, epoch 1 owns and takes no calls: its process stands still\n"), said
    shown = json.loads(tool(owner, "--json")[1])
    assert (shown["owner"], shown["trouble"]) == ("a", "its process stands still")
    (owner.folder / "hang").unlink()
    wait_for("calls", lambda: tool(owner)[0] == 0)
    assert "stands still" not in tool(owner)[1]


def test_another_node_takes_over_from_an_owner_whose_loop_hangs(nodes):
    """It beat on, so that nobody was served until somebody ended the process."""
    owner, other = nodes[:2]
    preload(owner, HANG)
    owner.start()
    other.launch()
    (owner.folder / "awake").touch()
    (owner.folder / "hang").touch()
    wait_for("the loop to hang", (owner.folder / "hangs").exists)
    wait_for("the other one to own", lambda: owns(other), patience=60)
    invite(other.connect("ann"), "bob", mode="advanced")
    (owner.folder / "hang").unlink()
    owner.logs("another node owns")
    wait_for("the owner to stand by", lambda: not owns(owner))
    assert owns(other)
