"""Several processes with one PostgreSQL: one serves, the others stand by and take over."""

import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.request

import pytest
from websockets.exceptions import WebSocketException

from agent import free_port, wait_for
from calls import changes, ended, invite, states
from cluster import (
    ROOT, SECRET, Database, answers, begin, serving, shown, stands_by, tool)
from device import Device
from systemd import Manager

# The version of the tables that this program makes.
SCHEMA = 6
READABLE = 5  # the oldest version that a program must know for that


def test_a_killed_owner_is_followed_and_nothing_acknowledged_is_lost(nodes):
    begin(nodes)
    first, *others = nodes
    alice = first.connect("alice")
    calls = [invite(alice, "bob", timeout_ms=600_000) for _ in range(20)]
    gone = alice.ok("call.invite", key="k1", invitees=["carl"], timeout_ms=600_000)["call_id"]
    first.crash()
    killed = time.monotonic()
    second = serving(others)
    gap = time.monotonic() - killed
    print(f"gap: {gap:.2f} s")
    alice = second.connect("alice")
    listed = {call["call_id"] for call in alice.hello["calls"]}
    assert listed == {*calls, gone}
    again = alice.ok("call.invite", key="k1", invitees=["carl"], timeout_ms=600_000)
    assert again["call_id"] == gone, "its key counts there too"
    bob = second.connect("bob")
    bob.ok("call.accept", call_id=calls[0])
    assert states(bob.ok("call.get", call_id=calls[0])["call"])["bob"] == "joined"
    state = shown(second)
    assert state["epoch"] == 2 and state["owner"] in ("b", "c")
    # The one that was killed starts again, and stands by.
    first.launch()
    wait_for("standing by", lambda: stands_by(first))


def test_deadlines_fire_once_at_the_next_owner(nodes):
    begin(nodes)
    first, *others = nodes
    alice = first.connect("alice")
    call = invite(alice, "bob", mode="common", timeout_ms=6_000)
    first.crash()
    second = serving(others)
    alice = second.connect("alice")
    over = wait_for(
        "the end of the ringing",
        lambda: (c := alice.ok("call.get", call_id=call)["call"])["state"] == "ended" and c)
    assert over["end"]["reason"] == "no_answer"
    assert over["ended_at"] - over["created_at"] >= 6_000


def test_an_owner_that_was_stopped_writes_nothing_when_it_goes_on(nodes):
    begin(nodes)
    first, *others = nodes
    alice = first.connect("alice")
    call = invite(alice, "bob", mode="common", timeout_ms=600_000)
    first.signal(signal.SIGSTOP)
    second = serving(others)
    bob = second.connect("bob")
    bob.ok("call.reject", call_id=call)
    # Sent to the one that was stopped: it must not be acknowledged there.
    number = alice.post("call.end", {"call_id": call})
    first.signal(signal.SIGCONT)
    assert alice.closed() == 4001 or alice.closed() is not None
    assert number not in alice.replies or "error" in alice.replies[number]
    wait_for("standing by", lambda: stands_by(first))
    assert second.connect("carl").hello["calls"] == []
    over = bob.ok("call.get", call_id=call)["call"]
    assert (over["end"]["reason"], over["revision"]) == ("rejected", 2)


def test_hand_over_and_a_good_end_need_no_lease_to_run_out(nodes):
    begin(nodes)
    first, second, third = nodes
    alice = first.connect("alice")
    call = invite(alice, "bob", timeout_ms=600_000)
    code, text = tool(third, "hand-over", "c")
    assert (code, text) == (0, "c, epoch 2 owns\n"), text
    wait_for("c serves", lambda: answers(third))
    assert [c["call_id"] for c in third.connect("alice").hello["calls"]] == [call]
    wait_for("standing by", lambda: stands_by(first))
    assert tool(first, "hand-over", "nobody") == (
        1, "callagent: cluster: no living node is 'nobody'\n")
    assert third.stop() == 0
    ready = serving([first, second])
    assert shown(ready)["epoch"] == 3


def test_a_hand_over_to_a_node_that_dies_says_who_owns_instead(nodes):
    begin(nodes)
    # Until it is missed the table says that it lives.
    nodes[1].crash()
    code, text = tool(nodes[0], "hand-over", "b")
    owner = serving([nodes[0], nodes[2]]).folder.name
    assert (code, text) == (
        1, f"callagent: cluster: b did not take over: {owner}, epoch 2 owns\n"), text


