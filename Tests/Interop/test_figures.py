"""Figures at an address of their own, and several servers that keep nothing side by side."""

import http.client
import json
import os
import pathlib
import socket
import subprocess
import tempfile

import pytest

from agent import HTTPReply, free_port, wait_for
from calls import invite
from support import ACCEPT, BUSY, SUPPORT, call, rewrite


def ask(port, method, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path)
        return HTTPReply(connection.getresponse())
    finally:
        connection.close()


def test_figures_can_be_read_and_nothing_else(make_agent):
    port = free_port()
    agent = make_agent(SUPPORT + f'metrics = "127.0.0.1:{port}"\n', {"support": ACCEPT}).start()
    call(agent, "ann")
    reply = ask(port, "GET", "/metrics")
    assert reply.status == 200 and "callagent_live_calls 1\n" in reply.text
    assert 'callagent_hook_asked_total{hook="invite",plugin="support"} 1' in reply.text
    assert "_ms " not in reply.text and "callagent_commit_age_seconds" in reply.text
    assert ask(port, "GET", "/healthz").status == 200
    assert ask(port, "GET", "/readyz").status == 200
    head = ask(port, "HEAD", "/metrics")
    assert head.status == 200 and head.text == ""
    for path in ("/", "/v1/ws", "/v1/call/invite", "/admin/v1/status", "/admin/v1/reload"):
        for method in ("GET", "POST"):
            assert ask(port, method, path).status == 404, path
    assert ask(port, "POST", "/metrics").status == 405
    assert agent.get("/metrics").status == 404


def changed(before, after):
    """What has risen, but for columns of histograms and what rises by itself."""
    own = ("process_", "callagent_log_lines", "callagent_commit", "callagent_heap",
           "callagent_store", "callagent_state", "callagent_clock", "callagent_loop")
    return {name: value - before[name] for name, value in after.items()
            if value != before[name] and not name.startswith(own)
            and "_bucket{" not in name and "_sum{" not in name}


def test_every_series_is_there_from_the_start_and_counts(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    before = agent.metrics()
    call_id = invite(alice, "bob", mode="direct")
    bob.event("call.incoming")
    bob.ok("call.accept", call_id=call_id)
    alice.refused("call.join", "wrong_mode", call_id=call_id)
    alice.ok("call.end", call_id=call_id)
    bob.forget()
    alice.forget()
    alice.ok("ping")
    assert agent.post("call.invite", "cid", {"invitees": [], "mode": "common"}).status == 400
    after = agent.metrics()
    assert set(after) == set(before)
    seen = changed(before, after)
    events = {name: seen.pop(name) for name in list(seen) if name.startswith("callagent_events")}
    assert {'callagent_events_total{event="call.incoming"}',
            'callagent_events_total{event="call.ended"}'} <= set(events)
    ops = {"call.invite": 1, "call.accept": 1, "call.join": 1, "call.end": 1, "call.get": 2}
    wanted = {f'callagent_requests_total{{op="{op}"}}': times for op, times in ops.items()}
    wanted |= {f'callagent_request_duration_seconds_count{{op="{op}"}}': times
               for op, times in ops.items()}
    assert seen == wanted | {
        'callagent_requests_total{op="ping"}': 1,
        'callagent_requests_refused_total{code="wrong_mode"}': 1,
        'callagent_requests_refused_total{code="bad_request"}': 1,
        'callagent_requests_refused_total{code="not_found"}': 2,
        'callagent_calls_started_total{mode="direct"}': 1,
        'callagent_calls_ended_total{mode="direct",reason="not_connected"}': 1,
        'callagent_answer_seconds_count{mode="direct"}': 1}
    text = agent.admin("GET", "/metrics").text
    assert not any(word in text for word in ("alice", "bob", "cid", call_id))


def total(metrics, name):
    return sum(value for key, value in metrics.items() if key.startswith(name + "{"))


def test_calls_that_started_have_ended_or_live(bot):
    agent = bot(ACCEPT)
    names = ("common", "advanced", "managed", "direct", "ringing", "group", "handshake")
    people = {name: (agent.connect(f"{name}-a"), agent.connect(f"{name}-b")) for name in names}
    for mode, (caller, callee) in people.items():
        lasting = invite(caller, f"{mode}-b", mode=mode)
        callee.event("call.incoming")
        callee.ok("call.accept", call_id=lasting)
        if mode == "handshake":
            caller.ok("call.accept_ack", call_id=lasting, user=f"{mode}-b")
    for number in range(4):
        caller = agent.connect(f"caller-{number}")
        mode = names[number]
        first = invite(caller, "support", mode=mode)
        # The same request again makes no other call.
        caller.ok("call.invite", key="same", invitees=["nobody"], mode="advanced")
        caller.ok("call.invite", key="same", invitees=["nobody"], mode="advanced")
        assert first
    # The plugin answers after the caller was told that there is a call.
    wait_for("all answers", lambda: total(
        agent.metrics(), "callagent_answer_seconds_count") == 11)
    metrics = agent.metrics()
    started, ended = (total(metrics, f"callagent_calls_{what}_total") for what in
                      ("started", "ended"))
    assert started == 15 and started - ended == metrics["callagent_live_calls"] > 0


def test_reloads_and_certificates_are_told(make_agent):
    agent = make_agent(SUPPORT, {"support": ACCEPT}).start()
    first = agent.metrics()
    assert first["callagent_last_reload_successful"] == 1
    assert not any("tls_not_after" in name for name in first)
    rewrite(agent, "on.invite(")
    assert agent.tool("reload")[0] == 1
    bad = agent.metrics()
    assert bad["callagent_last_reload_successful"] == 0
    assert bad['callagent_reloads_total{result="failure"}'] == 1
    rewrite(agent, BUSY)
    assert agent.tool("reload")[0] == 0
    good = agent.metrics()
    assert good["callagent_last_reload_successful"] == 1
    moment = "callagent_last_reload_timestamp_seconds"
    assert first[moment] == bad[moment] < good[moment]
    generations = [name for metrics in (first, good) for name in metrics
                   if name.startswith("callagent_generation_info")]
    assert len(set(generations)) == 2
    assert good["process_open_fds"] <= good["process_max_fds"]
    assert good["process_start_time_seconds"] <= first[moment]
    assert abs(good["process_resident_memory_bytes"] - agent.resident()) < 64 << 20


@pytest.mark.parametrize("file", ["callagent.lua", "plugins/support.lua"])
def test_a_start_with_files_that_are_not_good_is_told(make_agent, file):
    """It goes on with what was in force, and the files on disk are not: as after a bad reload."""
    agent = make_agent(SUPPORT, {"support": ACCEPT}).start()
    assert agent.stop() == 0
    path = agent.folder / file
    good = path.read_text()
    path.write_text(good + "nonsense\n")
    agent.start()
    assert agent.metrics()["callagent_last_reload_successful"] == 0
    path.write_text(good)
    assert agent.tool("reload")[0] == 0
    assert agent.metrics()["callagent_last_reload_successful"] == 1


def test_those_who_do_not_read_keep_nobody_from_it(make_agent):
    port = free_port()
    agent = make_agent(f'metrics = "127.0.0.1:{port}"\n').start()
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
    for one in idle[30:]:
        try:
            one.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 50)
        except OSError:
            pass
    assert ask(port, "GET", "/metrics").status == 200
    assert agent.get("/healthz").status == 200
    for one in idle:
        one.close()


