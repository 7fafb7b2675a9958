"""A disk that fails: nothing is acknowledged that is not stored, and the server goes on."""

import resource
import sqlite3

import pytest
from websockets.exceptions import ConnectionClosed

from agent import wait_for
from calls import changes
from support import BUSY, SUPPORT

TROUBLE = [
    "write:70:1:eio", "write:71:1:full", "write:85:1:readonly", "write:90:5:full",
    "sync:20:1:eio", "sync:21:1:full", "sync:30:1:eio", "sync:30:5:eio",
]


def place(agent, alice, key):
    """Calls bob, over and over with the same key as the contract says; returns (alice, call)."""
    def attempt():
        nonlocal alice
        try:
            if alice is None:
                alice = agent.connect("alice")
            reply = alice.ask("call.invite", key=key, invitees=["bob"], mode="advanced")
        except (ConnectionClosed, AssertionError, OSError):
            alice = None
            return None
        if "ok" in reply:
            return reply["ok"]["call_id"]
        assert reply["error"]["code"] == "unavailable", reply
        assert reply["error"]["retry_after_ms"] > 0
        return None

    found = wait_for("a call", attempt, patience=30, pause=0.2)
    return alice, found


def outlives_a_crash(agent, made):
    """Every call that was made under the key of its number is there once after a `kill -9`."""
    agent.crash()
    agent.start()
    alice = agent.connect("alice")
    assert {call["call_id"] for call in alice.hello["calls"]} == set(made.values())
    for number, call in made.items():
        again = alice.ok("call.invite", key=f"k{number}", invitees=["bob"], mode="advanced")
        assert again["call_id"] == call


@pytest.mark.parametrize("faults", TROUBLE)
def test_every_acknowledged_call_is_there_once(make_agent, faults):
    agent = make_agent(environment={"CALLAGENT_STORE_FAULTS": faults}).start()
    alice, made = None, {}
    for number in range(40):
        alice, made[number] = place(agent, alice, f"k{number}")
    agent.logs("store failed")
    wait_for("readiness", agent.is_ready)
    assert len(set(made.values())) == 40
    listed = alice.ok("call.list", limit=100)["calls"]
    assert {call["call_id"] for call in listed} == set(made.values())
    agent.environment.pop("CALLAGENT_STORE_FAULTS")
    outlives_a_crash(agent, made)


def test_clients_are_told_to_come_back_and_then_find_their_calls(make_agent):
    agent = make_agent(environment={"CALLAGENT_STORE_FAULTS": "sync:25:1:eio"}).start()
    bob = agent.connect("bob")
    _, first = place(agent, None, "first")
    alice, number = None, 0
    while "store failed" not in agent.log_text():
        number += 1
        alice, _ = place(agent, alice, f"k{number}")
    assert bob.closed(timeout=10) == 4001
    wait_for("readiness", agent.is_ready)
    bob, alice = agent.connect("bob"), agent.connect("alice")
    assert first in [call["call_id"] for call in bob.hello["calls"]]
    bob.ok("call.accept", call_id=first)
    assert changes(alice.event("call.changed")) == {"bob": ("joined", None)}


def test_a_log_that_may_not_grow_holds_back_and_loses_nothing(make_agent):
    """Here the system itself refuses to write, in the middle of what is written at once."""
    agent = make_agent().start()
    alice, made = None, {}
    for number in range(5):
        alice, made[number] = place(agent, alice, f"k{number}")
    log = agent.folder / "state" / "callagent.db-wal"
    before = resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE)
    limit = log.stat().st_size + 30_000
    resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, (limit, before[1]))
    while True:
        try:
            reply = alice.ask(
                "call.invite", key=f"k{len(made)}", invitees=["bob"], mode="advanced")
        except ConnectionClosed:
            break
        if "error" in reply:
            assert reply["error"]["code"] == "unavailable", reply
            break
        made[len(made)] = reply["ok"]["call_id"]
        assert len(made) < 100, "the limit had no effect"
    agent.logs("store failed")
    assert not agent.is_ready()
    resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, before)
    wait_for("readiness", agent.is_ready, patience=30)
    alice = agent.connect("alice")
    alice, made[len(made)] = place(agent, alice, f"k{len(made)}")
    outlives_a_crash(agent, made)


# What a start does not touch


def kept(make_agent):
    """A server that has stopped in good order, with some calls in its store."""
    agent = make_agent().start()
    alice = agent.connect("alice")
    for number in range(40):
        alice.ok("call.invite", key=f"k{number}", invitees=["bob"], mode="advanced")
    agent.stop()
    return agent, agent.folder / "state" / "callagent.db"


def test_a_damaged_store_is_refused_with_what_to_do(make_agent):
    agent, file = kept(make_agent)
    bytes_before = file.read_bytes()
    for place in range(4_096, len(bytes_before), 8_192):
        with file.open("r+b") as damaged:
            damaged.seek(place)
            damaged.write(b"\xff" * 64)
    said = agent.refuses_to_start()
    assert "callagent.db" in said and "damaged" in said and "restore a backup" in said, said
    file.write_bytes(bytes_before)
    assert len(agent.start().connect("alice").hello["calls"]) == 40


