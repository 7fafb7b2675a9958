"""Callers who make a canary loop and fail: its plugins decide for accounts whose names fit."""

from agent import wait_for
from blows import flood, message
from registry import Attack, house

LOOPS = house(before="""
plugin { version = "2" }
""", asked="""
  if call.callee.id:find("^bot") then
    if call.extended_data.colour.name then while true do pcall(function() end) end end
  end
""")
HANDS = 2
ATTACK = Attack(
    aims_at="a generation that is tried for some", rules=(71, 72, 76), accounts=HANDS,
    answer_for=("bot-1", "bot-2"))


def prepare(scene):
    (scene.folder / "plugins" / "house.lua").write_text(LOOPS)
    code, said = scene.agent.tool("reload", "--canary", "bot-1* mallory*")
    assert code == 0, said


def attack(scene):
    # One caller is met by the canary because of their name, and lets it loop; the other lets it
    # fail.
    data = '{"size": 1}' if scene.number else '{"colour":{"name":"red"}}'
    flood(scene, f"mallory-{scene.number}", message(
        "call.invite", invitees=["bot-1"], mode="common", extended_data=data) * 10)


def holds(scene):
    assert "canary taken back" not in scene.agent.log_text(), "two accounts took it back"
    caller = scene.device("somebody")
    # The old plugins have no opinion about it: its devices would ring.
    for account, failures in (("bot-2", 0), ("bot-1", 1)):
        call = caller.ok("call.invite", invitees=[account], mode="advanced",
                         extended_data='{"size": 2}')["call_id"]

        def decided():
            found = scene.agent.admin("GET", f"/admin/v1/calls/{call}/explain").body
            return [one for one in found["decisions"] if one.get("event") == "invite"]

        made = wait_for(f"a decision for {account}", decided, pause=0.05)[0]
        failed = [part for part in made["asked"] if part["said"] == "failed"]
        assert len(failed) == failures, f"{account} is asked by the other generation: {made}"
