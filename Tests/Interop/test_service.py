"""Under a service manager: what it hears, the notice before a drain, backups, pages and scripts."""

import configparser
import os
import shutil
import signal
import subprocess
import threading

import pytest

from agent import wait_for
from calls import invite
from cluster import ROOT
from systemd import Manager


@pytest.fixture(params=["path", "abstract"])
def managed(request, make_agent, tmp_path):
    if request.param == "path":
        address = shown = str(tmp_path / "notify")
    else:
        shown = f"@callagent-{tmp_path.name}"
        address = "\0" + shown[1:]
    manager = Manager(address)
    agent = make_agent("")
    agent.environment |= {"NOTIFY_SOCKET": shown, "WATCHDOG_USEC": "200000"}
    yield agent, manager
    manager.close()


def test_the_manager_hears_that_the_server_is_ready_turns_and_ends(managed):
    agent, manager = managed
    agent.start()
    manager.hears("READY=1")
    assert agent.get("/readyz").status == 200
    for _ in range(3):
        manager.hears("WATCHDOG=1")
    agent.signal(signal.SIGTERM)
    assert "STATUS=draining" in manager.hears("STOPPING=1")
    assert agent.wait() == 0


def test_a_manager_with_a_full_queue_hears_of_it_later(make_agent, tmp_path):
    """Else it would wait for `READY=1` and end the server as one that did not start."""
    address = str(tmp_path / "notify")
    manager = Manager(address, busy=True)
    agent = make_agent("")
    agent.environment |= {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "200000"}
    agent.start()
    manager.begin()
    assert "STATUS=serving calls" in manager.hears("READY=1")
    manager.hears("WATCHDOG=1")
    manager.close()


def test_a_stopped_process_says_nothing(managed):
    agent, manager = managed
    agent.start()
    manager.hears("WATCHDOG=1")
    agent.signal(signal.SIGSTOP)
    manager.socket.settimeout(1)
    with pytest.raises(TimeoutError):
        while True:
            manager.socket.recv(4_096)
    agent.signal(signal.SIGCONT)
    manager.socket.settimeout(30)
    manager.hears("WATCHDOG=1")


