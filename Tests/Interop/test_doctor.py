"""`callagent doctor`: it finds what is wrong, running or stopped, and says what to do."""

import os
import re
import resource
import sqlite3
import subprocess
import time

import pytest

from agent import as_other_user, wait_for
from clock import WrongClock
from preload import preload
from test_admission import KEYS, token
from test_tls import CONFIG, certify


def doctor(agent):
    code, output = agent.tool("doctor")
    assert all(line[:4] in ("ok  ", "warn", "FAIL") for line in output.splitlines()), output
    return code, output


def advised(output, grade, word):
    """Whether a line of this grade has the word, and says what to do."""
    return any(line.startswith(grade) and word in line and " → " in line
               for line in output.splitlines())


def test_a_good_installation_that_runs(make_agent):
    agent = make_agent(KEYS).start()
    code, output = doctor(agent)
    assert code == 0, output
    for word in (f"process {agent.process.pid} runs", "takes calls", "0 connections",
                 "the files on disk are in force", "the store is sound"):
        assert word in output, output


def test_a_good_installation_that_is_stopped(make_agent):
    agent = make_agent(KEYS)
    code, output = doctor(agent)
    assert code == 0 and "no store yet" in output and "is free to listen at" in output, output
    agent.start()
    agent.stop()
    code, output = doctor(agent)
    assert code == 0 and "no server runs" in output and "the store is sound" in output, output
    agent.start()  # the doctor has changed nothing


def test_plugins_that_are_not_listed_are_one_line(make_agent):
    agent = make_agent(KEYS, {f"desk{number}": "" for number in range(20)})
    agent.configure(KEYS + "plugins = {}\n")
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "and 17 more are not listed"), output
    assert output.count("not listed in plugins") == 1, output


def test_a_proxy_that_is_not_named(make_agent):
    """Where `listen` does not tell of one, what the process has heard does."""
    agent = make_agent(KEYS)
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "no limit by address"), output
    agent.configure(KEYS)
    text = (agent.folder / "callagent.lua").read_text()
    (agent.folder / "callagent.lua").write_text(text.replace("127.0.0.1:", "0.0.0.0:"))
    agent.start()
    assert "no limit by address" not in doctor(agent)[1]
    agent.request("GET", "/healthz", None, {"X-Forwarded-For": "192.0.2.1"})
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "the proxy at 127.0.0.1 is not named"), output
    append(agent.folder / "callagent.lua", 'trusted_proxies = { "127.0.0.0/8" }\n')
    assert agent.tool("reload")[0] == 0
    assert "no limit by address" not in doctor(agent)[1]


def test_a_file_with_a_mistake(make_agent):
    code, output = doctor(make_agent("pluggins = {}\n"))
    assert code == 1 and "callagent.lua:3" in output and "pluggins" in output, output


CHANGES = {
    # A comment alone changes nothing that is in force.
    "callagent.lua": lambda folder: append(folder / "callagent.lua", "devices_per_user = 9\n"),
    "plugins/one.lua": lambda folder: append(folder / "plugins" / "one.lua", "-- something\n"),
    "secret.txt": lambda folder: (folder / "secret.txt").write_text("another " * 8),
    "server.crt": lambda folder: certify(folder),
}


def append(file, text):
    file.write_text(file.read_text() + text)


@pytest.mark.parametrize("file", CHANGES)
def test_a_file_that_has_changed_is_not_in_force(make_agent, file):
    config = 'auth = { { alg = "HS256", key = secret "file:secret.txt" } }\n' + CONFIG
    agent = make_agent(config + 'plugins = { "one" }\n', {"one": "on.invite(function() end)\n"})
    (agent.folder / "secret.txt").write_text("a secret " * 5)
    certify(agent.folder)
    agent.launch()
    agent.logs('"ready"')
    code, output = doctor(agent)
    assert code == 0 and "the files on disk are in force" in output, output
    CHANGES[file](agent.folder)
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "not in force as on disk"), output
    assert file in output and ("callagent.lua, " in output) is False, output
    assert agent.tool("reload")[0] == 0
    code, output = doctor(agent)
    assert code == 0 and "the files on disk are in force" in output, output


