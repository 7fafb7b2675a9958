"""Somebody who is in thousands of calls comes and goes."""

from blows import Client, message
from registry import Attack

CALLS = 1_000  # of one caller: as many as it may have
CALLERS = 16
ATTACK = Attack(aims_at="calls that a newcomer is in", rules=(20, 31, 32), accounts=CALLERS + 1,
                config="limits = { requests_per_second = 100000 }\n")


def prepare(scene):
    for number in range(CALLERS):
        caller = scene.enter(f"caller-{number}")
        for _ in range(CALLS // 20):
            caller.send(message("call.invite", 1, invitees=["mate"], mode="advanced",
                                timeout_ms=600_000) * 20)
            answered = 0
            while answered < 20:
                answered += "re" in caller.message()
        caller.close()


def attack(scene):
    for number in scene.each_while(0.05):
        mate = Client(scene, "mate")
        if number % 2:
            mate.ask("bye")
        mate.close()
