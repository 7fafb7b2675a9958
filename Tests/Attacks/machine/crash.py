"""The process is killed and starts again."""

from agent import wait_for
from registry import Attack
from stage import SERVER_CORE, on_core

ATTACK = Attack(aims_at="what was acknowledged, over a crash", rules=(82,), kind="machine")


def fault(scene):
    scene.agent.crash()
    with on_core(SERVER_CORE):
        scene.agent.launch()
    wait_for("readyz", scene.agent.is_ready)
