"""A receiver of webhooks that takes every connection and never answers, and somebody who calls."""

from blows import flood, message, trap
from registry import Attack

ATTACK = Attack(
    aims_at="webhooks that wait for an answer", rules=(79,), seconds=(1.2, 12.0),
    config="""webhooks = { { name = "crm", url = "http://127.0.0.1:@TRAP@/",
  secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", allow = { "127.0.0.0/8" } } }\n""")


def dress(scene):
    scene.trap, port = trap()
    scene.words["TRAP"] = str(port)
    scene.write()


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["nobody"], mode="common",
                                    timeout_ms=1_000, extended_data="x" * 2_000) * 20)


def end(scene):
    scene.trap.close()
