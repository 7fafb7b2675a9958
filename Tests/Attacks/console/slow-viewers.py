"""Fifty viewers who ask for everything that there is, again and again, and read slowly."""

import select
import socket

from registry import Attack, console

ATTACK = Attack(aims_at="whoever looks on", config=console(), is_taken=False)
VIEWERS = 50
PATHS = (
    "/calls?limit=500", "/calls?after=0&wait_ms=25000", "/history?limit=500", "/log?limit=500",
    "/log?after=0&wait_ms=25000", "/decisions?limit=500", "/users?limit=500", "/plugins",
    "/audit?limit=500", "/status", "/config", "/openapi.json")


def prepare(scene):
    for caller in range(10):
        device = scene.device(f"caller-{caller}")
        for number in range(20):
            device.ok("call.invite", invitees=[f"callee-{caller}-{number}"], mode="common")


class Viewer:
    """Asks one request after the other, and takes a few bytes of an answer at a time."""

    def __init__(self, scene, number):
        self.scene, self.number = scene, number
        self.asked = 0
        self.come()

    def come(self):
        self.socket = socket.create_connection(("127.0.0.1", int(self.scene.words["CONSOLE"])))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self.socket.setblocking(False)

    def step(self):
        token = self.scene.token(f"viewer-{self.number}", role="viewer", aud="callagent-admin")
        path = PATHS[(self.number + self.asked) % len(PATHS)]
        self.asked += 1
        asks = (
            f"GET /admin/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {token}\r\n\r\n").encode()
        try:
            self.socket.send(asks)
            if select.select([self.socket], [], [], 0)[0] and not self.socket.recv(1_000):
                raise ConnectionResetError
        except BlockingIOError:
            pass
        except OSError:
            self.socket.close()
            self.come()


def attack(scene):
    viewers = [Viewer(scene, number) for number in range(VIEWERS)]
    for number in scene.each_while(0.002):
        viewers[number % VIEWERS].step()
