"""HTTP bodies without an end, chunked and by length."""

from blows import Flood, post
from registry import Attack

ATTACK = Attack(aims_at="bodies of requests, and what strangers may have begun", rules=(18, 110))
CHUNKED = post("/v1/call/invite", headers=("Transfer-Encoding: chunked",))
LONG = post("/v1/call/invite", headers=("Content-Length: 65536",))


def attack(scene):
    lines = [Flood(scene.raw) for _ in range(200)]
    for number in scene.each_while():
        line = lines[number % len(lines)]
        if line.socket is None:
            line.push(lambda: LONG if number % 2 else CHUNKED)
        line.push(lambda: b"10\r\n" + b"x" * 16 + b"\r\n")
