"""One user sends long requests over very many HTTP connections to a front end, and never waits."""

from blows import crowd, post
from nodes import cluster_attack, dress, finish, launch

ATTACK = cluster_attack(
    aims_at="what waits at a front end for its link", seconds=(2.0, 8.0))
HANDS = 3
BODY = b'{"invitees":["nobody"],"x":"%s"}' % (b"x" * 60_000)


def attack(scene):
    bearer = f"Authorization: Bearer {scene.token('mallory')}"
    crowd(scene, post("/v1/call/invite", BODY, (bearer,)), 60)


def holds(scene):
    """Nothing broke the link that everybody of this front end shares."""
    links = scene.front.log_text().count('"message":"linked"')
    assert links == 1, f"the front end was linked {links} times"
