"""Somebody in thousands of calls goes on with one of them, which ends all others."""

from blows import Client, message
from registry import Attack

CALLS = 1_000  # that one user may have made
ATTACK = Attack(aims_at="calls of a user that end together", rules=(20, 31, 32), accounts=2,
                config="limits = { requests_per_second = 100000 }\n")


def attack(scene):
    mallory, friend = Client(scene, "mallory"), Client(scene, "friend-of-mallory")
    for _ in scene.each_while():
        for part in range(CALLS // 20):
            mallory.raw.send(b"".join(
                message("call.invite", 1, invitees=[f"nobody-{part}-{number}"], mode="direct")
                for number in range(20)))
            answered = 0
            while answered < 20:
                answered += "re" in mallory.raw.message()
        call = friend.call("mallory", mode="direct")
        mallory.ask("call.accept", call_id=call)
        friend.ask("call.end", call_id=call)
