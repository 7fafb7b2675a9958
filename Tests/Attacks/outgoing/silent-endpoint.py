"""Subscriptions whose push service takes every connection and never says a word."""

import subprocess

from blows import Client, trap
from registry import Attack

ATTACK = Attack(
    aims_at="pushes and connections to a service that never answers", rules=(79,), accounts=2,
    seconds=(1.2, 12.0), config="""push = { web = { key = secret "file:@FOLDER@/vapid.pem",
  subject = "mailto:ops@example.com", allow = { "127.0.0.0/8" } } }\n""")
# A point of the curve that any browser might have.
P256 = ("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4")


def dress(scene):
    scene.trap, scene.port_of_trap = trap()
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out",
                    scene.folder / "vapid.pem"], check=True, capture_output=True)


def attack(scene):
    mallory = Client(scene, "mallory")
    for number in range(50):
        Client(scene, "sleeper", f"d{number}").ask(
            "device.push_register", provider="web", subscription={
                "endpoint": f"https://127.0.0.1:{scene.port_of_trap}/{number}",
                "keys": {"p256dh": P256, "auth": "BTBZMqHH6r4Tts7J_aSIgg"}})
    for _ in scene.each_while():
        call = mallory.call("sleeper", mode="common", push={"title": "hello"})
        if call:
            mallory.ask("call.cancel", call_id=call)


def end(scene):
    scene.trap.close()