def test_secrets_of_the_environment_are_taken_from_the_process(make_agent):
    """Whoever is on call has a shell without them."""
    config = 'auth = { { alg = "HS256", key = secret "env:CALLAGENT_TEST_KEY" } }\n'
    agent = make_agent(config, environment={"CALLAGENT_TEST_KEY": "a secret " * 5}).start()
    code, output = doctor(agent)
    assert code == 0 and "the files on disk are in force" in output, output
    agent.stop()
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", "'CALLAGENT_TEST_KEY' is not set"), output
    assert "as the service does" in output and "the store is sound" in output, output


def test_a_plugin_that_is_not_there(make_agent):
    code, output = doctor(make_agent(KEYS + 'plugins = { "bussy" }\n'))
    assert code == 1 and advised(output, "FAIL", "bussy"), output


def test_a_plugin_in_quarantine(make_agent):
    plugin = 'on.invite(function() error("broken") end)\n'
    config = 'answer_for = { "*" }\nplugins = { "broken" }\n'
    agent = make_agent(config, {"broken": plugin}).start()
    for number in range(20):
        caller = agent.connect(f"caller-{number}")
        caller.ok("call.invite", invitees=[f"user-{number}"], mode="advanced")
    agent.logs("quarantine")
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", "broken is in quarantine"), output


def test_a_plugin_that_is_passed_over_for_one_account(make_agent):
    plugin = 'on.invite(function() error("broken") end)\n'
    config = 'answer_for = { "*" }\nplugins = { "broken" }\n'
    agent = make_agent(config, {"broken": plugin}).start()
    alice = agent.connect("alice")
    for number in range(6):
        alice.ok("call.invite", invitees=[f"user-{number}"], mode="advanced")
    agent.logs("passed over for alice")
    code, output = doctor(agent)
    assert advised(output, "warn", "broken is passed over for 1 account or timer"), output
    code, output = agent.tool("plugins", "--by", "account")
    assert code == 0 and "alice: asked 5, failed 5" in output, output


def test_a_plugin_that_fails_for_some(make_agent):
    plugin = 'on.invite(function(call) if call.kind == "video" then error("broken") end end)\n'
    config = 'answer_for = { "*" }\nplugins = { "flaky" }\n'
    agent = make_agent(config, {"flaky": plugin}).start()
    callers = [agent.connect(name) for name in ("alice", "bob", "carl")]
    for caller in callers:
        caller.ok("call.invite", invitees=["desk"], mode="advanced")
    assert "failed lately" not in doctor(agent)[1]
    for caller in callers[:2]:
        caller.ok("call.invite", invitees=["desk"], mode="advanced", kind="video")
    wait_for("the failures", lambda: "bob: asked 2, failed 1" in agent.tool(
        "plugins", "--by", "account")[1])
    _, output = doctor(agent)
    assert advised(output, "warn", "flaky failed lately for calls of 2 accounts"), output


def test_no_keys(make_agent):
    agent = make_agent()
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "no keys"), output
    agent.configure("")
    text = (agent.folder / "callagent.lua").read_text().replace("127.0.0.1", "0.0.0.0")
    (agent.folder / "callagent.lua").write_text(text)
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", "no keys"), output


def test_a_port_that_is_taken(make_agent):
    first = make_agent(KEYS).start()
    second = make_agent(folder="second")
    second.port = first.port
    second.configure(KEYS)
    code, output = doctor(second)
    assert code == 1 and advised(output, "FAIL", "in use"), output


@pytest.mark.parametrize("listen, word", [("192.0.2.1:7600", "no such address"),
                                          ("somewhere:7600", "change listen")])
def test_an_address_of_another_machine(make_agent, listen, word):
    agent = make_agent(KEYS)
    file = agent.folder / "callagent.lua"
    file.write_text(file.read_text().replace(f"127.0.0.1:{agent.port}", listen))
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", word), output


def test_a_path_that_is_too_long_for_a_socket(make_agent):
    agent = make_agent(KEYS, state="x" * 120)
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", "too long"), output
    assert "107 bytes" in agent.refuses_to_start()


def test_a_process_that_does_not_answer(make_agent):
    agent = make_agent(KEYS).start()
    socket = agent.folder / "state" / "admin.sock"
    socket.unlink()
    socket.write_text("so that no other one is made")
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", f"process {agent.process.pid}"), output
    socket.unlink()