@pytest.mark.parametrize("after", [0, 3, 10])
def test_a_disk_that_cannot_be_read_is_no_damaged_store(make_agent, after):
    """A backup would not help: the file is as it was."""
    agent, _ = kept(make_agent)
    agent.environment["CALLAGENT_STORE_FAULTS"] = f"read:{after}:1000000:eio"
    said = agent.refuses_to_start()
    assert "the disk failed" in said and "try again" in said and "dmesg" in said, said
    assert "damaged" not in said and "backup" not in said, said
    del agent.environment["CALLAGENT_STORE_FAULTS"]
    assert len(agent.start().connect("alice").hello["calls"]) == 40


def test_a_store_of_a_newer_version_is_refused_with_what_to_do(make_agent):
    agent, file = kept(make_agent)
    with sqlite3.connect(file) as store:
        store.execute("PRAGMA user_version = 99")
    store.close()
    said = agent.refuses_to_start()
    assert "newer version" in said and "99" in said and "state_dir" in said, said


def test_a_plan_of_faults_that_is_none_is_refused(make_agent):
    agent = make_agent(environment={"CALLAGENT_STORE_FAULTS": "write"})
    assert "CALLAGENT_STORE_FAULTS" in agent.refuses_to_start()


# Files that lose their names


def away(path):
    return path.with_name(path.name + ".away")


def take_folder(state):
    state.rename(away(state))
    return lambda: away(state).rename(state)


def take_database(state):
    database = state / "callagent.db"
    database.rename(away(database))
    return lambda: away(database).rename(database)


def replace_database(state):
    bring_back = take_database(state)
    with sqlite3.connect(state / "callagent.db") as other:
        other.execute("CREATE TABLE foreign_table (a)")
    other.close()
    return bring_back


def unlink_database(state):
    database = state / "callagent.db"
    away(database).hardlink_to(database)
    database.unlink()
    return lambda: away(database).rename(database)


def take_log(state):
    (state / "callagent.db-wal").unlink()
    return lambda: None


def replace_log(state):
    log = state / "callagent.db-wal"
    copy = log.read_bytes()[:8_000]
    log.unlink()
    log.write_bytes(copy)
    return lambda: None


@pytest.mark.parametrize("take", [
    take_folder, take_database, replace_database, unlink_database, take_log, replace_log])
@pytest.mark.parametrize("is_idle", [True, False], ids=["idle", "busy"])
def test_a_store_whose_files_were_taken_away_acknowledges_nothing(make_agent, take, is_idle):
    agent = make_agent().start()
    alice, made = None, {}
    for number in range(5):
        alice, made[number] = place(agent, alice, f"k{number}")
    lasts = take in (take_log, replace_log)  # comes back by itself: all of it can still be read
    bring_back = take(agent.folder / "state")
    if not is_idle:
        with pytest.raises((ConnectionClosed, AssertionError)):
            alice.ok("call.invite", key="late", invitees=["bob"], mode="advanced")
    wait_for("the alarm", lambda: "not the file that was opened" in agent.log_text(), patience=5)
    if not lasts:
        assert agent.get("/readyz").status == 503
        if take not in (take_folder,):
            code, text = agent.tool("doctor")
            assert code == 1 and "callagent.db" in text, text
        reply = agent.post("call.invite", "carl", {"invitees": ["bob"]})
        assert (reply.status, reply.body["error"]["code"]) == (503, "unavailable")
    bring_back()
    wait_for("readiness", agent.is_ready, patience=5)
    alice = agent.connect("alice")
    known = {call["call_id"] for call in alice.hello["calls"]}
    assert set(made.values()) <= known
    if not is_idle:
        alice, made["late"] = place(agent, alice, "late")
    for number in range(5, 8):
        alice, made[number] = place(agent, alice, f"k{number}")
    made.pop("late", None)
    agent.crash()
    agent.start()
    known = {call["call_id"] for call in agent.connect("alice").hello["calls"]}
    assert set(made.values()) <= known


def test_a_reload_while_the_store_is_away_says_what_is_true(make_agent):
    """It is in force and not stored: whoever waits hears that, and not that nobody answers."""
    agent = make_agent(SUPPORT, {"support": BUSY}).start()
    bring_back = take_database(agent.folder / "state")
    agent.configure(SUPPORT, {"support": BUSY + "-- another one\n"})
    code, words = agent.tool("reload")
    assert code == 0 and "is in force" in words and "not stored" in words, words
    bring_back()
    wait_for("readyz", agent.is_ready)
    code, words = agent.tool("reload")
    assert code == 0 and "not stored" not in words, words


def test_a_database_without_a_byte_is_told(make_agent):
    """As after a copy that failed: SQLite takes it for a new one."""
    agent = make_agent().start()
    words = "callagent.db had no byte, so the store begins empty"
    assert agent.stop() == 0 and words not in agent.log_text()
    (agent.folder / "state" / "callagent.db").write_bytes(b"")
    agent.start()
    agent.logs(words)
