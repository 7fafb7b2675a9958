"""One user sends long requests over very many HTTP connections, most of which are only refused."""

from blows import crowd, post
from registry import Attack

ATTACK = Attack(aims_at="connections that are refused for what their user has sent",
                rules=(25, 28), seconds=(2.0, 8.0), is_taken=False)
HANDS = 3
BODY = b'{"invitees":["nobody"],"x":"%s"}' % (b"x" * 60_000)


def attack(scene):
    bearer = f"Authorization: Bearer {scene.token('mallory')}"
    crowd(scene, post("/v1/call/invite", BODY, (bearer,)), 30)
