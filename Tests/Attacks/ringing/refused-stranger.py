"""A caller whom the plugin refuses calls the same account again and again."""

from blows import flood, message
from registry import Attack

ATTACK = Attack(aims_at="invitations that are held while plugins decide", rules=(57, 76, 89))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["desk"], mode="common") * 40)
