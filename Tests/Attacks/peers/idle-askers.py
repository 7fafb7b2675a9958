"""One user's connections that ask once over HTTP and are kept, until all places are taken."""

import contextlib

from blows import post
from registry import Attack

ATTACK = Attack(aims_at="connections over which a user asks over HTTP", rules=(110,),
                config="limits = { connections = 60, connections_per_user = 20 }\n")


def asked(scene, user):
    return post("/v1/call/list", b'{"limit":1}', (f"Authorization: Bearer {scene.token(user)}",))


def answers(scene):
    """Whether somebody else can ask over the connection that they have had all the time."""
    scene.ann.buffer = b""
    with contextlib.suppress(OSError):
        return scene.ann.send(asked(scene, "ann")).status_line() == 200


def prepare(scene):
    scene.ann = scene.raw()
    assert answers(scene)


def attack(scene):
    mine = asked(scene, "mallory")
    held = []
    for _ in scene.each_while(0.005):
        held.append(scene.raw().send(mine))


def holds(scene):
    assert answers(scene), "somebody else has lost the connection"
    assert "ok" in scene.device("newcomer").ask("ping"), "a newcomer is not let in"
