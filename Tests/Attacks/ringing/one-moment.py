"""Calls of many accounts, by the thousand, whose time runs out in the same moment."""

import time

from blows import message
from registry import Attack

ACCOUNTS, CALLS = 12, 1_000  # as many as one account may have
LATER = 5  # seconds from the first call on
ATTACK = Attack(aims_at="deadlines of many accounts that fall due together", rules=(14, 35),
                accounts=ACCOUNTS, config="limits = { requests_per_second = 100000 }\n",
                seconds=(7.0, 14.0))


def attack(scene):
    moment = time.monotonic() + LATER
    for account in range(ACCOUNTS):
        caller = scene.enter(f"mallory-{account}")
        for _ in range(CALLS // 20):
            left = int((moment - time.monotonic()) * 1_000)
            if left < 1_000:
                break
            caller.send(message(
                "call.invite", 1, invitees=["nobody"], mode="common", timeout_ms=left) * 20)
            answered = 0
            while answered < 20:
                answered += "re" in caller.message()
            scene.taken.value += answered
        scene.asked.value = True
        scene.blows.value += 1
        caller.close()
    scene.rest(moment + 1 - time.monotonic())