def test_a_node_that_is_not_eligible_never_owns(nodes):
    first, second, third = nodes
    text = (second.folder / "callagent.lua").read_text()
    second.configure(text[text.index("cluster"):].replace(" }", ", eligible = false }"))
    second.launch()
    wait_for("standing by", lambda: stands_by(second))
    second.logs('"may_own":"false"')
    first.start()
    found = {node["name"]: node for node in shown(first)["nodes"]}
    assert (found["b"]["eligible"], found["a"]["eligible"]) == (False, True)
    assert found["b"]["why_not"] and found["a"]["why_not"] is None
    assert "  may not own: cluster.eligible is false" in tool(first)[1]
    for words, who in ((["hand-over", "b"], "b may not own"),
                       (["hand-over"], "no other living node may own")):
        assert tool(first, *words) == (
            1, f"callagent: cluster: {who}: cluster.eligible is false in its file\n")
    # Nobody owns for longer than a lease; then whoever may.
    first.crash()
    third.start()
    assert shown(third)["owner"] == "c"
    assert stands_by(second)


def test_a_node_whose_address_is_taken_says_so(nodes):
    """The first of them, and one that would stand by; with a signal it would tell nobody why."""
    first, second, third = nodes
    for node in (second, third):
        with socket.create_server(("127.0.0.1", node.port)):
            node.refuses_to_start()
        assert "already in use" in lines_of(node)[-1]
        if node is second:
            first.start()


@pytest.fixture
def managers(nodes, tmp_path):
    """What a service manager hears of each node."""
    made = []
    for node in nodes:
        place = str(tmp_path / f"notify-{node.folder.name}")
        made.append(Manager(place))
        node.environment |= {"NOTIFY_SOCKET": place, "WATCHDOG_USEC": "400000"}
    yield made
    for manager in made:
        manager.close()


def test_a_node_that_stands_by_is_ready_to_its_manager_and_a_hand_over_is_no_end(nodes, managers):
    begin(nodes)
    (first, second, _), (of_first, of_second, _) = nodes, managers
    assert "STATUS=stands by: a owns" in of_second.hears("READY=1")
    for _ in range(3):
        of_second.hears("WATCHDOG=1")
    second.signal(signal.SIGHUP)
    second.logs("standing by: the files are read when this node owns")
    assert tool(first, "hand-over", "b")[0] == 0
    of_second.hears("STATUS=takes over")
    assert "STATUS=serving calls" in of_second.hears("READY=1")
    of_first.hears("STATUS=hands over")
    assert "STATUS=stands by: b owns" in of_first.hears("READY=1")
    for _ in range(3):
        of_first.hears("WATCHDOG=1")
    assert "STOPPING=1" not in of_first.heard + of_second.heard
    first.signal(signal.SIGTERM)
    of_first.hears("STOPPING=1")
    assert first.wait() == 0


