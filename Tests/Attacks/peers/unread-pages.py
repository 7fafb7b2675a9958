"""One user who asks for large pages over many HTTP connections, and reads none of them."""

from blows import Client, Flood, post
from registry import Attack

ATTACK = Attack(aims_at="bytes of the pages that a user may have", rules=(27, 28, 110))


def prepare(scene):
    client = Client(scene, "mallory")
    for _ in range(150):
        client.ask("call.cancel", call_id=client.call("nobody", extended_data="x" * 2_000))
    client.close()


def attack(scene):
    bearer = f"Authorization: Bearer {scene.token('mallory')}"
    asked = post("/v1/call/list", b'{"limit":100}', (bearer,)) * 10
    lines = [Flood(scene.raw, reads=False) for _ in range(60)]
    for number in scene.each_while():
        lines[number % len(lines)].push(lambda: asked)
