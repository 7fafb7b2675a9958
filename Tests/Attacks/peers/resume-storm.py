"""One user comes back to sessions that exist and to some that never did."""

import json

from raw import TEXT, frame
from registry import Attack

ATTACK = Attack(aims_at="sessions that may be resumed", rules=(30,))


def attack(scene):
    first = scene.device("mallory")
    session = first.session
    first.close()
    for number in scene.each_while():
        raw = scene.raw().upgrade()
        name = session if number % 2 else f"{number:032x}"
        raw.send(frame(TEXT, json.dumps({"id": 1, "op": "hello", "data": {
            "token": scene.token("mallory"), "device": "phone",
            "resume": {"session": name, "seq": 0}}}).encode()))
        raw.message()
        raw.close()
