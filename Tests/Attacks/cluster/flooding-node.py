"""A node says as much over its link as the owner takes, and reads nothing of the answers."""

import json

from nodes import FalseNode, cluster_attack, dress, launch

ATTACK = cluster_attack(aims_at="what a link carries", accounts=2)
PING = json.dumps({"id": "x" * 60, "op": "ping"})


def attack(scene):
    node = FalseNode(scene)
    stream = node.brings("mallory")
    for _ in scene.each_while():
        for _ in range(50):
            node.text(stream, PING)
