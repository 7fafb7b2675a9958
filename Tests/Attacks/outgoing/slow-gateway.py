"""The operator's own push service stops answering, and two users keep it busy."""

from blows import Client, trap
from registry import Attack

ATTACK = Attack(
    aims_at="pushes under way to one service", rules=(79,), accounts=2, seconds=(1.2, 12.0),
    config="""push = { webhook = { url = "http://127.0.0.1:@TRAP@/", secret =
  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" } }\n""")


def dress(scene):
    scene.trap, port = trap()
    scene.words["TRAP"] = str(port)
    scene.write()


def attack(scene):
    sleeper = Client(scene, "sleeper")
    sleeper.ask("device.push_register", provider="webhook", token="token")
    sleeper.ask("bye")
    mallory = Client(scene, "mallory")
    for _ in scene.each_while():
        call = mallory.call("sleeper", mode="common", push={"title": "hello"})
        if call:
            mallory.ask("call.cancel", call_id=call)


def end(scene):
    scene.trap.close()
