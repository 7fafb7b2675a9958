"""One user sends long requests over very many HTTP connections to a front end, and never waits."""

from blows import long_bodies
from nodes import cluster_attack, dress, launch

# One user, and strangers: beyond `limits.connections_per_user` its connections are theirs.
ATTACK = cluster_attack(
    aims_at="what waits at a front end for its link", accounts=1 + 4, seconds=(2.0, 8.0))
HANDS = 3


def attack(scene):
    long_bodies(scene, "mallory", 60)


def holds(scene):
    """Nothing broke the link that everybody of this front end shares."""
    links = scene.front.log_text().count('"message":"linked"')
    assert links == 1, f"the front end was linked {links} times"
