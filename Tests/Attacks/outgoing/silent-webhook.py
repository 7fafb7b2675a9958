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


def prepare(scene):
    """Others have called before: the store has as many pages in memory as it ever has."""
    for number in range(8):
        caller = scene.enter(f"caller-{number}")
        caller.send(message("call.invite", 1, invitees=["desk"], mode="common",
                            extended_data="x" * 2_000) * 190)
        answered = 0
        while answered < 190:
            answered += "re" in caller.message()
        caller.close()


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["nobody"], mode="common",
                                    timeout_ms=1_000, extended_data="x" * 2_000) * 20)


def end(scene):
    scene.trap.close()
