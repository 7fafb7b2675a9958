"""Calls that ring as long as they may, at nobody who is there, as full as they may be."""

from blows import flood, message
from registry import Attack

ATTACK = Attack(aims_at="live calls of a user, and those in the answer to hello", rules=(31, 32),
                config="limits = { requests_per_second = 2000 }\n")
MOST = 1_000  # `limits.calls_per_user`


def attack(scene):
    flood(scene, "mallory", message(
        "call.invite", invitees=[f"nobody-{number}" for number in range(9)], mode="advanced",
        timeout_ms=600_000, extended_data="x" * 2_048) * 10)


def holds(scene):
    mallory = scene.device("mallory", "late")
    shown = len(mallory.hello["calls"])
    assert shown <= 100, f"{shown} calls in the answer to hello"
    live, cursor = 0, None
    while True:
        page = mallory.ok("call.list", state="ringing", limit=100,
                          **({"cursor": cursor} if cursor else {}))
        live, cursor = live + len(page["calls"]), page["cursor"]
        if cursor is None:
            break
    assert live <= MOST, f"{live} live calls"
    if live == MOST:
        mallory.refused("call.invite", "rate_limited", invitees=["nobody"])
