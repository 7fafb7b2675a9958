"""Clients that come to one node, then to the other, and never stay."""

from nodes import cluster_attack, dress, launch
from raw import RawSocket

ATTACK = cluster_attack(aims_at="clients that move between nodes", accounts=2)
HANDS = 2


def attack(scene):
    ports = scene.front.port, scene.agent.port
    for number in scene.each_while():
        raw = RawSocket(ports[number % 2]).upgrade()
        raw.send_json({"id": 1, "op": "hello", "data": {
            "token": scene.token(f"mallory-{scene.number}"), "device": f"phone-{number % 3}"}})
        raw.message()
        raw.close()