def test_another_process_is_watched_and_not_this_one(make_agent, tmp_path):
    manager = Manager(str(tmp_path / "notify"))
    agent = make_agent("")
    agent.environment |= {
        "NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "10000", "WATCHDOG_PID": "1"}
    agent.start()
    assert "WATCHDOG=1" not in manager.hears("READY=1")
    agent.stop()
    assert "WATCHDOG=1" not in manager.hears("STOPPING=1")
    manager.close()


@pytest.mark.parametrize("address", ["", "relative", "/" + "x" * 200, "/nowhere/at/all"])
def test_an_address_that_leads_nowhere_changes_nothing(make_agent, address):
    agent = make_agent("")
    agent.environment |= {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "not a number"}
    agent.start()
    assert agent.get("/healthz").status == 200


# The notice before a drain


def test_the_service_is_started_again_for_as_long_as_it_takes():
    """A start on a disk that is read-only ends at once; the fifth in ten seconds was the last."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(ROOT / "examples/package/callagent.service")
    assert unit["Service"]["Restart"] == "on-failure" and unit["Service"]["RestartSec"] == "1"
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"


def test_a_balancer_hears_of_the_end_before_clients_do(make_agent):
    agent = make_agent('limits.drain_notice = "3s"\n').start()
    assert [agent.get("/readyz").status for _ in range(3)] == [200] * 3
    alice = agent.connect("alice")
    agent.signal(signal.SIGTERM)
    wait_for("readyz says no", lambda: agent.get("/readyz").status == 503)
    # Whoever was sent here a moment ago is still served.
    bob = agent.connect("bob")
    invite(alice, "bob")
    bob.event("call.incoming")
    assert alice.closed() == 4001 and bob.closed() == 4001
    assert agent.wait() == 0


def test_a_second_signal_does_not_wait_for_the_notice(make_agent):
    agent = make_agent('limits.drain_notice = "10m"\n').start()
    for _ in range(3):
        agent.get("/readyz")
    alice = agent.connect("alice")
    agent.signal(signal.SIGTERM)
    agent.logs("readyz says no from now on")
    agent.signal(signal.SIGTERM)
    assert alice.closed() == 4001
    assert agent.wait() == 0


@pytest.mark.parametrize("config", ['limits.drain_notice = "0s"\n', ""])
def test_without_a_notice_or_a_balancer_the_drain_begins_at_once(make_agent, config):
    agent = make_agent(config).start()
    if config:
        for _ in range(3):
            agent.get("/readyz")
    agent.stop()
    assert "readyz says no" not in agent.log_text()


# Backups


def test_a_copy_of_a_busy_server_has_what_was_acknowledged(agent, make_agent, tmp_path):
    alice = agent.connect("alice")
    acknowledged = [invite(alice, "bob") for _ in range(5)]
    going = threading.Event()

    def busy():
        while not going.is_set():
            agent.post("call.invite", "mallory", {"invitees": ["eve"], "mode": "advanced"})

    worker = threading.Thread(target=busy)
    worker.start()
    try:
        code, output = agent.tool("backup", str(tmp_path / "copy"))
    finally:
        going.set()
        worker.join()
    assert code == 0 and "bytes" in output, output
    assert [one.name for one in (tmp_path / "copy").iterdir()] == ["callagent.db"]
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "copy" / "callagent.db").stat().st_mode & 0o777 == 0o600
    other = make_agent("", folder="other")
    shutil.copytree(tmp_path / "copy", other.folder / "state")
    other.start()
    kept = {one["call_id"] for one in other.connect("alice").hello["calls"]}
    assert set(acknowledged) <= kept
    # The server itself goes on as if nothing had been.
    alice.ok("call.cancel", call_id=acknowledged[0])


def test_a_copy_of_a_stopped_server(agent, tmp_path):
    call = invite(agent.connect("alice"), "bob")
    agent.stop()
    code, output = agent.tool("backup", str(tmp_path / "copy"))
    assert code == 0, output
    agent.start()
    assert agent.connect("alice").ok("call.get", call_id=call)


def test_a_directory_with_something_in_it_stays_as_it_is(agent, tmp_path):
    (tmp_path / "precious").write_text("x")
    code, output = agent.tool("backup", str(tmp_path))
    assert code == 1 and "is not empty" in output, output
    assert [one.name for one in tmp_path.iterdir() if one.name == "precious"] == ["precious"]
    assert not list(tmp_path.glob("callagent.db*"))


def test_what_fails_leaves_nothing(agent, tmp_path):
    invite(agent.connect("alice"), "bob")
    target = tmp_path / "copy"
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 8; exec "$0" backup "$1"', os.environ["CALLAGENT"], target],
        cwd=agent.folder, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and not target.exists(), done
    code, output = agent.tool("backup", "/proc/nowhere")
    assert code == 1 and "/proc/nowhere" in output, output


def test_nothing_is_kept_in_memory(make_agent, tmp_path):
    agent = make_agent('state_dir = ":memory:"\n')
    code, output = agent.tool("backup", str(tmp_path / "copy"))
    assert code == 1 and ":memory:" in output, output


# Pages and scripts


def commands(agent):
    code, output = agent.tool("--help")
    assert code == 0
    lines = [line for line in output.splitlines() if line.startswith("  ")]
    return [line.split()[0] for line in lines]


def test_every_command_has_a_page_that_man_takes(agent):
    names = commands(agent)
    assert {"run", "backup", "manual", "completion"} <= set(names)
    for words in [[]] + [[name] for name in names]:
        code, page = agent.tool("manual", *words)
        assert code == 0 and page.startswith(".Dd "), page
        _, help_text = agent.tool(*words, "--help")
        for line in help_text.splitlines():
            if line.startswith("  --"):
                assert f".It Fl {line.split()[0][1:]}" in page, (words, line)
        if not shutil.which("mandoc"):
            continue
        lint = subprocess.run(
            ["mandoc", "-T", "lint", "-W", "warning"], input=page, capture_output=True, text=True)
        assert lint.returncode == 0, lint.stdout


def test_bash_completes_commands_and_options(agent):
    code, script = agent.tool("completion", "bash")
    assert code == 0

    def completed(*words):
        line = " ".join(f"'{word}'" for word in words)
        asked = (f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _callagent; "
                 'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert completed("callagent", "rel") == ["reload"]
    assert set(commands(agent)) <= set(completed("callagent", ""))
    assert completed("callagent", "token", "--na") == ["--name"]
    assert completed("callagent", "token", "x") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_their_scripts(agent, shell, tmp_path):
    code, script = agent.tool("completion", shell)
    assert code == 0 and "reload" in script
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell}")
    path = tmp_path / "script"
    path.write_text(script)
    subprocess.run([shell, "-n", path], check=True)


def test_an_unknown_shell_is_named(agent):
    code, output = agent.tool("completion", "tcsh")
    assert code == 2 and "bash, zsh, fish" in output, output
