"""The disk reports errors when what was written is to last."""

from agent import wait_for
from registry import Attack

ATTACK = Attack(aims_at="what the store could not make durable", rules=(78,), kind="machine")


def dress(scene):
    begins_at = 500 if scene.full else 140  # after the quiet measure
    scene.agent.environment["CALLAGENT_STORE_FAULTS"] = f"sync:{begins_at}:2:eio"


def fault(scene):
    wait_for("the fault", lambda: "store failed" in scene.agent.log_text())
