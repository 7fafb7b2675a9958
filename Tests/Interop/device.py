"""A device of a user: the client side of the protocol, as strict as the contract allows."""

import collections
import contextlib
import itertools
import json
import socket
import time

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

PATIENCE = 15  # seconds that an answer or an event may take

EVENTS = {
    "call.created", "call.incoming", "call.changed", "call.timed_out", "call.cancelled",
    "call.ended", "call.elsewhere", "call.failed", "call.media_phase", "call.media_flags",
    "call.hold", "call.items", "call.signal", "call.missed", "call.transferred", "call.removed",
}

ERRORS = {
    "bad_request", "unsupported", "unauthenticated", "forbidden", "not_found", "not_invited",
    "not_inviter", "already_answered", "already_joined", "already_primary", "call_ended", "expired",
    "cancelled", "wrong_mode", "wrong_state", "busy", "self_call", "too_many", "too_large",
    "key_reused", "rate_limited", "refused", "unavailable", "internal",
}

NO_CALL = "0" * 32


class Device:
    """One WebSocket connection. Every message that arrives is held against the contract."""

    def __init__(
            self, url, user, device="phone", resume=None, token=None, greet=True, missed=False):
        self.user = user
        self.name = device
        self.seq = resume["seq"] if resume else 0
        self.ids = itertools.count(1)
        self.replies = {}
        self.pending_events = collections.deque()
        self.arrivals = []
        self.open = contextlib.ExitStack()
        self.ws = self.open.enter_context(connect(
            url, subprotocols=["callagent.v1.json"], compression=None, ping_interval=None,
            max_size=None, open_timeout=PATIENCE, close_timeout=1))
        if greet:
            self.greet(resume, token, missed)

    def greet(self, resume=None, token=None, missed=False):
        data = {"token": token or f"dev:{self.user}", "device": self.name}
        if missed:
            data["missed"] = True
        if resume:
            data["resume"] = resume
        self.hello = self.ok("hello", **data)
        self.session = self.hello["session"]
        assert not self.pending_events, "an event before the reply to hello"
        if not self.hello["resumed"]:
            self.seq = 0
        return self.hello

    # Sending

    def send(self, message):
        """Sends anything: a dictionary as JSON, text and bytes as they are."""
        self.ws.send(json.dumps(message) if isinstance(message, dict) else message)

    def post(self, op, data, key=None):
        """Sends a request without waiting; returns its id."""
        number = next(self.ids)
        message = {"id": number, "op": op, "data": data}
        if key is not None:
            message["key"] = key
        self.send(message)
        return number

    def ack(self):
        self.send({"ack": self.seq})

    # Asking

    def ask(self, op, key=None, **data):
        """A request and its one reply, whatever that says."""
        return self.reply(self.post(op, data, key))

    def ok(self, op, key=None, **data):
        reply = self.ask(op, key, **data)
        assert "ok" in reply, f"{self}: {op} {data} → {reply}"
        return reply["ok"]

    def refused(self, op, code, key=None, **data):
        """A request that must fail with this code; returns the error."""
        reply = self.ask(op, key, **data)
        assert "error" in reply, f"{self}: {op} {data} was not refused: {reply}"
        assert reply["error"]["code"] == code, f"{self}: {op} {data} → {reply['error']}"
        return reply["error"]

    def reply(self, number, timeout=PATIENCE):
        deadline = time.monotonic() + timeout
        while number not in self.replies:
            self.receive(deadline)
        return self.replies.pop(number)

    # Receiving

    def receive(self, deadline):
        """Takes one message from the connection and files it."""
        try:
            text = self.ws.recv(timeout=max(0, deadline - time.monotonic()))
        except TimeoutError:
            raise AssertionError(f"{self}: nothing came in time") from None
        assert isinstance(text, str), f"{self}: a binary message"
        message = json.loads(text)
        if "event" in message:
            self.file_event(message)
        else:
            self.file_reply(message)

    def file_event(self, message):
        assert set(message) == {"seq", "event", "data"}, message
        assert message["event"] in EVENTS, message
        assert message["seq"] == self.seq + 1, f"{self}: seq {self.seq}, then {message}"
        self.seq = message["seq"]
        data = message["data"]
        assert {"call_id", "revision", "at", "actor"} <= set(data), message
        assert isinstance(data["revision"], int) and data["revision"] >= 1, message
        assert isinstance(data["at"], int) and data["at"] > 1_500_000_000_000, message
        assert isinstance(data["actor"], dict), message
        self.arrivals.append(message["event"])
        self.pending_events.append(message)

    def file_reply(self, message):
        assert "re" in message and len(message) == 2, message
        if "error" in message:
            error = message["error"]
            assert error["code"] in ERRORS and error["message"], message
            assert error["retryable"] == (error["code"] in ("rate_limited", "unavailable")), message
        else:
            assert isinstance(message["ok"], dict), message
        self.arrivals.append("reply")
        assert message["re"] not in self.replies, f"{self}: two replies to {message['re']}"
        self.replies[message["re"]] = message

    def event(self, name, timeout=PATIENCE):
        """The data of the next event, which must be of this name."""
        deadline = time.monotonic() + timeout
        while not self.pending_events:
            self.receive(deadline)
        message = self.pending_events.popleft()
        assert message["event"] == name, f"{self}: expected {name}, got {message}"
        return message["data"]

    def events(self, *names):
        """The next events, which must be these in any order; a dictionary by name."""
        left, found = sorted(names), {}
        deadline = time.monotonic() + PATIENCE
        while left:
            while not self.pending_events:
                self.receive(deadline)
            message = self.pending_events.popleft()
            assert message["event"] in left, f"{self}: expected {left}, got {message}"
            left.remove(message["event"])
            found[message["event"]] = message["data"]
        return found

    def quiet(self):
        """Nothing has been sent to this device that the test has not named.

        The reply to a question about an unknown call leaves after everything that was decided
        before it, so no time has to pass.
        """
        self.refused("call.get", "not_found", call_id=NO_CALL)
        assert not self.pending_events, f"{self}: not expected: {list(self.pending_events)}"

    def forget(self):
        """Takes whatever has been sent so far."""
        self.refused("call.get", "not_found", call_id=NO_CALL)
        self.pending_events.clear()

    def closed(self, timeout=PATIENCE):
        """Waits for the server to close; returns the code. Messages before that are filed."""
        deadline = time.monotonic() + timeout
        try:
            while True:
                self.receive(deadline)
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None

    def close(self):
        """Ends the connection as a phone does that leaves the network politely."""
        self.open.close()

    def vanish(self):
        """Ends the connection without a word."""
        self.ws.socket.shutdown(socket.SHUT_RDWR)

    @property
    def resume(self):
        return {"session": self.session, "seq": self.seq}

    def __repr__(self):
        return f"{self.user}/{self.name}"
