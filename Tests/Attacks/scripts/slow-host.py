"""A caller for whom the plugin asks a host that takes every connection and never answers."""

from blows import flood, message, trap
from registry import Attack, house

ATTACK = Attack(
    aims_at="requests of `http` under way", rules=(75,), answer_for=("bot",), seconds=(1.2, 8.0),
    config="""override["house"] = { grant = { "http:127.0.0.1", "internal:127.0.0.1" } }\n""",
    house=house(asked="""
  if call.callee.id == "bot" then
    http.get("http://127.0.0.1:@TRAP@/", { timeout = "2s" })
    return reject "busy"
  end
"""))


def dress(scene):
    scene.trap, port = trap()
    scene.words["TRAP"] = str(port)
    scene.write()


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common") * 20)


def end(scene):
    scene.trap.close()
