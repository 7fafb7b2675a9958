"""What attackers do over and over: floods that never wait, and clients that ask one by one."""

import contextlib
import itertools
import json
import select
import socket

from raw import TEXT, frame

READ = 1 << 18  # bytes at a time
TAKEN = b'"ok":'  # stands in the answer to a request that was not refused
TURN = 0.02  # seconds that a flood waits for the server at most
NUMBERS = itertools.count(1)


def message(op, number=None, key=None, **data):
    """A request as a frame."""
    text = {"id": next(NUMBERS) if number is None else number, "op": op, "data": data}
    if key is not None:
        text["key"] = key
    return frame(TEXT, json.dumps(text).encode())


class Flood:
    """One connection that sends whatever the server takes, and drops what it says, or leaves it.
    It waits for the server so many seconds: one of very many does not."""

    def __init__(self, enter, reads=True, scene=None, turn=TURN):
        self.enter, self.reads, self.scene, self.turn = enter, reads, scene, turn
        self.waiting = b""
        self.socket = None

    def come(self):
        self.socket = self.enter().socket
        self.socket.setblocking(False)
        self.waiting = b""

    def push(self, more):
        """Sends on; asks `more` for bytes when nothing is left. Comes again when thrown out."""
        try:
            if self.socket is None:
                self.come()
            wants = [self.socket] if self.reads else []
            readable, writable, _ = select.select(wants, [self.socket], [], self.turn)
            if readable:
                answers = self.socket.recv(READ)
                if not answers:
                    raise ConnectionResetError
                if self.scene:
                    self.scene.taken.value += answers.count(TAKEN)
            if writable:
                self.waiting = self.waiting or more()
                self.waiting = self.waiting[self.socket.send(self.waiting):]
        except BlockingIOError:
            pass
        except OSError:
            self.leave()

    def leave(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None


def long_bodies(scene, user, count):
    """One user sends long requests over so many HTTP connections, as often as each takes one."""
    body = b'{"invitees":["nobody"],"x":"%s"}' % (b"x" * 60_000)
    asked = post("/v1/call/invite", body, (f"Authorization: Bearer {scene.token(user)}",))
    lines = [Flood(scene.raw, turn=0) for _ in range(count)]
    for _ in scene.each_while():
        for line in lines:
            line.push(lambda: asked)


def flood(scene, user, batch, reads=True, device="phone"):
    """Floods as a user until the end. `batch` is what to send, or makes it each time."""
    more = batch if callable(batch) else lambda: batch
    line = Flood(lambda: scene.enter(user, device), reads, scene)
    scene.asked.value |= reads
    for _ in scene.each_while():
        line.push(more)


class Client:
    """Asks and waits for the answer; events are passed over."""

    def __init__(self, scene, user, device="phone"):
        self.scene, self.raw = scene, scene.enter(user, device)
        self.incoming = []

    def ask(self, op, key=None, **data):
        """The whole reply."""
        number = next(NUMBERS)
        self.scene.asked.value = True
        self.raw.send(message(op, number, key, **data))
        while True:
            got = self.raw.message()
            if got.get("re") == number:
                self.scene.taken.value += "ok" in got
                return got
            if got.get("event") == "call.incoming":
                self.incoming.append(got["data"]["call_id"])

    def call(self, *invitees, mode="common", **data):
        """Places a call; returns its id, or None if it was refused."""
        reply = self.ask("call.invite", invitees=list(invitees), mode=mode, **data)
        return reply.get("ok", {}).get("call_id")

    def drain(self):
        """Takes what has come, without waiting."""
        self.raw.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while self.raw.read_more():
                self.raw.buffer = self.raw.buffer[-READ:]
        self.raw.socket.settimeout(5)

    def close(self):
        self.raw.close()


def trap(host="127.0.0.1"):
    """A listener that nobody serves: whoever connects waits. Returns it and its port."""
    listener = socket.socket()
    listener.bind((host, 0))
    listener.listen(4_096)
    return listener, listener.getsockname()[1]


def post(path, body=b"", headers=()):
    """An HTTP request as bytes, with a right length unless the headers say otherwise."""
    lines = [f"POST {path} HTTP/1.1", "Host: a", "Content-Type: application/json", *headers]
    if not any(line.lower().startswith(("content-length", "transfer-")) for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body