def test_a_state_directory_that_is_gone_while_a_server_runs(make_agent):
    """Only the process has the store then: whoever ends it, as told, loses what is in it."""
    agent = make_agent(KEYS).start()
    state = agent.folder / "state"
    state.rename(agent.folder / "away")
    code, output = doctor(agent)
    # Whoever asks for a change has the store looked for.
    asked = agent.request("POST", "/v1/call/invite", '{"invitees": ["alice"]}', {
        "Authorization": f"Bearer {token()}", "Content-Type": "application/json"})
    (agent.folder / "away").rename(state)
    wait_for("readyz", agent.is_ready)
    assert asked.status == 503, asked.body
    assert code == 1 and advised(output, "FAIL", "already in use"), output
    assert "/proc/PID/fd" in output and "stop the process that uses it" not in output, output
    agent.logs("/proc/PID/fd")


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
def test_another_user_is_not_told_that_no_server_runs(make_agent):
    agent = make_agent(KEYS).start()
    code, output = as_other_user(agent, "doctor")
    assert code == 1 and advised(output, "FAIL", "Permission denied"), output
    assert "no server runs" not in output, output


def test_a_damaged_store(make_agent):
    agent = make_agent(KEYS).start()
    agent.stop()
    file = agent.folder / "state" / "callagent.db"
    with file.open("r+b") as damaged:
        damaged.seek(4_096)
        damaged.write(b"\xff" * 20_000)
    code, output = doctor(agent)
    assert code == 1 and "restore a backup" in output, output


def change(agent, sql):
    with sqlite3.connect(agent.folder / "state" / "callagent.db") as store:
        store.execute(sql)
    store.close()


def stopped(make_agent, config=KEYS):
    agent = make_agent(config).start()
    agent.stop()
    return agent


def test_a_store_of_an_older_version(make_agent):
    agent = stopped(make_agent)
    change(agent, "PRAGMA user_version = 1")
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "keep a backup"), output


def test_a_database_of_something_else(make_agent):
    agent = make_agent(KEYS)
    (agent.folder / "state").mkdir(mode=0o700)
    change(agent, "CREATE TABLE diary (day TEXT)")
    code, output = doctor(agent)
    assert code == 1 and "not a store of callagent" in output, output


def test_a_clock_that_is_behind(make_agent):
    agent = stopped(make_agent)
    change(agent, f"UPDATE mark SET value = {int(time.time() + 3_600) * 1_000} "
                  "WHERE name = 'newest'")
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", "the clock of this machine"), output


def test_a_restart_is_not_advised_while_the_clock_may_be_wrong(make_agent):
    """A start takes the time of the wall clock, and the calls' clock never goes back."""
    agent = make_agent(KEYS)
    clock = WrongClock(agent)
    agent.start()
    clock.set(3_600)
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "behind the wall clock"), output
    assert "set the wall clock if it is wrong, and only then restart" in output, output


def test_a_log_beside_the_store_that_grows(make_agent):
    agent = stopped(make_agent)
    with (agent.folder / "state" / "callagent.db-wal").open("wb") as log:
        log.truncate(200 << 20)
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "callagent.db-wal has 200 MB"), output


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give files away")
def test_files_of_another_user(make_agent):
    agent = stopped(make_agent)
    os.chown(agent.folder / "state" / "callagent.db", 12_345, -1)
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", "callagent.db belongs to user 12345"), output
    os.chown(agent.folder / "state", 12_345, -1)
    code, output = doctor(agent)
    assert advised(output, "warn", "run callagent doctor as the user that runs the server"), output


def test_a_state_directory_that_is_a_file(make_agent):
    agent = make_agent(KEYS)
    (agent.folder / "state").write_text("")
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", "is no directory"), output


