"""A way to PostgreSQL that reads along: it may hold a commit up after any of its statements."""

import threading

from way import Talk, Way

PLAIN = 196_608  # the version in a start without encryption; requests before it have other numbers


class Trap:
    """Springs once, in the first commit that is seen: after so many of its statements, or where it
    has fewer, before its end; None: after its end."""

    def __init__(self, statements, act):
        self.statements, self.act = statements, act
        self.sprung = threading.Event()
        self.held = []  # the statements that had gone through


class Tap(Way):
    """A way that understands what a client sends to PostgreSQL."""

    def __init__(self, port):
        super().__init__(port)
        self.trap = None

    def talk(self):
        return ReadTalk(self)


class ReadTalk(Talk):
    """What one client says to the server, message by message."""

    def __init__(self, tap):
        self.tap = tap
        self.rest, self.is_typed = b"", False
        self.seen = None  # statements of the commit that is under way
        self.name = ""
        self.springs = self.is_held = False

    def pass_on(self, data):
        """The messages that may go on; what follows in a trap is kept for ever."""
        self.rest += data
        passed = b""
        while not self.is_held and (message := self.next()):
            if self.is_typed:
                goes, stays = self.look(message)
            else:
                goes, stays = True, False
                self.is_typed = int.from_bytes(message[4:8], "big") == PLAIN
            if goes:
                passed += message
            if stays:
                self.springs = self.is_held = True
        return passed

    def next(self):
        head = 1 if self.is_typed else 0
        if len(self.rest) < head + 4:
            return None
        size = head + int.from_bytes(self.rest[head:head + 4], "big")
        if len(self.rest) < size:
            return None
        message, self.rest = self.rest[:size], self.rest[size:]
        return message

    def look(self, message):
        """Whether a message goes on, and whether it is the last one that does."""
        trap, kind = self.tap.trap, message[:1]
        if trap is None or trap.sprung.is_set():
            self.seen = None
            return True, False
        if kind == b"B":  # portal and statement, each with a NUL at its end
            self.name = message[5:].split(b"\0", 2)[1].decode()
            if self.name.startswith("fence"):
                self.seen = []
        elif kind == b"E" and self.seen is not None:
            self.seen.append(self.name.rsplit(".", 1)[0])
            return True, len(self.seen) == trap.statements
        elif kind == b"S" and self.seen is not None:
            # A node that only looks whether it still owns commits nothing.
            if len(self.seen) > 2:
                return trap.statements is None, True
            self.seen = None
        return True, False

    def sent(self):
        if self.springs:
            self.spring()

    def spring(self):
        self.springs = False
        trap = self.tap.trap
        if not trap.sprung.is_set():
            trap.held = self.seen
            trap.act()
            trap.sprung.set()
