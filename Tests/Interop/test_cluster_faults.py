"""What goes wrong between nodes and their database: a network that swallows or is slow."""

import json
import os
import socket
import subprocess
import time

import pytest

from agent import free_port, wait_for
from calls import invite
from cluster import answers, begin, serving, shown, stands_by, tool
from test_links import linked_config
from way import Way

FULL = bool(os.environ.get("CALLAGENT_FULL"))


@pytest.fixture
def way(nodes, database):
    """What the first node has between it and the database."""
    made = Way(database.port)
    nodes[0].environment["CALLAGENT_DATABASE"] = database.address.replace(
        f"port={database.port}", f"port={made.port}")
    yield made
    made.close()


def test_an_owner_that_is_cut_off_falls_silent_and_another_one_serves(nodes, way):
    begin(nodes)
    first, *others = nodes
    alice = first.connect("alice")
    kept = invite(alice, "bob", timeout_ms=600_000)
    way.swallows = True
    cut = time.monotonic()
    number = alice.post("call.invite", {"invitees": ["carl"], "mode": "advanced"})
    second = serving(others)
    print(f"another one serves after {time.monotonic() - cut:.2f} s")
    assert alice.closed() == 4001
    assert number not in alice.replies or alice.replies[number]["error"]["code"] == "unavailable"
    assert not answers(first)
    listed = [call["call_id"] for call in second.connect("alice").hello["calls"]]
    assert listed == [kept], "what the first one had under way is nowhere"
    way.swallows = False
    wait_for("standing by", lambda: stands_by(first), patience=60)
    assert shown(second)["epoch"] == 2


def test_a_short_cut_leaves_the_owner_its_calls(nodes, way):
    begin(nodes)
    first = nodes[0]
    call = invite(first.connect("alice"), "bob", timeout_ms=600_000)
    way.swallows = True
    with pytest.raises((AssertionError, OSError, TimeoutError, KeyError)):
        first.connect("dora").ok("call.invite", invitees=["carl"], mode="advanced")
    way.swallows = False
    owner = serving(nodes)
    assert call in [one["call_id"] for one in owner.connect("alice").hello["calls"]]


def test_a_slow_database_is_no_dead_owner(nodes, way):
    begin(nodes)
    first = nodes[0]
    alice = first.connect("alice")
    way.delay = 0.05
    begun = shown(nodes[1])["epoch"]
    for _ in range(20 if FULL else 5):
        call = invite(alice, "bob", timeout_ms=600_000)
        alice.ok("call.cancel", call_id=call)
    assert shown(nodes[1])["epoch"] == begun
    assert answers(first)


def messages(node):
    """How often each line stands in a node's log."""
    lines = [json.loads(line)["message"] for line in node.log_text().splitlines()]
    return {line: lines.count(line) for line in lines}


def test_commits_that_fail_again_and_again_do_not_fill_the_log(nodes, database):
    """As on a disk that is full: the tables can be opened, and take nothing."""
    begin(nodes)
    owner, front = nodes[0], nodes[1]
    database.run("""
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON live_call EXECUTE FUNCTION refuse();""")
    asked = 0
    while shown(owner)["epoch"] < 5:  # four commits failed, each of them in an epoch of its own
        owner.post("call.invite", f"u{asked}", {"invitees": ["bob"], "mode": "common"})
        asked += 1
    database.run("DROP TRIGGER refuse ON live_call;")
    wait_for("it works", lambda: owner.post(
        "call.invite", "zoe", {"invitees": ["bob"], "mode": "common"}).status == 200)
    told, elsewhere = messages(owner), messages(front)
    # Each is written once in 10 s, and four failures take six.
    assert told["store failed: nothing is acknowledged until it is back"] <= 2, told
    assert told["store is open again"] <= 2 and told["owns in a new epoch"] <= 2, told
    assert elsewhere["another node owns"] <= 2, elsewhere
    assert "no space is left" in owner.log_text()


