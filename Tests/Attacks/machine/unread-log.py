"""Nobody reads the pipe that the log goes to, and it is full."""

import os
import subprocess

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="lines of the log that nobody takes", rules=(78, 87), answer_for=("bot",),
    house=house(asked="""
  if call.callee.id == "bot" then
    for _ = 1, 90 do log.warn("said", { pad = string.rep("x", 1000) }) end
    return reject "busy"
  end
"""))


def launch(scene):
    agent = scene.agent
    scene.reader, writer = os.pipe()
    agent.log = os.fdopen(writer, "wb")
    (scene.folder / "log").write_text("")
    agent.process = subprocess.Popen(
        [os.environ["CALLAGENT"], "run", "callagent.lua"], cwd=scene.folder,
        env=agent.environment, stdin=subprocess.DEVNULL, stdout=agent.log, stderr=agent.log)


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common") * 5)


def finish(scene):
    os.close(scene.reader)
