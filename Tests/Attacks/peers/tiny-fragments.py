"""Messages in fragments of one byte, and texts that are cut within a character."""

from blows import flood
from raw import CONTINUATION, TEXT
from registry import Attack

ATTACK = Attack(aims_at="what a fragment costs", rules=(18, 24), is_taken=False)
HANDS = 4


def fragments(text):
    """A message in frames of one byte each; the mask of zeros leaves it as it is."""
    frames = [bytearray([CONTINUATION, 0x81, 0, 0, 0, 0, byte]) for byte in text]
    frames[0][0] = TEXT
    frames[-1][0] |= 0x80
    return b"".join(frames)


def attack(scene):
    long = '{"id":1,"op":"call.get","data":{"call_id":"%s","x":"%s"}}' % ("0" * 32, "ü😀" * 10_000)
    flood(scene, "mallory", fragments(long.encode()), device=f"device-{scene.number}")
