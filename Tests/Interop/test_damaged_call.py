"""A live call whose record is damaged: everybody is told, and nobody else feels it."""

import contextlib
import sqlite3

from agent import wait_for
from calls import changes, invite
from test_doctor import advised


def store(agent):
    return contextlib.closing(sqlite3.connect(agent.folder / "state" / "callagent.db"))


def record(agent, call):
    with store(agent) as base:
        ((found,),) = base.execute(
            "SELECT record FROM live_call WHERE id = ?", [bytes.fromhex(call)])
    return found


def write(agent, call, text):
    with store(agent) as base, base:
        base.execute("UPDATE live_call SET record = ? WHERE id = ?", [text, bytes.fromhex(call)])


def alarms(agent):
    return agent.admin("GET", "/admin/v1/files").body["alarms"]


def test_it_is_left_out_and_told_until_it_is_mended(make_agent):
    agent = make_agent().start()
    alice, cid = agent.connect("alice"), agent.connect("cid")
    call, other = invite(alice, "bob", mode="advanced"), invite(cid, "dan", mode="advanced")
    assert alarms(agent) == [] and agent.metrics()["callagent_damaged_calls"] == 0
    agent.stop()
    whole = record(agent, call)
    damaged = whole.replace(b'"inviting"', b'"invited!"')
    assert damaged != whole
    write(agent, call, damaged)
    code, output = agent.tool("doctor")
    assert code == 1 and advised(output, "FAIL", f"call {call}, field users.bob.state"), output

    agent.start()
    (alarm,) = wait_for("the alarm", lambda: alarms(agent))
    assert f"1 live call is left out because its record is damaged: call {call}" in alarm
    assert agent.metrics()["callagent_damaged_calls"] == 1
    agent.logs("a live call cannot be read")
    code, output = agent.tool("doctor")
    assert code == 1 and advised(output, "FAIL", f"alarm: {alarm}"), output
    agent.tool("reload")
    assert alarms(agent) == [alarm], "a reload mends no record"

    dan, cid = agent.connect("dan"), agent.connect("cid")
    assert [one["call_id"] for one in dan.hello["calls"]] == [other]
    dan.ok("call.accept", call_id=other)
    assert changes(cid.event("call.changed")) == {"dan": ("joined", None)}
    alice, bob = agent.connect("alice"), agent.connect("bob")
    assert alice.hello["calls"] == [] == bob.hello["calls"]
    again = invite(alice, "bob", mode="advanced")
    bob.ok("call.accept", call_id=again)

    agent.stop()
    assert record(agent, call) == damaged, "nobody has changed it"
    write(agent, call, whole)
    agent.start()
    alice = agent.connect("alice")
    assert {one["call_id"] for one in alice.hello["calls"]} == {call, again}
    assert alarms(agent) == [] and "alarm" not in agent.tool("doctor")[1]
