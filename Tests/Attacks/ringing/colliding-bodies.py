"""Another request under a key that is kept, chosen so that the marks of both bodies are the same.

What is kept of a body in memory is half of a hash that everybody can compute. Such a request passes
for a repetition, which costs nothing of a rate, until the store tells them apart.
"""

import functools

from blows import Client, flood, message
from registry import Attack

ATTACK = Attack(aims_at="marks of requests under keys", rules=(25, 95), is_taken=False)
START, PRIME, HALF = 0x84222325, 0x1B3, 2**32 - 1  # of FNV-1a with 64 bits, the lower half


def mark(text, value=START):
    for byte in text.encode():
        value = (value ^ byte) * PRIME & HALF
    return value


@functools.cache
def collision():
    """Two texts of a member that nobody knows, with which the same request has the same mark."""
    begin = mark('call.invite\0{"invitees":["nobody"],"mode":"common","zz":"')
    seen = {}
    for number in range(1_000_000):
        text = f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}"
        other = seen.setdefault(mark(text + '"}', begin), text)
        if other != text:
            return other, text
    raise AssertionError("no two requests have the same mark")


def request(text, number=None):
    return message("call.invite", number, key="same", invitees=["nobody"], mode="common", zz=text)


def prepare(scene):
    first, second = collision()
    client = Client(scene, "mallory")
    for text, code in ((first, None), (second, "key_reused"), (first, None)):
        client.raw.send(request(text, 1))
        reply = client.raw.message()
        while reply.get("re") != 1:
            reply = client.raw.message()
        assert reply.get("error", {}).get("code") == code, reply
    client.close()


def attack(scene):
    flood(scene, "mallory", request(collision()[1]) * 20)
