"""One user's connections that ask once over HTTP and are kept, until all places are taken."""

from blows import post
from registry import Attack

ATTACK = Attack(aims_at="connections over which a user asks over HTTP", rules=(110,),
                config="limits = { connections = 150 }\n")


def attack(scene):
    asked = post("/v1/call/list", b'{"limit":1}',
                 (f"Authorization: Bearer {scene.token('mallory')}",))
    held = []
    for _ in scene.each_while(0.005):
        held.append(scene.raw().send(asked))


def holds(scene):
    assert "ok" in scene.device("newcomer").ask("ping"), "a newcomer is not let in"
