"""Many accounts of one front end ask more than they may, so that what they say waits."""

from nodes import cluster_attack, dress, launch
from raw import TEXT, frame

ATTACK = cluster_attack(aims_at="what clients of one node have waiting", accounts=3)
HANDS = 2
ASKED = (b'{"id":1,"op":"ping","data":{}}',
         b'{"id":2,"op":"call.get","data":{"call_id":"' + b"0" * 32 + b'"}}')
BATCH = b"".join(frame(TEXT, one + b" " * 400) for one in ASKED) * 60


def attack(scene):
    accounts = [f"mallory-{scene.number}-{one}" for one in range(40)]
    lines = [scene.enter(user) for user in accounts]
    for line in lines:
        line.socket.setblocking(False)
    for number in scene.each_while():
        place = number % len(lines)
        try:
            lines[place].socket.send(BATCH)
            while lines[place].socket.recv(1 << 18):
                pass
        except BlockingIOError:
            continue
        except OSError:
            pass
        lines[place].close()
        lines[place] = scene.enter(accounts[place])
        lines[place].socket.setblocking(False)
