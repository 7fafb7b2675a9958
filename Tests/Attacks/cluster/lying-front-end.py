"""A node says what its clients never said: tokens, sessions and requests of somebody else."""

import json

from link import counted, word
from nodes import FalseNode, cluster_attack, dress, launch
from test_admission import token

ATTACK = cluster_attack(aims_at="for whom a node may speak")


def attack(scene):
    node = FalseNode(scene)
    mine = node.brings("mallory")
    lie = json.dumps({"id": 2, "op": "call.list", "data": {}})
    forged = node.hello(token(secret="a key of somebody else, long enough", sub="witness"))
    for _ in scene.each_while(0.001):
        streams = range(node.streams + 1, node.streams + 6)
        node.streams += 5
        for stream in streams:
            node.opens(stream, "203.0.113.7")
        no_hello, no_token, no_session, no_bearer, nobody = streams
        node.text(no_hello, lie)
        node.text(no_token, forged)
        node.say("returns", word(no_session) + counted(forged) + bytes(24))
        node.say("asks", word(no_bearer) + counted("POST") + counted("/v1/call/list")
                 + word(2) + counted("X-User") + counted("witness") + counted("{}"))
        node.say("took", word(nobody) + b"\xff" * 8)
        for stream in (no_bearer, nobody):
            node.say("leaves", word(stream) + b"\x01")
        node.text(mine, json.dumps({"id": 3, "op": "ping"}))
        while node.hear("tells", "ends", "answers")[:4] != word(mine):
            pass

