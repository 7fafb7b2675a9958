"""HTTP requests one behind the other, without waiting for any answer, and none is read."""

from blows import Flood, post
from registry import Attack

ATTACK = Attack(
    aims_at="requests of a connection under way, and answers unread", rules=(27, 28))


def attack(scene):
    bearer = f"Authorization: Bearer {scene.token('mallory')}"
    asked = b"GET /v1/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n" * 20
    asked += post("/v1/call/list", b"{}", (bearer,)) * 20
    lines = [Flood(scene.raw, reads=number % 2 == 0) for number in range(10)]
    for number in scene.each_while():
        lines[number % len(lines)].push(lambda: asked)
