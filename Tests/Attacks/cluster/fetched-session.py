"""One session with many events that were not taken is gone on with at one node after the other."""

from blows import Client
from nodes import cluster_attack, dress, launch
from raw import RawSocket

ATTACK = cluster_attack(
    aims_at="a session that moves between nodes", accounts=2, seconds=(1.5, 8.0))


def attack(scene):
    ports = scene.front.port, scene.agent.port
    first = scene.device("mallory")
    caller = Client(scene, "trudy")
    call = caller.call("mallory", mode="advanced")
    assert call
    for _ in range(60):
        caller.ask("call.signal", call_id=call, to="mallory", data="x" * 1_000)
    session = first.session
    first.close()
    for number in scene.each_while():
        raw = RawSocket(ports[number % 2]).upgrade()
        raw.send_json({"id": 1, "op": "hello", "data": {
            "token": scene.token("mallory"), "device": "phone",
            "resume": {"session": session, "seq": 0}}})
        raw.message()
        raw.close()
