"""HTTP heads with far more fields than anybody needs."""

from blows import Flood
from registry import Attack

ATTACK = Attack(aims_at="heads of requests", rules=(110,))
HEAD = b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + b"".join(
    b"X-%d: %s\r\n" % (number, b"y" * 200) for number in range(5_000))


def attack(scene):
    line = Flood(scene.raw)
    for _ in scene.each_while():
        line.push(lambda: HEAD)
