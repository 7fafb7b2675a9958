"""Many accounts of one front end ask more than they may, so that what they say waits."""

from blows import message
from nodes import cluster_attack, dress, finish, launch

ATTACK = cluster_attack(aims_at="what clients of one node have waiting", accounts=3)
HANDS = 2
ASKED = message("ping") * 60 + message("call.get", call_id="0" * 32) * 60


def attack(scene):
    accounts = [f"mallory-{scene.number}-{one}" for one in range(80)]
    lines = [scene.enter(user) for user in accounts]
    for line in lines:
        line.socket.setblocking(False)
    for number in scene.each_while():
        place = number % len(lines)
        try:
            lines[place].socket.send(ASKED)
            while lines[place].socket.recv(1 << 18):
                pass
        except BlockingIOError:
            continue
        except OSError:
            pass
        lines[place].close()
        lines[place] = scene.enter(accounts[place])
        lines[place].socket.setblocking(False)