def test_a_node_that_is_to_end_while_it_hands_over_ends(nodes, managers):
    first, second, _ = nodes
    text = (first.folder / "callagent.lua").read_text().split("\n", 2)[2]
    first.configure(text + 'limits.drain_notice = "10m"\n')
    begin(nodes)
    for _ in range(3):
        first.get("/readyz")  # as a load balancer does, which is given its time
    hand_over = subprocess.Popen(
        [os.environ["CALLAGENT"], "cluster", "hand-over", "b"], cwd=second.folder,
        env=second.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    managers[0].hears("STATUS=hands over")
    assert "STOPPING=1" not in managers[0].heard
    first.signal(signal.SIGTERM)
    managers[0].hears("STOPPING=1")
    assert first.wait() == 0
    wait_for("b serves", lambda: answers(second))
    assert hand_over.wait(60) == 0


def test_a_node_that_cannot_serve_leaves_it_to_another_one(nodes):
    begin(nodes)
    first, second, third = nodes
    second.signal(signal.SIGTERM)
    assert second.wait() == 0
    # It can wait, but what it needs to serve is not there.
    second.state = "/proc/nowhere"
    second.configure((second.folder / "callagent.lua").read_text().split("\n", 2)[2])
    second.launch()
    wait_for("standing by", lambda: stands_by(second))
    # It owns for a moment, and then another one does.
    assert tool(third, "hand-over", "b")[1].endswith("owns\n")
    assert second.wait() == 1
    assert serving([first, third])
    assert shown(first)["epoch"] == 3


def balancer_text(port, nodes):
    """The balancer of the page Cluster, on loopback and without TLS."""
    page = (ROOT / "Sources/AgentServer/AgentServer.docc/Cluster.md").read_text()
    block = page.split("## A load balancer", 1)[1].split("```")[1]
    lines = []
    for line in block.strip().splitlines():
        if line.strip().startswith("bind "):
            line = f"  bind 127.0.0.1:{port}"
        if not line.strip().startswith("server "):
            lines.append(line)
    return "\n".join(lines) + "".join(
        f"\n  server {node.folder.name} 127.0.0.1:{node.port} check" for node in nodes) + "\n"


def test_a_load_balancer_sends_clients_to_whoever_serves(nodes, tmp_path):
    begin(nodes)
    port = free_port()
    (tmp_path / "haproxy.cfg").write_text(balancer_text(port, nodes))
    balancer = subprocess.Popen(["/usr/sbin/haproxy", "-f", str(tmp_path / "haproxy.cfg"), "-db"])
    try:
        def connected():
            try:
                return Device(f"ws://127.0.0.1:{port}/v1/ws", "alice", "phone")
            except (OSError, AssertionError, WebSocketException):
                return None

        alice = wait_for("a way through the balancer", connected, pause=0.1)
        call = invite(alice, "bob", timeout_ms=600_000)
        nodes[0].crash()
        alice.closed()
        again = wait_for("a way to the next owner", connected, pause=0.1)
        assert [one["call_id"] for one in again.hello["calls"]] == [call]
        again.close()
    finally:
        balancer.terminate()
        balancer.wait(30)


def test_a_restarted_database_is_waited_for(nodes, database):
    begin(nodes)
    first = nodes[0]
    alice = first.connect("alice")
    call = invite(alice, "bob", timeout_ms=600_000)
    database.control("restart", "-m", "immediate")
    owner = serving(nodes)
    back = wait_for("the call", lambda: call_at(owner, call))
    assert back["state"] == "ringing"


def call_at(node, call):
    try:
        return node.connect("alice").ok("call.get", call_id=call)["call"]
    except (AssertionError, OSError):
        return None


def test_a_single_server_does_not_load_the_library(make_agent, nodes):
    alone = make_agent(folder="alone").start()
    maps = pathlib.Path(f"/proc/{alone.process.pid}/maps").read_text()
    assert "libpq" not in maps
    nodes[0].start()
    assert "libpq" in pathlib.Path(f"/proc/{nodes[0].process.pid}/maps").read_text()


def test_a_state_directory_is_brought_in(make_agent, nodes):
    alone = make_agent(folder="alone").start()
    alice = alone.connect("alice")
    live = invite(alice, "bob", timeout_ms=600_000)
    over = invite(alice, "carl")
    alice.ok("call.cancel", call_id=over)
    assert "in use by process" in tool(nodes[0], "import", str(alone.folder / "state"))[1]
    assert alone.stop() == 0
    wrong = alone.folder / "plugins"
    code, text = tool(nodes[0], "import", str(wrong))
    assert code == 1 and "there is no store in it" in text and not list(wrong.iterdir()), text
    code, text = tool(nodes[0], "import", str(alone.folder / "state"))
    assert code == 0, text
    again, why = tool(nodes[0], "import", str(alone.folder / "state"))
    assert again == 1 and "there are calls already" in why
    alice = nodes[1].start().connect("alice")
    assert [call["call_id"] for call in alice.hello["calls"]] == [live]
    assert [call["call_id"] for call in alice.ok("call.list")["calls"]] == [over, live]


def test_no_node_owns_half_an_import(nodes, database):
    database.run("UPDATE space SET importing = '/old'")
    node = nodes[0].launch()
    node.logs("an import is under way or did not end: no node owns before")
    assert stands_by(node)
    code, text = tool(node)
    assert code == 1 and "the import of /old is under way or did not end" in text, text
    assert shown(node)["importing"] == "/old"
    assert tool(node, "discard")[0] == 0
    wait_for("a serves", lambda: answers(node))
    assert tool(node, "discard") == (
        1, f"callagent: cluster: postgresql://127.0.0.1:{database.port}/postgres: "
           "failed while importing (there is no import that did not end)\n")


def test_a_table_that_is_gone_is_named_where_help_is_looked_for(nodes, database):
    """Doctor and log send to `cluster init`, which makes only what a newer version needs."""
    database.run("DROP TABLE live_call CASCADE;")
    code, said = tool(nodes[0], "init")
    assert code == 1 and "live_call" in said and "restore" in said, said


def test_tables_one_version_newer_are_used_where_they_say_so(nodes, database):
    """The first node of the next version has run `cluster init`; the others follow."""
    first, second, third = nodes
    first.start()
    alice = first.connect("alice")
    call = invite(alice, "bob", timeout_ms=600_000)
    note = f"INSERT INTO migration (version, readable_from) VALUES ({SCHEMA + 1}, %d)"
    database.run(note % SCHEMA)
    second.launch()
    wait_for("standing by", lambda: stands_by(second))
    state = shown(second)
    assert state["database"]["schema"] == SCHEMA + 1
    assert {node["name"]: node["tables"] for node in state["nodes"]} == {"a": SCHEMA, "b": SCHEMA}
    assert f"tables of version {SCHEMA + 1}, for programs from version {SCHEMA} on" in (
        tool(second, "init")[1])
    first.crash()
    wait_for("b serves", lambda: answers(second))
    assert [c["call_id"] for c in second.connect("alice").hello["calls"]] == [call]
    # The version after that has taken something away, which nobody may do while b runs.
    assert second.stop() == 0
    database.run(note.replace(f"{SCHEMA + 1}", f"{SCHEMA + 2}") % (SCHEMA + 1))
    third.refuses_to_start()
    line = lines_of(third)[-1]
    assert f"store version {SCHEMA + 2}, this program knows {SCHEMA}" in line, line
    assert "install a newer callagent on this machine" in line, line
    code, line = tool(third, "init")
    assert code == 1 and "install a newer callagent on this machine" in line, line


def alarms(node):
    return node.admin("GET", "/admin/v1/status").body["alarms"]


def test_a_lost_node_and_other_settings_are_told(nodes):
    first, second, third = nodes
    text = (second.folder / "callagent.lua").read_text().split("\n", 2)[2]
    place = free_port()
    second.configure(
        text + f'origins = {{ "https://x.example" }}\nmetrics = "127.0.0.1:{place}"\n')
    begin(nodes)
    said = "node b has other settings: origins"
    wait_for("other settings", lambda: alarms(first) == [said])
    for figure, value in [("standbys", 2), ("nodes_lost", 0), ("nodes_differing", 1),
                          ("database_synchronous", 0), ("commits_may_be_lost", 0)]:
        assert first.metrics()[f"callagent_cluster_{figure}"] == value, figure
    with urllib.request.urlopen(f"http://127.0.0.1:{place}/metrics") as reply:
        assert b"\ncallagent_standby 1\n" in reply.read()
    assert second.get("/metrics").status == 503, "only where figures are read"
    by_name = {node["name"]: node for node in shown(first)["nodes"]}
    assert by_name["b"]["differs"] == ["origins"] and by_name["c"]["differs"] == []
    assert "  other settings than the owner: origins\n" in tool(first)[1]
    done = subprocess.run(
        [os.environ["CALLAGENT"], "doctor", "--config", "callagent.lua"], cwd=first.folder,
        env=first.environment, capture_output=True, text=True, timeout=60, check=False)
    assert "node b has other settings: origins" in done.stdout + done.stderr, done
    # Whoever is ended is not lost; whoever dies is.
    assert second.stop() == 0
    third.crash()
    lost = "node c is lost: start it, or callagent cluster forget c"
    wait_for("lost", lambda: alarms(first) == [lost])
    assert first.metrics()["callagent_cluster_nodes_lost"] == 1
    assert "c: standby, lost" in tool(first)[1] and "b: standby, ended" in tool(first)[1]
    assert tool(first, "forget", "a")[0] == 1, "it lives"
    wait_for("forgotten", lambda: tool(first, "forget", "c") == (0, "c is forgotten\n"), pause=0.5)
    wait_for("no alarm", lambda: alarms(first) == [])
    assert [node["name"] for node in shown(first)["nodes"]] == ["a", "b"]


def test_another_database_without_a_standby_in_step_raises_an_alarm(nodes, database):
    begin(nodes)
    before = wait_for("its timeline is known", lambda: database.run(
        "SELECT count(*) FROM term WHERE timeline IS NOT NULL") == "1" and shown(nodes[0]))
    assert before["database"] == {"synchronous": False, "timeline": 1, "schema": SCHEMA,
                                  "readable_from": READABLE}
    # A standby becomes the primary: the same data on a new timeline.
    database.control("stop", "-m", "fast")
    (pathlib.Path(database.folder) / "data" / "standby.signal").touch()
    database.control("start")
    database.control("promote")
    owner = serving(nodes)
    said = ("acknowledged calls may be lost: the database changed from timeline 1 to 2 "
            "without a standby in step")
    wait_for("the alarm", lambda: said in alarms(owner))
    assert owner.metrics()["callagent_cluster_commits_may_be_lost"] == 1
    assert shown(owner)["database"]["timeline"] == 2
    assert owner.tool("reload", "--config", "callagent.lua")[0] == 0
    wait_for("no alarm", lambda: said not in alarms(owner))


def lines_of(node):
    return [line for line in node.log_text().splitlines() if line.startswith("callagent:")]


def test_what_is_wrong_is_said_in_one_line_without_the_password(make_agent, database):
    def node(config, address=database.address):
        return make_agent(
            config, folder=f"wrong{free_port()}", environment={"CALLAGENT_DATABASE": address})

    table = 'cluster = { database = secret "env:CALLAGENT_DATABASE"'
    missing = node(table + ' }\n')
    missing.refuses_to_start()
    assert "make them with callagent cluster init" in lines_of(missing)[-1]
    assert len(lines_of(missing)) == 1
    wrong = [
        (table + ', beat = "1s" }\n', database.address, "lease: at least five times beat"),
        (table + ', node = "a b" }\n', database.address, "node: 1 to 64"),
        (table + ', links = "x" }\n', database.address, "unknown field 'links'"),
        ('cluster = { node = "a" }\n', database.address, "database is missing"),
        (table + ' }\n', f"nonsense {SECRET}", "it is no connection string"),
        (table + ' }\n', database.address.replace("callagent", "nobody"), "nobody"),
        (table + ', start_within = "1s" }\n', f"host=127.0.0.1 port=1 password={SECRET}",
         "the database does not answer"),
    ]
    for config, address, words in wrong:
        bad = node(config, address)
        bad.refuses_to_start()
        line = lines_of(bad)[-1]
        assert words in line, line
        assert SECRET not in bad.log_text()


def test_the_language_of_the_database_does_not_matter(make_agent):
    # With these its messages are German, where there are German ones.
    german = Database(
        "lc_messages=C.UTF-8", "max_connections=4", "superuser_reserved_connections=3",
        LANGUAGE="de", LC_ALL="")

    def node(name, address):
        return make_agent(
            'cluster = { database = secret "env:CALLAGENT_DATABASE", start_within = "10m" }\n',
            folder=name, environment={"CALLAGENT_DATABASE": address})

    try:
        wrong = node("wrong", german.address.replace("user=callagent", "user=nobody"))
        wrong.refuses_to_start()
        line = lines_of(wrong)[-1]
        assert "28000" in line and "nobody" in line and SECRET not in line, line
        catalogues = list(pathlib.Path("/usr/share/locale/de").rglob("postgres-*.mo"))
        assert "existiert nicht" in line or not catalogues, line
        missing = node("missing", german.address.replace("dbname=postgres", "dbname=none"))
        missing.refuses_to_start()
        assert "3D000" in lines_of(missing)[-1]
        # No room is something that passes.
        german.run("CREATE ROLE one LOGIN")
        taken = german.session("one")
        waits = node("waits", german.address.replace("user=callagent", "user=one")).launch()
        waits.logs("53300")
        assert waits.process.poll() is None
        assert waits.stop() == 0
        taken.communicate("", timeout=30)
    finally:
        german.close()


def test_the_stored_generation_is_in_force_at_every_node(nodes):
    first, second, _ = nodes
    first.configure(
        (first.folder / "callagent.lua").read_text().split("\n", 2)[2]
        + 'plugins = { "no" }\nanswer_for = { "bob" }\n',
        {"no": 'on.invite(function(call) return reject("from a") end)\n'})
    first.start()
    second.launch()
    wait_for("standing by", lambda: stands_by(second))
    first.crash()
    wait_for("b serves", lambda: answers(second))
    alice = second.connect("alice")
    invite(alice, "bob", mode="common")
    assert changes(alice.event("call.changed"))["bob"][0] == "rejected"
    ended(alice)
    second.logs("going on with the generation last in force")
