"""An operator's token in wrong hands: the largest bodies, endless jobs, a full queue of them."""

import json
import socket

from blows import Flood
from registry import Attack, console

ATTACK = Attack(aims_at="jobs and the audit", config=console(', audit = "1MB"'), is_taken=False)
ENDLESS = "on.invite(function() while true do end end)\n"


class Way:
    """A connection to the console, as a flood wants it."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", int(port)))


def request(path, token, body):
    text = json.dumps(body)
    return (
        f"POST /admin/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Length: {len(text)}\r\n\r\n{text}").encode()


def prepare(scene):
    """The first job makes the thread of jobs and the file of the audit, and they stay."""
    token = scene.token("olga", role="operator", aud="callagent-admin")
    with socket.create_connection(("127.0.0.1", int(scene.words["CONSOLE"]))) as way:
        way.sendall(request("/doctor", token, {}))
        assert b" 202 " in way.recv(4_096).split(b"\r\n")[0]


def attack(scene):
    token = scene.token("olga", role="operator", aud="callagent-admin")
    invite = {"from": "a", "to": "desk"}
    asked = [
        request("/try", token, {"invite": invite, "files": {"plugins/house.lua": ENDLESS}}),
        request("/try", token, {"invite": invite, "files": {"plugins/x.lua": "x" * 250_000}}),
        request("/rollback", token, {"generation": "y" * 250_000}),
        request("/test", token, {}), request("/replay", token, {}), request("/doctor", token, {})]
    lines = [Flood(lambda: Way(scene.words["CONSOLE"])) for _ in asked]
    for number in scene.each_while(0.001):
        lines[number % len(lines)].push(lambda: asked[number % len(asked)])


def holds(scene):
    size = sum(one.stat().st_size for one in scene.folder.glob("*/audit.jsonl*"))
    assert size <= 2 << 20, f"the audit has {size} bytes"
