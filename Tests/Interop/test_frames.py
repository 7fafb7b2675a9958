"""Frames and handshakes that break RFC 6455 or HTTP close the connection, and harm nobody else."""

import json

import pytest

from raw import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, RawSocket, frame

PING_REQUEST = json.dumps({"id": 2, "op": "ping"}).encode()


@pytest.fixture
def raw(agent):
    """A bare connection that has said hello as bob."""
    socket = RawSocket(agent.port).upgrade().hello("bob")
    yield socket
    socket.close()


@pytest.fixture
def bystander(agent):
    """Somebody else, who must not notice."""
    alice = agent.connect("alice")
    yield alice
    alice.quiet()


BROKEN = {
    "an unmasked frame": (frame(TEXT, PING_REQUEST, masked=False), 1002),
    "a reserved bit": (frame(TEXT, PING_REQUEST, rsv=4), 1002),
    "a reserved opcode": (frame(0x3, PING_REQUEST), 1002),
    "a reserved control opcode": (frame(0xB), 1002),
    "a ping of 126 bytes": (frame(PING, b"x" * 126), 1002),
    "a ping in two parts": (frame(PING, b"x", fin=False), 1002),
    "a continuation of nothing": (frame(CONTINUATION, PING_REQUEST), 1002),
    "a message within a message": (frame(TEXT, b"{", fin=False) + frame(TEXT, b"}"), 1002),
    "a length in a longer form than needed": (frame(TEXT, PING_REQUEST, length=126), 1002),
    "a length with the highest bit": (b"\x81\xff" + b"\xff" * 8 + b"abcd", 1002),
    "text that is no UTF-8": (frame(TEXT, b'{"op":"\xc3\x28"}'), 1007),
    "a surrogate in UTF-8": (frame(TEXT, b'{"op":"\xed\xa0\x80"}'), 1007),
    "half a character at the end": (frame(TEXT, b'{"op":"\xe2\x82'), 1007),
    "binary data": (frame(BINARY, PING_REQUEST), 1003),
    "a message over the limit": (frame(TEXT, b" " * 65_537), 1009),
    "fragments over the limit": (
        frame(TEXT, b" " * 40_000, fin=False) + frame(CONTINUATION, b" " * 40_000), 1009),
    "a close frame of one byte": (frame(CLOSE, b"\x03"), 1002),
    "a close code that is never sent": (frame(CLOSE, b"\x03\xed"), 1002),
    "a close reason that is no UTF-8": (frame(CLOSE, b"\x03\xe8\xff"), 1007),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_frame_closes_with_its_code(raw, bystander, name):
    data, code = BROKEN[name]
    raw.send(data)
    assert raw.close_code() == code


def test_a_huge_length_is_refused_before_the_bytes_come(raw, bystander):
    raw.send(b"\x81\xff\x00\x00\x00\x00\x40\x00\x00\x00abcd")
    assert raw.close_code() == 1009


def test_a_close_is_echoed(raw, bystander):
    raw.send(frame(CLOSE, b"\x03\xe8"))
    assert raw.close_code() == 1000


def test_a_ping_frame_is_echoed_in_the_middle_of_a_message(raw, bystander):
    raw.send(frame(TEXT, PING_REQUEST[:5], fin=False) + frame(PING, b"are you there"))
    assert raw.next_frame() == (PONG, b"are you there")
    raw.send(frame(CONTINUATION, PING_REQUEST[5:]))
    assert raw.message() == {"re": 2, "ok": {}}


def test_a_message_byte_by_byte(raw, bystander):
    for byte in frame(TEXT, PING_REQUEST):
        raw.send(bytes([byte]))
    assert raw.message() == {"re": 2, "ok": {}}


def test_many_messages_in_one_piece(raw, bystander):
    many = b"".join(
        frame(TEXT, json.dumps({"id": number, "op": "ping"}).encode()) for number in range(500))
    raw.send(many)
    assert [raw.message()["re"] for _ in range(500)] == list(range(500))


def test_a_message_in_a_hundred_fragments(raw, bystander):
    text = PING_REQUEST + b" " * 100
    parts = [text[at:at + 1] for at in range(len(text))]
    raw.send(frame(TEXT, parts[0], fin=False))
    for part in parts[1:-1]:
        raw.send(frame(CONTINUATION, part, fin=False))
    raw.send(frame(CONTINUATION, parts[-1]))
    assert raw.message() == {"re": 2, "ok": {}}


def test_an_unasked_pong_is_ignored(raw, bystander):
    raw.send(frame(PONG, b"hi") + frame(TEXT, PING_REQUEST))
    assert raw.message() == {"re": 2, "ok": {}}


HANDSHAKES = {
    "no key": ({"Sec-WebSocket-Key": None}, 400),
    "a key of the wrong length": ({"Sec-WebSocket-Key": "c2hvcnQ="}, 400),
    "an old version": ({"Sec-WebSocket-Version": "8"}, 426),
    "no version": ({"Sec-WebSocket-Version": None}, 426),
    "no upgrade": ({"Upgrade": None}, 426),
    "no connection header": ({"Connection": None}, 426),
    "no host": ({"Host": None}, 400),
}


@pytest.mark.parametrize("name", HANDSHAKES)
def test_a_broken_handshake_is_refused(agent, bystander, name):
    changed, status = HANDSHAKES[name]
    socket = RawSocket(agent.port)
    assert socket.upgrade(**changed) is None
    assert socket.status in (400, status), socket.head
    if socket.status == 426:
        assert "sec-websocket-version: 13" in socket.head.lower()
    socket.close()


HTTP = {
    "no request at all": (b"\x00\x01\x02\x03\r\n\r\n", 400),
    "an HTTP version of the future": (b"GET /healthz HTTP/3.0\r\nHost: localhost\r\n\r\n", 505),
    "no version": (b"GET /healthz\r\n\r\n", 400),
    "a space before the colon": (b"GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n", 400),
    "a folded header": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n", 400),
    "two hosts": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n", 400),
    "a length and chunks": (
        b"POST /v1/call/list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n{}", 400),
    "two lengths": (
        b"POST /v1/call/list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
        b"Content-Length: 3\r\n\r\n{}", 400),
    "a negative length": (
        b"POST /v1/call/list HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400),
    "a length with a sign": (
        b"POST /v1/call/list HTTP/1.1\r\nHost: localhost\r\nContent-Length: +2\r\n\r\n{}", 400),
    "a control character in a header": (
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: b\x00c\r\n\r\n", 400),
    "a head without end": (b"GET /healthz HTTP/1.1\r\nA: " + b"b" * 100_000, 431),
    "a target without end": (b"GET /" + b"a" * 100_000, 414),
}


@pytest.mark.parametrize("name", HTTP)
def test_broken_http_is_refused_and_closed(agent, bystander, name):
    data, status = HTTP[name]
    socket = RawSocket(agent.port)
    try:
        socket.send(data)
    except (BrokenPipeError, ConnectionResetError):
        pass  # refused before the last byte: all the better
    found = socket.status_line()
    assert found in (status, 400, 431), f"{found}: expected {status}"
    while socket.read_more():
        pass
    socket.close()


def test_a_bare_line_feed_does_not_smuggle_a_header(agent, bystander):
    socket = RawSocket(agent.port)
    socket.send(b"GET /healthz HTTP/1.1\r\nHost: a\nContent-Length: 5\r\n\r\nhello")
    assert socket.status_line() == 400
    socket.close()


@pytest.mark.full
def test_a_half_open_head_is_given_up(agent, bystander):
    socket = RawSocket(agent.port)
    socket.send(b"GET /healthz HTTP/1.1\r\nHo")
    socket.socket.settimeout(40)
    assert socket.status_line() in (0, 408)
    socket.close()
