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
    """One connection that sends whatever the server takes, and drops what it says, or leaves it."""

    def __init__(self, enter, reads=True, scene=None):
        self.enter, self.reads, self.scene = enter, reads, scene
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
            readable, writable, _ = select.select(wants, [self.socket], [], TURN)
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


def crowd(scene, asked, count):
    """Says the same over so many connections until the end, as often as each of them takes it."""
    lines = [None] * count
    for _ in scene.each_while():
        for place, line in enumerate(lines):
            try:
                lines[place] = line or Pusher(scene)
                lines[place].push(asked)
            except OSError:
                if line:
                    line.socket.close()
                lines[place] = None


class Pusher:
    """One connection of a crowd. It never waits, and drops what it is told."""

    def __init__(self, scene):
        self.socket, self.rest = scene.raw().socket, b""
        self.socket.setblocking(False)

    def push(self, asked):
        with contextlib.suppress(BlockingIOError):
            if not self.socket.recv(READ):
                raise ConnectionResetError
        with contextlib.suppress(BlockingIOError):
            self.rest = self.rest or asked
            self.rest = self.rest[self.socket.send(self.rest):]


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
