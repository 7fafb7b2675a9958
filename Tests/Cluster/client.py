"""One device of a user as a state machine on an event loop, so that hundreds fit in a thread."""

import asyncio
import json

from crowd import UPGRADE
from raw import CLOSE, PING, PONG, TEXT


def frame(opcode, payload):
    """A masked frame. The mask is nought: these clients are to cost little."""
    size = len(payload)
    if size < 126:
        head = bytes((0x80 | opcode, 0x80 | size))
    else:
        head = bytes((0x80 | opcode, 0x80 | 126)) + size.to_bytes(2, "big")
    return head + bytes(4) + payload


class Line(asyncio.Protocol):
    """A WebSocket of one device; tells its owner what comes."""

    def __init__(self, owner):
        self.owner = owner
        self.buffer = b""
        self.is_open = self.is_over = False
        self.code = self.transport = None

    def connection_made(self, transport):
        self.transport = transport
        transport.write(UPGRADE)

    def say(self, message):
        self.transport.write(frame(TEXT, json.dumps(message).encode()))

    def data_received(self, data):
        self.buffer += data
        if not self.is_open:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            if not found:
                return
            if b" 101 " not in head.split(b"\r\n")[0]:
                self.transport.abort()
                return
            self.is_open, self.buffer = True, rest
            self.owner.line_opened(self)
        self.take_frames()

    def take_frames(self):
        data, at = self.buffer, 0
        while len(data) - at >= 2 and not self.is_over:
            size, begin = data[at + 1], at + 2
            if size == 126:
                size, begin = int.from_bytes(data[at + 2:at + 4], "big"), at + 4
            elif size == 127:
                size, begin = int.from_bytes(data[at + 2:at + 10], "big"), at + 10
            if begin > len(data) or len(data) < begin + size:
                break
            self.take(data[at] & 0x0F, data[begin:begin + size])
            at = begin + size
        self.buffer = data[at:]

    def take(self, opcode, payload):
        if opcode == TEXT:
            self.owner.line_said(self, payload.decode())
        elif opcode == PING:
            self.transport.write(frame(PONG, payload))
        elif opcode == CLOSE:
            self.code = int.from_bytes(payload[:2], "big")
            self.transport.close()

    def connection_lost(self, _):
        self.is_over = True
        self.owner.line_ended(self)

    def drop(self):
        if self.transport:
            self.transport.abort()


async def over_http(port, user, device, op, data, key):
    """An operation over HTTP; returns the text of a reply as over a WebSocket."""
    body = json.dumps(data).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        lines = [f"POST /v1/{op.replace('.', '/')} HTTP/1.1", "Host: localhost",
                 f"Authorization: Bearer dev:{user}", f"X-Device: {device}",
                 "Content-Type: application/json", "Connection: close",
                 f"Content-Length: {len(body)}"]
        lines += [f"Idempotency-Key: {key}"] if key else []
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        head, _, text = (await reader.read(-1)).decode().partition("\r\n\r\n")
        if not text or len(text.encode()) < length_of(head):
            raise ConnectionError("the answer broke off")
        if " 200 " in head.split("\r\n")[0]:
            return f'{{"ok":{text}}}'
        return f'{{"error":{text}}}'
    finally:
        writer.close()


def length_of(head):
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            return int(value)
    return 0
