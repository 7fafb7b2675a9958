"""A message in pieces of nothing, without end."""

from blows import flood
from raw import CONTINUATION, TEXT, frame
from registry import Attack

ATTACK = Attack(aims_at="frames of one message", rules=(18,), is_taken=False)


def attack(scene):
    begun = []

    def more():
        head = [] if begun else [frame(TEXT, b"{", fin=False)]
        begun.append(1)
        return b"".join(head) + frame(CONTINUATION, b"", fin=False) * 2_000

    flood(scene, "mallory", more)
