"""The process: start, refusal to start, drain, crash and restart."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import time

import pytest

from agent import wait_for
from calls import changes, ended, invite, states
from support import SUPPORT


def test_a_file_that_is_not_there_is_named(make_agent):
    code, output = make_agent().tool("run", "nowhere.lua")
    assert code != 0 and "nowhere.lua" in output


def test_sigterm_tells_the_clients_and_ends_with_0(make_agent):
    agent = make_agent().start()
    bob = agent.connect("bob")
    begin = time.monotonic()
    agent.signal(signal.SIGTERM)
    assert bob.closed(timeout=15) == 4001
    assert agent.wait(15) == 0
    assert time.monotonic() - begin < 12
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", agent.port), timeout=1)


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
def test_a_signal_without_a_meaning_ends_nothing(make_agent, number):
    agent = make_agent().start()
    bob = agent.connect("bob")
    agent.signal(number)
    agent.logs("this signal does nothing")
    assert f'"signal":"{number.name}"' in agent.log_text()
    assert bob.ok("ping") == {} and agent.is_ready()


SLOW = """on.invite(function(call) return ring {} end)
on.participant(function(call)
  local sum = 0
  for i = 1, 100000 do sum = sum + i end
  log.info("told")
end)
on.stop(function(event) log.info("stopping") end)
"""


MANY = """limits = { reports_per_cause = 100000, log_lines_per_minute = 100000,
  log_lines_per_cause = 100000, drain = "%s" }
