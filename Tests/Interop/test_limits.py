"""Slow readers are cut off, and nobody waits for them."""

import json
import os
import time

import pytest

from agent import wait_for
from calls import invite
from raw import TEXT, RawSocket, frame


def flood(agent, alice, count):
    """Invites bob again and again, each time with almost as much data as is allowed."""
    data = {"invitees": ["bob"], "mode": "advanced", "extended_data": "x" * 2_000}
    numbers = [alice.post("call.invite", data) for _ in range(count)]
    for number in numbers:
        assert "ok" in alice.reply(number, timeout=30)
    alice.forget()


def test_a_slow_reader_is_cut_off_and_the_others_go_on(agent):
    slow = RawSocket(agent.port, receive_buffer=4_096).upgrade().hello("bob")
    alice, dave, erin = (agent.connect(name) for name in ("alice", "dave", "erin"))
    while agent.metrics()["callagent_slow_readers_total"] == 0:
        flood(agent, alice, 250)
        begin = time.monotonic()
        call = invite(dave, "erin")
        assert erin.event("call.incoming")["call_id"] == call
        assert time.monotonic() - begin < 1
    bob = agent.connect("bob")
    assert len(bob.hello["calls"]) == 100 and bob.hello["calls_more"] is True
    assert slow.close_code(timeout=20) == 4008
    bob.forget()
    invite(alice, "bob", mode="advanced")
    bob.event("call.incoming")


def test_who_never_reads_is_gone_after_a_while(agent):
    slow = RawSocket(agent.port, receive_buffer=4_096).upgrade().hello("bob")
    alice = agent.connect("alice")
    while agent.metrics()["callagent_slow_readers_total"] == 0:
        flood(agent, alice, 250)
    wait_for("the end of the connection",
             lambda: agent.metrics()["callagent_connections"] == 1)
    slow.close()


def test_replies_alone_never_cut_anybody_off_and_take_no_memory(agent):
    """The server reads no further while its answers are not read."""
    alice = agent.connect("alice")
    flood(agent, alice, 100)
    greedy = RawSocket(agent.port, receive_buffer=4_096).upgrade().hello("alice", "greedy")
    before = agent.resident()
    asked = [frame(TEXT, json.dumps({"id": number, "op": "call.list", "data": {"limit": 100}})
                   .encode()) for number in range(1_000)]
    greedy.send(b"".join(asked))
    alice.ok("ping")
    wait_for("a page that is not read",
             lambda: agent.metrics()["callagent_unsent_bytes"] > 1 << 20)
    greedy.socket.settimeout(20)
    for number in range(200):
        assert greedy.message()["re"] == number
    assert agent.resident() - before < 64 << 20
    greedy.close()


def test_many_connections_at_once(agent):
    devices = [agent.connect(f"user-{number}") for number in range(300)]
    for device in devices:
        device.ok("ping")
    call = invite(devices[0], "user-299", mode="advanced")
    assert devices[299].event("call.incoming")["call_id"] == call


def test_a_thousand_requests_without_waiting(agent):
    alice = agent.connect("alice")
    numbers = [alice.post("ping", {}) for _ in range(1_000)]
    for number in numbers:
        assert alice.reply(number)["ok"] == {}


@pytest.mark.full
def test_connections_that_come_and_go_leave_nothing_behind(agent):
    def descriptors():
        return len(os.listdir(f"/proc/{agent.process.pid}/fd"))

    agent.connect("alice").close()
    before = descriptors()
    for _ in range(500):
        agent.connect("alice").close()
        RawSocket(agent.port).close()
    deadline = time.monotonic() + 10
    while descriptors() > before:
        assert time.monotonic() < deadline, f"{before} descriptors before, {descriptors()} after"
