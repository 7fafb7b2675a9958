"""The disk is full for a while."""

from agent import wait_for
from registry import Attack

ATTACK = Attack(aims_at="what the store could not write", rules=(78,), kind="machine")


def dress(scene):
    begins_at = 5000 if scene.full else 1500  # after the quiet measure
    scene.agent.environment["CALLAGENT_STORE_FAULTS"] = f"write:{begins_at}:2:full"


def fault(scene):
    wait_for("the fault", lambda: "store failed" in scene.agent.log_text())
