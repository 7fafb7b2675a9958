"""The file of the decision log is a pipe, which nobody reads."""

import os

from registry import Attack

ATTACK = Attack(aims_at="records of decisions that cannot be written", rules=(78,), kind="machine")


def dress(scene):
    folder = scene.folder / "state"
    folder.mkdir(mode=0o700, exist_ok=True)
    os.mkfifo(folder / "decisions.jsonl")


def fault(scene):
    """It is there from the beginning."""


def holds(scene):
    assert "cannot open the decision log" in scene.agent.log_text(), "nobody was told"
    left_out = scene.agent.metrics()["callagent_decisions_left_out_total"]
    assert left_out > 0, "no decision was counted as left out"
