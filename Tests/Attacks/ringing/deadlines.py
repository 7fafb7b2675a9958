"""Calls by the hundred whose time runs out at the same moment."""

from blows import flood, message
from registry import Attack

ATTACK = Attack(aims_at="deadlines that fall due together", rules=(14, 35), seconds=(2.0, 8.0),
                config="limits = { requests_per_second = 1000 }\n")


def attack(scene):
    flood(scene, "mallory", message(
        "call.invite", invitees=["nobody"], mode="common", timeout_ms=1_000) * 50)
