"""The same data while a new generation is on probation: one account cannot take it back."""

from agent import wait_for
from blows import flood, message
from registry import Attack, house

TRIPPED = house(asked="""
  if call.callee.id == "bot" then return reject(call.extended_data.colour.name) end
""")
ATTACK = Attack(
    aims_at="the probation of a generation", rules=(72,), answer_for=("bot",))


def prepare(scene):
    (scene.folder / "plugins" / "house.lua").write_text(TRIPPED)
    code, said = scene.reload()
    assert code == 0, said


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common",
                                    extended_data='{"size": 1}') * 20)


def holds(scene):
    assert "went back" not in scene.agent.log_text(), "the generation was taken back"
    caller = scene.device("somebody")
    call = caller.ok("call.invite", invitees=["bot"], mode="common",
                     extended_data='{"colour":{"name":"busy"}}')["call_id"]

    def decided():
        got = caller.ok("call.get", call_id=call)["call"]
        return got["end"]

    end = wait_for("a decision of the new plugin", decided, pause=0.05)
    assert end["reason"] == "busy", f"the new plugin is not asked: {end}"
