"""A front end that says what a test wants it to say over its link to the owner."""

import socket
import struct

PATIENCE = 15

KINDS = {
    "greets": 1, "lives": 2, "opens": 3, "returns": 4, "says": 5, "asks": 6, "took": 7,
    "leaves": 8, "manages": 9, "reports": 10, "tells": 65, "begins": 66, "keeps": 67, "settles": 68,
    "answers": 69, "ends": 70, "inquires": 71,
}
NAMES = {number: name for name, number in KINDS.items()}


def word(number):
    return struct.pack(">I", number)


def counted(content):
    data = content.encode() if isinstance(content, str) else content
    return word(len(data)) + data


def frame(kind, body, epoch, number):
    rest = bytes([KINDS[kind]]) + word(epoch) + struct.pack(">Q", number) + body
    return word(len(rest)) + rest


class RawLink:
    """One connection to the owner's listener for links."""

    def __init__(self, port, epoch=1, node="x", greets=True, tls=None):
        self.epoch, self.number, self.buffer = epoch, 0, b""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        if tls:
            self.socket = tls.wrap_socket(self.socket)
        if greets:
            self.say("greets", b"\x01" + counted("default") + counted(node))
            assert self.hear("greets")

    def say(self, kind, body=b"", epoch=None, number=None):
        """One frame; epoch and number are those that are right unless they are given."""
        self.number += 1
        self.socket.sendall(frame(
            kind, body, self.epoch if epoch is None else epoch,
            self.number if number is None else number))

    def opens(self, stream, host=""):
        self.say("opens", word(stream) + counted(host) + counted(""))

    def text(self, stream, text):
        self.say("says", word(stream) + counted(text))

    def read(self, count):
        while len(self.buffer) < count:
            data = self.socket.recv(65_536)
            if not data:
                raise ConnectionResetError
            self.buffer += data
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def hear(self, *wanted):
        """The body of the next frame of one of these kinds; others are passed over."""
        while True:
            rest = self.read(struct.unpack(">I", self.read(4))[0])
            if NAMES[rest[0]] in wanted:
                return rest[13:]

    def is_ended(self):
        """Whether the owner ends it; what it says before is passed over."""
        try:
            while True:
                self.read(1)
        except TimeoutError:
            return False
        except OSError:
            return True

    def close(self):
        self.socket.close()
