"""A node that reads slowly what its clients are told, who are told very much."""

import time

from blows import Client
from nodes import FalseNode, cluster_attack, dress, launch

ATTACK = cluster_attack(aims_at="what waits for a node to read", accounts=2)


def attack(scene):
    node = FalseNode(scene)
    node.brings("mallory")
    caller = Client(scene, "trudy")
    call = caller.call("mallory", mode="advanced")
    read_at = 0
    for _ in scene.each_while():
        caller.ask("call.signal", call_id=call, to="mallory", data="x" * 12_000)
        if time.monotonic() - read_at > 0.05:
            read_at = time.monotonic()
            node.socket.recv(4_096)