def test_the_address_of_figures_changes_by_a_reload(make_agent):
    first, second = free_port(), free_port()
    agent = make_agent(f'metrics = "127.0.0.1:{first}"\n').start()
    agent.configure(f'metrics = "127.0.0.1:{second}"\n')
    assert agent.tool("reload")[0] == 0
    assert ask(second, "GET", "/healthz").status == 200
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", first)) != 0
    # One that is taken keeps everything as it was.
    agent.configure(f'metrics = "127.0.0.1:{agent.port}"\n')
    code, text = agent.tool("reload")
    assert code == 1 and "in use" in text, text
    assert ask(second, "GET", "/healthz").status == 200


def test_check_warns_of_figures_that_everybody_can_read(make_agent):
    agent = make_agent('metrics = "0.0.0.0:9464"\n')
    code, text = agent.tool("check")
    assert code == 0 and "callagent.lua:3: metrics" in text, text
    agent.configure('metrics = "127.0.0.1:9464"\n')
    assert "metrics" not in agent.tool("check")[1]


# Nothing kept, side by side


@pytest.fixture
def runtime():
    """The runtime folder of a user, whose sockets have short paths."""
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder)


def tool(agent, *words):
    """A command of the tool that finds the runtime folder of the server."""
    done = subprocess.run(
        [os.environ["CALLAGENT"], *words, "--config", "callagent.lua"], cwd=agent.folder,
        env=agent.environment, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def test_servers_in_memory_run_side_by_side(make_agent, runtime):
    environment = {"XDG_RUNTIME_DIR": str(runtime)}
    agents = [
        make_agent(folder=f"agent-{number}", state=":memory:", environment=environment).start()
        for number in range(3)]
    for number, agent in enumerate(agents):
        caller = agent.connect("ann")
        for _ in range(number):
            invite(caller, "bob", mode="advanced")
    for number, agent in enumerate(agents):
        code, text = tool(agent, "calls", "--json")
        assert code == 0 and len(json.loads(text)["items"]) == number, text
        assert (runtime / f"callagent-{os.getuid()}-{agent.port}.sock").exists()
    agents[0].stop()
    assert tool(agents[1], "calls")[0] == 0


def chosen_port(agent):
    """Where a server listens that was told port 0."""
    lines = [json.loads(line) for line in agent.log_text().splitlines()]
    ready = [line["listen"] for line in lines if line["message"] == "ready"]
    return int(ready[-1].rsplit(":", 1)[1]) if ready else None


def test_servers_whose_port_the_system_chooses_run_side_by_side(make_agent, runtime):
    environment = {"XDG_RUNTIME_DIR": str(runtime)}
    agents = []
    for number in range(2):
        agent = make_agent(folder=f"agent-{number}", state=":memory:", environment=environment)
        agent.port = 0
        agent.configure("")
        agent.launch()
        agent.port = wait_for("a port", lambda: chosen_port(agent))
        agents.append(agent)
    invite(agents[1].connect("ann"), "bob", mode="advanced")
    counts = []
    for agent in agents:
        code, text = tool(agent, "calls", "--json")
        assert code == 0, text
        counts.append(len(json.loads(text)["items"]))
    assert counts == [0, 1]
