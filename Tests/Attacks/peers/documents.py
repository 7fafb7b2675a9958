"""The large documents that anybody may fetch, fetched without pause."""

from blows import Flood
from registry import Attack

ATTACK = Attack(
    aims_at="what is served without a token", rules=(99,))


def attack(scene):
    asked = b"".join(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode() for path in (
        "/v1/openapi.json", "/v1/asyncapi.json", "/readyz", "/healthz", "/nothing")) * 4
    lines = [Flood(scene.raw) for _ in range(4)]
    for number in scene.each_while():
        lines[number % len(lines)].push(lambda: asked)
