"""Hostile peers in numbers: no crash, no leak, no growth."""

import json
import os
import random
import struct

import pytest

from agent import wait_for
from raw import TEXT, RawSocket, frame

FULL = bool(os.environ.get("CALLAGENT_FULL"))
MESSAGES = 1_000_000 if FULL else 20_000


def descriptors(agent):
    return len(os.listdir(f"/proc/{agent.process.pid}/fd"))


def malformed(dice):
    """An object that is no good request: each gets its error, and the connection stays."""
    wrong = dice.choice([None, 1.5, "", "x" * 100, [], {}, True, -1, "é" * 30, [["a"]]])
    field = dice.choice(["invitees", "mode", "timeout_ms", "call_id", "kind", "data", "to", "put"])
    op = dice.choice(["call.invite", "call.accept", "call.signal", "call.items", "nothing", 7, "",
                      "call.list", "call.hold"])
    message = {"id": dice.randrange(1_000), "op": op, "data": {field: wrong}}
    if dice.random() < 0.1:
        message = {"ack": wrong, "op": op}
    return frame(TEXT, json.dumps(message).encode())


def test_malformed_messages_without_number(make_agent):
    seed = int(os.environ.get("CALLAGENT_SEED") or random.randrange(1 << 32))
    print(f"seed: CALLAGENT_SEED={seed}")
    dice = random.Random(seed)
    agent = make_agent().start()
    batches = [b"".join(malformed(dice) for _ in range(100)) for _ in range(50)]
    before, sizes = descriptors(agent), []
    peers = [RawSocket(agent.port).upgrade().hello("eve", f"d{number}") for number in range(8)]
    for peer in peers:
        peer.socket.settimeout(30)
    for round_ in range(MESSAGES // 100 // len(peers)):
        for peer in peers:
            peer.send(dice.choice(batches))
        for peer in peers:
            answered = 0
            while answered < 50:  # most of them; the rest is read with the next ones
                data = peer.socket.recv(1 << 20)
                assert data, "the server closed"
                answered += data.count(b'"re":')
        if round_ % 100 == 0:
            sizes.append(agent.resident())
    for peer in peers:
        peer.close()
    wait_for("all connections to go", lambda: descriptors(agent) <= before)
    assert agent.resident() - sizes[len(sizes) // 4] < 32 << 20, sizes
    agent.connect("bob").ok("ping")


def garbage(dice):
    """Bytes that break HTTP or a frame at once."""
    return dice.choice([
        bytes(dice.randrange(256) for _ in range(dice.randrange(1, 400))),
        b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\r\n" * 500,
        b"POST /v1/call/invite HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
        b"GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\r\n" + b"\x81" * 200,
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5_000, struct.pack(">Q", 1 << 62) * 20,
    ])


@pytest.mark.parametrize("seed", [1])
def test_bytes_of_any_kind(make_agent, seed):
    dice = random.Random(seed)
    agent = make_agent().start()
    before = descriptors(agent)
    for _ in range(3_000 if FULL else 300):
        raw = RawSocket(agent.port)
        try:
            raw.send(garbage(dice))
            if dice.random() < 0.5:
                raw.socket.shutdown(1)
        except OSError:
            pass
        if dice.random() < 0.7:
            raw.close()
    agent.connect("bob").ok("ping")
    del raw
    wait_for("all connections to go", lambda: descriptors(agent) <= before + 1, patience=60)


def test_half_open_connections(make_agent):
    """Peers that say nothing, say half of something, or have gone without a word."""
    agent = make_agent("""limits = {
        request_time = "2s", hello_time = "2s", idle_time = "2s", message_time = "2s",
        ping = "1s", silence = "3s" }\n""").start()
    before = descriptors(agent)
    held = []
    for number in range(60):
        raw = RawSocket(agent.port)
        if number % 4 == 1:
            raw.send(b"GET /v1/w")
        if number % 4 == 2:
            raw.upgrade()
        if number % 4 == 3:
            raw.upgrade().hello(f"u{number}").send(frame(TEXT, b"x" * 900)[:400])
        held.append(raw)
    agent.connect("bob").ok("ping")
    wait_for("all of them to go", lambda: descriptors(agent) <= before + 1, patience=60)
