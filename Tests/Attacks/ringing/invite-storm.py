"""One user calls another, who is there, as often as they can."""

from blows import flood, message
from registry import Attack

ATTACK = Attack(aims_at="invitations of a user, calls that ring at one", rules=(28, 95), accounts=2)


def prepare(scene):
    scene.victim = scene.enter("victim")


def attack(scene):
    flood(scene, "mallory", message(
        "call.invite", invitees=["victim"], mode="advanced", extended_data="x" * 2_000) * 20)