def test_an_owner_without_calls_keeps_its_connection(nodes, database):
    """Whoever manages the database may have sessions ended that do nothing."""
    database.run("ALTER ROLE callagent SET idle_session_timeout = '200ms';")
    begin(nodes)
    wait_for("a connection does nothing for long", lambda: database.run(
        "SELECT max(now() - state_change) > '1 s' FROM pg_stat_activity "
        "WHERE usename = 'callagent' AND state = 'idle';") == "t", pause=0.1)
    assert nodes[0].post(
        "call.invite", "alice", {"invitees": ["bob"], "mode": "common"}).status == 200
    assert shown(nodes[0])["epoch"] == 1
    assert "store failed" not in nodes[0].log_text()


def test_a_database_that_went_back_raises_an_alarm(nodes, database):
    """A backup is restored, and nobody has stopped the nodes."""
    begin(nodes)
    at = ["-h", "127.0.0.1", "-p", str(database.port), "-U", "callagent"]
    backup = subprocess.run(
        ["pg_dump", *at, "-n", "callagent", "postgres"], check=True, stdout=subprocess.PIPE,
        text=True).stdout
    for target in "bc":
        assert tool(nodes[0], "hand-over", target)[0] == 0
    wait_for("c serves", lambda: answers(nodes[2]))
    subprocess.run(
        ["psql", "-qX", *at, "postgres"], check=True, stdout=subprocess.DEVNULL, text=True,
        input=f"BEGIN; DROP SCHEMA callagent CASCADE; {backup} COMMIT;")
    said = "the database went back from epoch 3 to "
    for node in nodes:
        node.logs(said)
    wait_for("c has fallen silent", lambda: not answers(nodes[2]))
    owner = serving(nodes[:2])
    alarms = owner.admin("GET", "/admin/v1/status").body["alarms"]
    assert any(said in alarm for alarm in alarms), alarms
    wait_for("the figure", lambda: owner.metrics().get(
        "callagent_cluster_commits_may_be_lost") == 1)
    assert owner.tool("reload", "--config", "callagent.lua")[0] == 0
    wait_for("no alarm", lambda: owner.admin("GET", "/admin/v1/status").body["alarms"] == [])


def test_nodes_wait_where_the_database_is_slow_while_they_take_over(nodes, database):
    """If whoever cannot open the store ended, the next one would end too, until none is left."""
    begin(nodes)
    first, *others = nodes
    call = invite(first.connect("alice"), "bob", timeout_ms=600_000)
    admin = database.session()
    admin.stdin.write("BEGIN; LOCK TABLE kept_reply IN ACCESS EXCLUSIVE MODE; SELECT 'locked';\n")
    admin.stdin.flush()
    assert admin.stdout.readline() == "locked\n"
    first.crash()
    wait_for("one of them waits again", lambda: any(
        "stands by again" in node.log_text() for node in others))
    admin.communicate("ROLLBACK;\n", timeout=30)
    owner = serving(others)
    assert [node.process.poll() for node in others] == [None, None]
    assert call in [one["call_id"] for one in owner.connect("alice").hello["calls"]]


class OneWay(Way):
    """What others say comes through, and nothing of what they are told."""

    def carry(self, near):
        far = socket.create_connection(("127.0.0.1", self.target))
        self.ends += [near, far]
        with near, far:
            try:
                while data := near.recv(65_536):
                    far.sendall(data)
            except OSError:
                pass  # one of them has ended it


def test_a_network_of_one_way_does_not_fill_the_log(nodes):
    """Of two nodes none gives up, so this may last: the front end comes and goes all the time."""
    owner, front = nodes[:2]
    way = OneWay(free_port())
    owner.configure(linked_config(
        "a", way.port, f', bind = "127.0.0.1:{way.target}", link_silence = "500ms"'))
    front.configure(linked_config("b", free_port(), ', link_silence = "500ms"'))
    try:
        owner.start()
        front.launch()
        wait_for("the front end has come often", lambda: len(way.ends) > 20)
        told = messages(owner)
        assert told["front end linked"] <= 2 and told["front end gone"] <= 2, told
    finally:
        way.close()