"""


def begin_reports(agent, count):
    """So many calls of 49 invitees each, of which the plugin hears one by one."""
    ann = agent.connect("ann")
    for number in range(count):
        call = invite(ann, *(f"b{number}-{one}" for one in range(49)), mode="group")
        ann.ok("call.cancel", call_id=call)


def test_what_waits_for_the_plugins_is_told_before_the_end(make_agent):
    agent = make_agent(SUPPORT + MANY % "90s", {"support": SLOW}).start()
    begin_reports(agent, 15)
    agent.signal(signal.SIGTERM)
    assert agent.wait(90) == 0
    text = agent.log_text()
    # Every invitee comes and goes, and so does the caller.
    assert text.count('"told"') == 15 * 50 * 2 and "plugins were not told" not in text
    assert text.index('"stopping"') > text.rindex('"told"')


def test_what_the_plugins_cannot_be_told_in_time_is_counted(make_agent):
    slower = SLOW.replace("100000 do", "300000 do")
    agent = make_agent(SUPPORT + MANY % "1s", {"support": slower}).start()
    begin_reports(agent, 15)
    agent.signal(signal.SIGTERM)
    assert agent.wait(20) == 0
    text = agent.log_text()
    (line,) = [line for line in text.splitlines() if "plugins were not told everything" in line]
    assert int(json.loads(line)["events"]) > 100, line
    assert '"stopping"' in text


def test_sigint_ends_it_like_sigterm(make_agent):
    agent = make_agent().start()
    agent.signal(signal.SIGINT)
    assert agent.wait(15) == 0


def test_a_call_survives_a_clean_restart(make_agent):
    agent = make_agent().start()
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    assert agent.stop() == 0
    agent.start()
    bob = agent.connect("bob")
    assert bob.event("call.incoming")["call_id"] == call
    bob.ok("call.accept", call_id=call)


def test_a_crash_while_it_rings_and_the_answer_after_it(make_agent):
    agent = make_agent().start()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode="advanced", timeout_ms=60_000, extended_data="hi")
    bob.event("call.incoming")
    bob.ok("call.ringing", call_id=call)
    before = bob.ok("call.get", call_id=call)["call"]
    resume = alice.resume
    agent.crash()
    agent.start()
    alice = agent.connect("alice", resume=resume)
    assert alice.hello["resumed"] is False
    assert alice.hello["calls"] == [before]
    bob = agent.connect("bob")
    incoming = bob.event("call.incoming")
    assert incoming["call"] == before and 0 < incoming["expires_in_ms"] < 60_000
    bob.ok("call.accept", call_id=call)
    for device in (alice, bob):
        assert changes(device.event("call.changed")) == {"bob": ("joined", None)}
        device.quiet()


def test_a_deadline_goes_on_over_a_crash(make_agent):
    agent = make_agent().start()
    alice = agent.connect("alice")
    invite(alice, "bob", mode="common", timeout_ms=9_000)
    begin = time.monotonic()
    agent.crash()
    # One that began anew would be over after 14 s.
    wait_for("some of it to pass", lambda: time.monotonic() - begin > 5, pause=0.1)
    agent.start()
    alice = agent.connect("alice")
    assert changes(alice.event("call.changed", timeout=15)) == {"bob": ("timed_out", None)}
    assert ended(alice) == ("no_answer", None)
    assert 8 < time.monotonic() - begin < 13


def test_a_deadline_that_passed_while_it_was_down(make_agent):
    agent = make_agent().start()
    call = invite(agent.connect("alice"), "bob", mode="common", timeout_ms=1_000)
    begin = time.monotonic()
    agent.crash()
    wait_for("the deadline", lambda: time.monotonic() - begin > 1.2)
    agent.start()
    alice = agent.connect("alice")
    assert alice.hello["calls"] == []
    got = alice.ok("call.get", call_id=call)["call"]
    assert got["end"]["reason"] == "no_answer" and states(got)["bob"] == "timed_out"


def test_what_was_acknowledged_is_there_after_ten_crashes(make_agent):
    agent = make_agent().start()
    acknowledged = []
    for _ in range(10):
        alice = agent.connect("alice")
        acknowledged.append(invite(alice, "bob", mode="advanced"))
        waiting = [alice.post("call.invite", {"invitees": ["bob"]}) for _ in range(20)]
        acknowledged.append(alice.reply(waiting[0])["ok"]["call_id"])
        agent.crash()
        agent.start()
        alice = agent.connect("alice")
        for call in acknowledged:
            assert alice.ok("call.get", call_id=call)["call"]["state"] == "ringing"


def test_an_ended_call_stays_ended_after_a_crash(make_agent):
    agent = make_agent().start()
    alice = agent.connect("alice")
    call = invite(alice, "bob")
    ended_call = alice.ok("call.cancel", call_id=call)["call"]
    agent.crash()
    agent.start()
    assert agent.connect("alice").ok("call.get", call_id=call)["call"] == ended_call


def test_memory_keeps_nothing(make_agent):
    agent = make_agent(state=":memory:").start()
    call = invite(agent.connect("alice"), "bob")
    assert agent.stop() == 0
    assert not (agent.folder / ":memory:").exists()
    agent.start()
    agent.connect("alice").refused("call.get", "not_found", call_id=call)


# Refusals to start: one clear line, exit code above 0, nothing left running


def test_a_taken_port(make_agent):
    first = make_agent().start()
    second = make_agent(folder="second")
    second.port = first.port
    second.configure("")
    said = second.refuses_to_start()
    assert str(first.port) in said and "in use" in said
    assert first.get("/healthz").status == 200


def test_a_state_folder_in_use(make_agent):
    first = make_agent().start()
    second = make_agent(folder="second", state=str(first.folder / "state"))
    said = second.refuses_to_start()
    assert str(first.process.pid) in said


def test_a_state_folder_in_use_whose_lock_was_deleted(make_agent):
    """As what a crash left over is deleted: two servers would acknowledge, each for itself."""
    first = make_agent().start()
    for name in ("lock", "admin.sock"):
        (first.folder / "state" / name).unlink()
    second = make_agent(folder="second", state=str(first.folder / "state"))
    assert "in use" in second.refuses_to_start()
    assert first.get("/readyz").status == 200


BAD_FILES = {
    "an unknown name": ("lissten_to = 1", ["callagent.lua:3", "lissten_to"]),
    "a misspelt name": ("pluggins = {}", ["callagent.lua:3", "pluggins", "plugins"]),
    "a wrong type": ("plugins = 7", ["callagent.lua:3", "plugins"]),
    "a syntax error": ("plugins = {", ["callagent.lua:"]),
    "an unknown field": ('invite = { defalt = "ring" }', ["callagent.lua:3", "defalt", "default"]),
    "a bad value": ('invite = { default = "sing" }', ["callagent.lua:3", "sing", "ring"]),
    "a bad duration": ('invite = { decide_in = "soon" }', ["callagent.lua:3", "soon"]),
    "a missing plugin": ('plugins = { "bussy" }', ["bussy", "busy"]),
    "a forbidden library": ("os.exit(0)", ["callagent.lua:3", "os"]),
    "an endless loop": ("while true do end", ["callagent.lua:3"]),
    "a bomb of strings": ("local s = 'x' while true do s = s .. s end", ["callagent.lua"]),
    "compiled code": ("\x1bLua", ["callagent.lua"]),
    "an open address without keys": ('listen = "0.0.0.0:0"', ["listen", "auth"]),
    "an address that is none": ('listen = "somewhere"', ["callagent.lua:3", "somewhere"]),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_stops_the_start(make_agent, name):
    text, named = BAD_FILES[name]
    said = make_agent(text + "\n").refuses_to_start()
    for word in named:
        assert word in said, said
    assert len(said.strip().splitlines()) <= 3, said


BAD_PLUGINS = {
    "a syntax error": ("on.invite(function(call)\n", ["bad.lua:"]),
    "a misspelt hook": ("-- bad\non.invte(function() end)\n", ["bad.lua:2", "invte", "on.invite"]),
    "an undeclared global": ("-- bad\nanswer = 1\n", ["bad.lua:2", "answer"]),
    "a forbidden library": ("-- bad\nio.open('x')\n", ["bad.lua:2", "io"]),
    "an endless loop": ("-- bad\nwhile true do end\n", ["bad.lua"]),
    "an error at load": ("-- bad\nerror 'no luck'\n", ["bad.lua:2", "no luck"]),
    "a bomb of strings": ("local s = 'x' while true do s = s .. s end\n", ["bad.lua"]),
    "compiled code": ("\x1bLua", ["bad.lua"]),
}


@pytest.mark.parametrize("name", BAD_PLUGINS)
def test_a_bad_plugin_stops_the_start(make_agent, name):
    text, named = BAD_PLUGINS[name]
    said = make_agent('plugins = { "bad" }\n', {"bad": text}).refuses_to_start()
    for word in named:
        assert word in said, said


def test_after_a_clean_stop_broken_files_do_not_keep_it_down(make_agent):
    agent = make_agent('plugins = { "good" }\n', {"good": "on.invite(function() end)\n"}).start()
    assert agent.stop() == 0
    (agent.folder / "plugins" / "good.lua").write_text("on.invte(function() end)\n")
    agent.start()
    agent.logs("the files on disk are not good")
    agent.logs("did you mean 'on.invite'?")


def test_a_start_that_is_refused_leaves_nothing_behind(make_agent):
    agent = make_agent("pluggins = {}\n")
    agent.refuses_to_start()
    assert {entry.name for entry in agent.folder.iterdir()} == {"callagent.lua", "plugins", "log"}


@pytest.mark.parametrize("name", BAD_PLUGINS)
def test_check_finds_the_same_without_a_server(make_agent, name):
    text, named = BAD_PLUGINS[name]
    agent = make_agent('plugins = { "bad" }\n', {"bad": text})
    code, output = agent.tool("check")
    assert code == 1, output
    for word in named:
        assert word in output, output


def test_check_takes_secrets_from_the_process(make_agent):
    """Whoever is on call has a shell without them, and an alert that sends to this command."""
    config = ('auth = { { alg = "HS256", key = secret "env:CALLAGENT_TEST_KEY" } }\n'
              'plugins = { "good" }\n')
    agent = make_agent(config, {"good": "on.invite(function() end)\n"},
                       environment={"CALLAGENT_TEST_KEY": "a secret " * 5}).start()
    code, said = agent.tool("check")
    assert code == 0, said
    (agent.folder / "plugins" / "good.lua").write_text("on.invite(\n")
    code, said = agent.tool("check")
    assert code == 1 and "good.lua:" in said, said


def test_check_is_content_with_a_good_folder(make_agent):
    good = 'on.invite(function(call) return reject "busy" end)\n'
    agent = make_agent('plugins = { "good" }\n', {"good": good, "unused": good})
    code, output = agent.tool("check")
    assert code == 0, output
    assert "unused" in output, "files that are not loaded are named"


@pytest.mark.parametrize("config, word", [
    ('listen = "0.0.0.0:7600"', "without keys"), ('admin = "0.0.0.0:7700"', "metrics"),
    ('tls = { cert = "none.pem", key = "none.key" }', "none.pem"),
    ('state_dir = ""', "state_dir"),
])
def test_check_refuses_what_a_start_refuses(make_agent, config, word):
    agent = make_agent()
    (agent.folder / "callagent.lua").write_text(config)
    for command in ("check", "run"):
        code, output = agent.tool(command)
        assert code == 1 and word in output, output


def test_a_decision_without_return_is_told(make_agent):
    text = "on.invite(function(call)\nif call.group then reject 'busy' end\nreturn ring {}\nend)\n"
    agent = make_agent('plugins = { "odd" }\n', {"odd": text})
    code, output = agent.tool("check")
    assert code == 1 and "odd.lua:2: 'reject' without 'return' decides nothing" in output, output
    agent.start()
    agent.logs("'reject' without 'return' decides nothing")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_tools_live_without_standard_streams(agent, closed):
    command = f"{shlex.quote(os.environ['CALLAGENT'])} status {closed}"
    assert subprocess.run(["sh", "-c", command], cwd=agent.folder, check=False).returncode == 0


def test_what_cannot_be_written_is_no_success(agent):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [os.environ["CALLAGENT"], "status"], cwd=agent.folder, stdout=full,
            stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1 and b"No space left" in done.stderr


WRONG = [["dance"], ["run", "--loud"], ["call"], ["reload", "x", "y"], ["relaod"]]


@pytest.mark.parametrize("arguments", WRONG)
def test_a_wrong_command_line_is_explained(make_agent, arguments):
    code, output = make_agent().tool(*arguments)
    assert code not in (0, None) and output.strip(), output
    assert re.search(r"usage: callagent|see callagent (\w+ )?--help", output), output


def test_logs_are_one_line_of_json_each_where_no_terminal_is(ringing, agent):
    ringing()
    agent.logs('"ready"')
    lines = agent.log_text().splitlines()
    for line in lines:
        assert isinstance(json.loads(line), dict), line
