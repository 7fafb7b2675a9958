"""The large documents that anybody may fetch, fetched by many who never read them."""

from blows import Flood
from registry import Attack

ATTACK = Attack(
    aims_at="what strangers leave unread", rules=(18, 99, 110), accounts=4)
ASKED = b"GET /v1/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n" * 64


def attack(scene):
    lines = [Flood(scene.raw, reads=False) for _ in range(200)]
    for number in scene.each_while():
        lines[number % len(lines)].push(lambda: ASKED)
