"""A token that was taken back knocks for ever, over HTTP and in hello."""

from blows import Flood, post
from registry import Attack

ATTACK = Attack(aims_at="tokens that were taken back", rules=(29, 82),
                config='revoked = { "stolen" }\nlimits = { auth_delay = "1s" }\n')


def attack(scene):
    token = scene.token("mallory", jti="stolen")
    asked = post("/v1/call/list", b"{}", (f"Authorization: Bearer {token}",)) * 20
    line = Flood(scene.raw)
    for _ in scene.each_while():
        line.push(lambda: asked)
        raw = scene.raw().upgrade()
        raw.send_json({"id": 1, "op": "hello", "data": {"token": token, "device": "d"}})
        raw.close()
