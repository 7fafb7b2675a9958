"""JSON that nests as deep as a message is long."""

from blows import flood
from raw import TEXT, frame
from registry import Attack

ATTACK = Attack(aims_at="the depth of JSON", rules=(49, 73), is_taken=False)


def attack(scene):
    head = b'{"id":1,"op":"call.signal","data":{"call_id":"' + b"0" * 32 + b'","data":'
    deep = frame(TEXT, head + b"[" * 7_000 + b"]" * 7_000 + b"}}")
    good = frame(TEXT, head + b"[" * 50 + b"]" * 50 + b"}}")
    flood(scene, "mallory", (deep + good * 10) * 4)
