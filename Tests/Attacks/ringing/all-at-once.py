"""Many accounts, each in many calls, are lost in the same moment."""

from blows import Client, message
from registry import Attack

USERS, CALLS = 49, 60  # as many users as one call invites
ATTACK = Attack(aims_at="users who are lost together", rules=(20, 31, 32),
                accounts=USERS + CALLS, config="limits = { requests_per_second = 100000 }\n",
                seconds=(4.0, 8.0))


def prepare(scene):
    users = [f"mallory-{number}" for number in range(USERS)]
    scene.calls = []
    for number in range(CALLS):
        caller = Client(scene, f"caller-{number}")
        scene.calls.append(caller.call(*users, mode="group", timeout_ms=600_000))
        caller.close()


def attack(scene):
    accepts = b"".join(
        message("call.accept", number, call_id=call) for number, call in enumerate(scene.calls))
    for _ in scene.each_while():
        lines = [scene.enter(f"mallory-{number}") for number in range(USERS)]
        for line in lines:
            line.send(accepts)
            answered = 0
            while answered < CALLS:
                answered += "re" in line.message()
        for line in lines:
            line.send(message("bye", 1))
        for line in lines:
            line.close()
