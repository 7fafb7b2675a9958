"""Strangers who ask for the longest files of the documentation, and read nothing of them."""

import select
import socket

from registry import Attack, console

ATTACK = Attack(aims_at="the documentation at the console", config=console(), is_taken=False)
STRANGERS = 90
ASKS = b"GET /help/site/data/long.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def dress(scene):
    site = scene.folder / "site"
    for name, size in (("js/callagent.js", 1), ("data/long.json", 1 << 20)):
        (site / name).parent.mkdir(parents=True)
        (site / name).write_bytes(b" " * size)
    scene.agent.environment["CALLAGENT_SITE"] = str(site)


class Stranger:
    """Asks, takes the first bytes of what comes, and asks again when it was put out."""

    def __init__(self, scene):
        self.port = int(scene.words["CONSOLE"])
        self.begun = False
        self.come()

    def come(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self.socket.setblocking(False)
        self.socket.send(ASKS)
        self.begun = False

    def step(self):
        if self.begun or not select.select([self.socket], [], [], 0)[0]:
            return
        try:
            head = self.socket.recv(64)
        except OSError:
            head = b""
        self.begun = b" 200 " in head
        if not self.begun:
            self.socket.close()
            self.come()


def attack(scene):
    strangers = [Stranger(scene) for _ in range(STRANGERS)]
    for number in scene.each_while(0.002):
        strangers[number % STRANGERS].step()
    assert any(stranger.begun for stranger in strangers), "nobody was given anything"
