"""A bare socket: for bytes that no well-behaved library would send."""

import json
import os
import socket
import struct
import time

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
KEY = "dGhlIHNhbXBsZSBub25jZQ=="  # the example of RFC 6455, section 1.3
PATIENCE = 15


def frame(opcode, payload=b"", fin=True, masked=True, rsv=0, length=None):
    """A frame; `length` forces the long forms 126 and 127 where a short one would do."""
    first = (0x80 if fin else 0) | rsv << 4 | opcode
    size = len(payload)
    form = length or (126 if size > 125 else size) if size < 65_536 else 127
    head = bytes([first, (0x80 if masked else 0) | form])
    if form == 126:
        head += struct.pack(">H", size)
    elif form == 127:
        head += struct.pack(">Q", size)
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


class RawSocket:
    """A TCP connection to the server."""

    def __init__(self, port, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", port))
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data)
        return self

    def send_json(self, message):
        return self.send(frame(TEXT, json.dumps(message).encode()))

    # HTTP

    def upgrade(self, **changes):
        """Becomes a WebSocket, or returns None when the server refuses."""
        head = {"Host": "127.0.0.1", "Upgrade": "websocket", "Connection": "Upgrade",
                "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": KEY} | changes
        lines = [f"{name}: {value}" for name, value in head.items() if value is not None]
        self.send(("GET /v1/ws HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode())
        self.status = self.status_line()
        return self if self.status == 101 else None

    def status_line(self):
        """Reads the head of an answer and returns the status; 0 when the server just closes."""
        while b"\r\n\r\n" not in self.buffer:
            if not self.read_more():
                return 0
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        self.head = head.decode()
        return int(head.split()[1])

    # Frames

    def read_more(self):
        try:
            data = self.socket.recv(65_536)
        except ConnectionResetError:
            data = b""
        except TimeoutError:
            raise AssertionError("the server neither answered nor closed") from None
        self.buffer += data
        return bool(data)

    def next_frame(self):
        """The next frame as (opcode, payload); None at the end of the stream."""
        while True:
            parsed = self.parse()
            if parsed:
                return parsed
            if not self.read_more():
                return None

    def parse(self):
        if len(self.buffer) < 2:
            return None
        size, at = self.buffer[1] & 0x7F, 2
        assert not self.buffer[1] & 0x80, "the server masked a frame"
        if size >= 126:
            width = 2 if size == 126 else 8
            at += width
            if len(self.buffer) < at:
                return None
            size = int.from_bytes(self.buffer[2:at], "big")
        if len(self.buffer) < at + size:
            return None
        opcode, payload = self.buffer[0] & 0x0F, self.buffer[at:at + size]
        self.buffer = self.buffer[at + size:]
        return opcode, payload

    def message(self):
        """The next text message, parsed; pings are passed over."""
        while True:
            found = self.next_frame()
            assert found, "the server closed"
            if found[0] == TEXT:
                return json.loads(found[1])
            assert found[0] == PING, found

    def close_code(self, timeout=PATIENCE):
        """Reads to the end and returns the code of the close frame, None if there was none."""
        code = None
        deadline = time.monotonic() + timeout
        while True:
            self.socket.settimeout(max(0.01, deadline - time.monotonic()))
            found = self.next_frame()
            if not found:
                return code
            if found[0] == CLOSE:
                code = int.from_bytes(found[1][:2], "big")
                self.socket.settimeout(1)
                self.answer_close()

    def answer_close(self):
        try:
            self.send(frame(CLOSE, b""))
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server was quicker

    def hello(self, user, device="phone"):
        self.send_json({"id": 1, "op": "hello", "data": {"token": f"dev:{user}", "device": device}})
        assert "ok" in self.message()
        return self

    def close(self):
        self.socket.close()
