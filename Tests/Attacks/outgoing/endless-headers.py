"""A receiver of webhooks that answers with a head that never ends."""

import contextlib
import os
import threading

from blows import flood, message, trap
from registry import Attack
from stage import LOW, fork

ATTACK = Attack(
    aims_at="the head of an answer from outside", rules=(79,), seconds=(1.2, 8.0),
    config="""webhooks = { { name = "crm", url = "http://127.0.0.1:@TRAP@/",
  secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", allow = { "127.0.0.0/8" } } }\n""")
FIELDS = b"".join(b"X-%d: %s\r\n" % (number, b"y" * 500) for number in range(100))


def pour(connection):
    with contextlib.suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(FIELDS)


def serve(listener):
    os.nice(LOW)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=pour, args=(connection,), daemon=True).start()


def dress(scene):
    listener, port = trap()
    scene.words["TRAP"] = str(port)
    scene.write()
    scene.receiver = fork.Process(target=serve, args=(listener,), daemon=True)
    scene.receiver.start()
    listener.close()


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["nobody"], mode="common",
                                    timeout_ms=1_000) * 20)


def finish(scene):
    scene.receiver.kill()
    scene.receiver.join()
