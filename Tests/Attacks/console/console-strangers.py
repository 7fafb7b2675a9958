"""Requests of people without a token, with bad ones and with too low a role, without pause."""

import socket

from blows import Flood
from registry import Attack, console

ATTACK = Attack(aims_at="the console's door", config=console(), is_taken=False)


class Way:
    """A connection to the console, as a flood wants it."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", int(port)))


def request(path, token, method="POST"):
    return (
        f"{method} /admin/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: 2\r\n\r\n{{}}").encode()


def attack(scene):
    viewer = scene.token("vera", role="viewer", aud="callagent-admin")
    asked = [
        request("/reload", viewer) * 50, request("/reload", "x.y.z"), request("/status", "", "GET"),
        request("/reload", scene.token("ann")),
        b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n" * 50]
    lines = [Flood(lambda: Way(scene.words["CONSOLE"])) for _ in asked]
    for number in scene.each_while():
        lines[number % len(lines)].push(lambda: asked[number % len(asked)])
