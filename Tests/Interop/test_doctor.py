"""`callagent doctor`: it finds what is wrong, running or stopped, and says what to do."""

import os
import sqlite3
import subprocess

import pytest

from test_admission import KEYS
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
                 "the plugins on disk are in force", "the store is sound"):
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


def test_a_file_with_a_mistake(make_agent):
    code, output = doctor(make_agent("pluggins = {}\n"))
    assert code == 1 and "callagent.lua:3" in output and "pluggins" in output, output


def test_a_changed_plugin_is_not_in_force(make_agent):
    config = KEYS + 'plugins = { "one" }\n'
    agent = make_agent(config, {"one": "on.invite(function() end)\n"}).start()
    agent.configure(config, {"one": "on.invite(function() return nil end)\n"})
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "is in force"), output


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


def test_a_process_that_does_not_answer(make_agent):
    agent = make_agent(KEYS).start()
    os.rename(agent.folder / "state" / "admin.sock", agent.folder / "elsewhere")
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", f"process {agent.process.pid}"), output
    os.rename(agent.folder / "elsewhere", agent.folder / "state" / "admin.sock")


def test_a_damaged_store(make_agent):
    agent = make_agent(KEYS).start()
    agent.stop()
    file = agent.folder / "state" / "callagent.db"
    with file.open("r+b") as damaged:
        damaged.seek(4_096)
        damaged.write(b"\xff" * 20_000)
    code, output = doctor(agent)
    assert code == 1 and "restore a backup" in output, output


def test_a_store_of_a_newer_version(make_agent):
    agent = make_agent(KEYS).start()
    agent.stop()
    with sqlite3.connect(agent.folder / "state" / "callagent.db") as store:
        store.execute("PRAGMA user_version = 99")
    store.close()
    code, output = doctor(agent)
    assert code == 1 and "newer version" in output, output


def test_a_store_that_is_away(make_agent):
    agent = make_agent(KEYS, environment={"CALLAGENT_STORE_FAULTS": "write:150:100000:full"})
    agent.start()
    while agent.is_ready():
        agent.tool("revoke", "nobody")
    code, output = doctor(agent)
    assert code == 1 and advised(output, "FAIL", "its store is away"), output


def test_others_may_look_into_the_state(make_agent):
    agent = make_agent(KEYS).start()
    os.chmod(agent.folder / "state", 0o755)
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "others on this machine"), output


def test_a_certificate_that_runs_out(make_agent):
    agent = make_agent(KEYS + CONFIG)
    code, output = doctor(agent)
    assert code == 1 and "server.crt" in output, output
    certify(agent.folder)
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "runs out in"), output
    subprocess.run(
        ["openssl", "req", "-x509", "-key", "server.key", "-days", "90", "-subj", "/CN=x",
         "-out", "server.crt"], cwd=agent.folder, check=True, capture_output=True)
    os.chmod(agent.folder / "server.key", 0o644)
    code, output = doctor(agent)
    assert code == 0 and advised(output, "warn", "chmod 600"), output
    assert "ok    tls" in output, output


@pytest.mark.parametrize("limit, grade", [(100_000, "warn"), (64, "ok  ")])
def test_descriptors(make_agent, limit, grade):
    agent = make_agent(KEYS + f"limits = {{ connections = {limit} }}\n")
    done = subprocess.run(
        ["sh", "-c", f"ulimit -n 1000; {os.environ['CALLAGENT']} doctor"], cwd=agent.folder,
        capture_output=True, text=True, check=False)
    (line,) = [line for line in done.stdout.splitlines() if "files may be open" in line]
    assert line.startswith(grade), line
