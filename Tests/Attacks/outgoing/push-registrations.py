"""A hundred registrations of one user, who is called, with a gateway that answers at once."""

import http.server
import json
import threading

from blows import Client
from registry import Attack

DEVICES = 10  # of a user at most (rule 79)
ATTACK = Attack(
    aims_at="push registrations of a user, pushes of one cause", rules=(79,), accounts=2,
    config="""devices_per_user = %d
push = { webhook = { url = "http://127.0.0.1:@GATEWAY@/", secret =
  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" } }\n""" % DEVICES)


class Gateway(http.server.BaseHTTPRequestHandler):
    """Takes every push and keeps the token that it is for."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.tokens.add(json.loads(body).get("token"))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def dress(scene):
    scene.gateway = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    scene.gateway.tokens = set()
    threading.Thread(target=scene.gateway.serve_forever, daemon=True).start()
    scene.words["GATEWAY"] = str(scene.gateway.server_address[1])
    scene.write()


def attack(scene):
    mallory = Client(scene, "mallory")
    for number in range(100):
        device = Client(scene, "sleeper", f"d{number}")
        device.ask("device.push_register", provider="webhook", token=f"token-{number}")
        device.ask("bye")
        device.close()
    for _ in scene.each_while():
        call = mallory.call("sleeper", mode="common", push={"title": "hello"})
        if call:
            mallory.ask("call.cancel", call_id=call)


def holds(scene):
    tokens = scene.gateway.tokens
    assert 0 < len(tokens) <= DEVICES, f"{len(tokens)} registrations were called: {sorted(tokens)}"


def finish(scene):
    scene.gateway.shutdown()
    scene.gateway.server_close()
