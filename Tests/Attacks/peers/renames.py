"""One user comes under another name each time, and asks what strangers are called."""

import itertools

from registry import Attack

ATTACK = Attack(
    aims_at="names of people, and who may hear them", rules=(108,),
    config="limits.names = 50\n")


def attack(scene):
    ids = itertools.count(1)
    for number in scene.each_while():
        raw = scene.raw().upgrade()
        # Many users of one attacker: only so many names have room.
        user = f"mallory-{number % 200}"
        raw.send_json({"id": 0, "op": "hello", "data": {
            "token": scene.token(user, name=f"Mallory {number}"), "device": "phone"}})
        assert "ok" in raw.message()
        strangers = [f"stranger-{number}-{place}" for place in range(20)]
        raw.send_json({"id": next(ids), "op": "user.get", "data": {"users": strangers}})
        assert "users" in raw.message().get("ok", {"users": []})
        raw.close()