def test_a_state_directory_that_a_start_could_not_make(make_agent):
    agent = make_agent(KEYS)
    code, output = doctor(agent)
    assert code == 0 and "is not there yet; a start makes it" in output, output
    agent.configure(KEYS + 'state_dir = "away/state"\n')
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", "nothing can be made in"), output


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own, with little room and few files."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=20m,nr_inodes=50", "tmpfs", folder]
    if subprocess.run(["mount", *options], check=False, capture_output=True).returncode != 0:
        pytest.skip("this user may not mount a file system")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_is_full_or_read_only(make_agent, small_disk):
    (small_disk / "state").mkdir(mode=0o700)
    agent = make_agent(KEYS, state=str(small_disk / "state"))
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", "MB are free"), output
    assert advised(output, "FAIL", "df -i"), output
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", "is mounted read-only"), output
    assert "chown" not in output, output
    assert "Read-only file system" in agent.refuses_to_start()


def test_a_disk_that_becomes_read_only_under_a_server(make_agent, small_disk):
    """As ext4 does after an error. The lock cannot be written then, and is held all the same."""
    state = small_disk / "state"
    state.mkdir(mode=0o700)
    # By a short path: the socket of the tools is in it.
    agent = make_agent(KEYS, state=os.path.relpath(state, state.parents[1] / "agent")).start()
    subprocess.run(["mount", "--bind", state, state], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", state], check=True)
        code, output = doctor(agent)
    finally:
        subprocess.run(["umount", state], check=True)
    agent.close()
    assert code == 1 and advised(output, "FAIL", "is mounted read-only"), output
    assert f"process {agent.process.pid} runs" in output, output
    assert "no server runs" not in output and "in use" not in output, output


def test_a_lock_that_nobody_holds(make_agent):
    """Its text names a process that is gone, or that is another one by now."""
    agent = make_agent(KEYS).start()
    agent.crash()
    (agent.folder / "state" / "lock").write_text("1\n")
    code, output = doctor(agent)
    assert code == 0 and "no server runs" in output, output


def test_a_store_of_a_newer_version(make_agent):
    agent = stopped(make_agent)
    change(agent, "PRAGMA user_version = 99")
    code, output = doctor(agent)
    assert code == 1 and "newer version" in output, output


def test_a_store_that_is_away(make_agent):
    agent = make_agent(KEYS, environment={"CALLAGENT_STORE_FAULTS": "write:150:100000:full"})
    agent.start()
    while agent.is_ready():
        agent.tool("revoke", "nobody")
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", "its store is away"), output


def test_a_store_that_fails_and_is_open_again(make_agent):
    """At a quiet hour it is open most of the time, and every call fails."""
    agent = make_agent(KEYS, environment={"CALLAGENT_STORE_FAULTS": "write:150:1:full"}).start()
    while "store failed" not in agent.log_text():
        agent.tool("revoke", "nobody")
    wait_for("readyz", agent.is_ready)
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", "no space is left"), output
    assert agent.tool("revoke", "nobody")[0] == 0
    code, output = doctor(agent)
    assert code == 0 and "no space is left" not in output, output


# A disk that takes half a second to have what is written.
SLOW = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>
static int slow(int number, int file) {
  if (access("slow", F_OK) == 0) usleep(500000);
  return syscall(number, file);
}
int fsync(int file) { return slow(SYS_fsync, file); }
int fdatasync(int file) { return slow(SYS_fdatasync, file); }
"""


def test_a_disk_that_is_slow(make_agent):
    """The server is ready, and every second call is refused."""
    agent = make_agent(KEYS + 'limits = { commit_time = "100ms" }\n')
    preload(agent, SLOW)
    agent.start()
    assert "is slow" not in doctor(agent)[1]
    (agent.folder / "slow").touch()
    agent.tool("revoke", "nobody")
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "the store is slow: 1 commits"), output
    (agent.folder / "slow").unlink()


def test_others_may_look_into_the_state(make_agent):
    agent = make_agent(KEYS).start()
    os.chmod(agent.folder / "state", 0o755)
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "other users of this machine"), output


def test_a_certificate_that_runs_out(make_agent):
    agent = make_agent(KEYS + CONFIG)
    code, output = doctor(agent)
    assert code == 1 and "server.crt" in output, output
    certify(agent.folder)
    code, output = doctor(agent)
    # Of two days and less, days would say little.
    assert code == 0 and re.search(r"^warn .* runs out in 2[34] h → ", output, re.M), output
    subprocess.run(
        ["openssl", "req", "-x509", "-key", "server.key", "-days", "90", "-subj", "/CN=x",
         "-out", "server.crt"], cwd=agent.folder, check=True, capture_output=True)
    os.chmod(agent.folder / "server.key", 0o644)
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "chmod 600"), output
    assert "ok    tls" in output, output


def test_those_who_cannot_be_reached(make_agent, double):
    config = KEYS + double.push_config + double.hook_config("crm")
    agent = make_agent(config, environment=double.environment)
    os.environ["SSL_CERT_FILE"] = double.environment["SSL_CERT_FILE"]
    try:
        code, output = doctor(agent)
        assert code == 0 and f"{double.base} can be reached" in output, output
        double.close()
        code, output = doctor(agent)
        assert code == 0 and advised(output, "warn", f"{double.base} cannot be reached"), output
    finally:
        del os.environ["SSL_CERT_FILE"]


def test_webhooks_that_are_none(make_agent):
    config = KEYS + 'webhooks = { { name = "crm", url = "ftp://crm", secret = "x" } }\n'
    code, output = doctor(make_agent(config))
    assert code == 1 and advised(output, "FAIL", "webhooks"), output


def test_a_receiver_that_takes_no_events(make_agent, double):
    config = KEYS + double.hook_config("crm", "books")
    agent = make_agent(config, environment=double.environment).start()
    double.plan("crm", *[{"status": 500}] * 20)
    agent.connect("bob", token=token()).ok("call.invite", invitees=["x"], mode="advanced")
    wait_for("a failure", lambda: agent.metrics()["callagent_webhook_attempts_failed_total"] > 0)
    output = doctor(agent)[1]
    assert advised(output, "warn", "the receiver crm of webhooks does not take events"), output
    assert "status 500" in output and "receiver books" not in output, output
    # Two receivers at one server are looked for there once.
    assert output.count(double.base) == 1, output


def test_a_receiver_inside_that_is_not_allowed(make_agent):
    """It was never asked, so whoever looks at it finds nothing."""
    agent = make_agent(
        'webhooks = { { name = "inside", url = "http://127.0.0.1:1/hook", '
        'secret = "whsec_a2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=" } }\n' + KEYS).start()
    alice = agent.connect("alice", token=token(sub="alice"))
    alice.ok("call.invite", invitees=["bob"])
    agent.logs("refused_address")
    output = doctor(agent)[1]
    line = next(line for line in output.splitlines() if "refused_address" in line)
    assert "in allow of this receiver" in line and "look at the receiver" not in line, line


def test_a_receiver_that_wants_nothing_more(make_agent, double):
    agent = make_agent(KEYS + double.hook_config("gone"), environment=double.environment).start()
    double.plan("gone", {"status": 410})
    agent.connect("bob", token=token()).ok("call.invite", invitees=["x"], mode="advanced")
    wait_for("the end", lambda: agent.metrics()["callagent_webhooks_disabled"] == 1)
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", "callagent webhooks enable gone"), output


@pytest.mark.parametrize("limit, grade", [(100_000, "warn"), (64, "ok  ")])
def test_descriptors(make_agent, limit, grade):
    agent = make_agent(KEYS + f"limits = {{ connections = {limit} }}\n")
    done = subprocess.run(
        ["sh", "-c", 'ulimit -n 1000; "$CALLAGENT" doctor'], cwd=agent.folder,
        capture_output=True, text=True, check=False)
    (line,) = [line for line in done.stdout.splitlines() if "files may be open" in line]
    assert line.startswith(grade), line


def test_a_server_takes_all_the_descriptors_that_it_may_have(make_agent):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        agent = make_agent(KEYS).start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE) == (hard, hard)
    _, output = doctor(agent)
    assert f"{hard} files may be open" in output
    resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE, (300, hard))
    _, output = doctor(agent)
    assert advised(output, "warn", "300 files may be open"), output


@pytest.mark.parametrize("more", [0, 1])
def test_room_for_newcomers(make_agent, more):
    with open("/proc/sys/net/core/somaxconn", encoding="ascii") as file:
        room = int(file.read())
    agent = make_agent(KEYS + f"limits = {{ accepts_per_second = {room + more} }}\n")
    _, output = doctor(agent)
    assert bool(advised(output, "warn", "net.core.somaxconn")) == bool(more), output
