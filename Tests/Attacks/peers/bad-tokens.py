"""Tokens that are no good, over HTTP and in hello."""

from blows import Flood, post
from registry import Attack

ATTACK = Attack(aims_at="bad tokens of an address", rules=(29,),
                config='limits = { auth_delay = "1s" }\n'
                       'trusted_proxies = { "127.0.0.0/8" }\n')
FROM = "192.0.2.1"  # an address of its own: peers on loopback are not counted


def attack(scene):
    bad = scene.token("mallory", secret="not the one that it should be, but long")
    asked = post("/v1/call/list", b"{}", (
        f"Authorization: Bearer {bad}", f"X-Forwarded-For: {FROM}")) * 20
    lines = [Flood(scene.raw) for _ in range(50)]
    for number in scene.each_while():
        lines[number % len(lines)].push(lambda: asked)
        if number % 50 == 0:
            raw = scene.raw().upgrade(**{"X-Forwarded-For": FROM})
            raw.send_json({"id": 1, "op": "hello", "data": {"token": bad, "device": "d"}})
            raw.close()
