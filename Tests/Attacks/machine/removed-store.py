"""The file of the store is removed while the server runs, and comes back."""

from agent import wait_for
from registry import Attack

ATTACK = Attack(
    aims_at="a store whose file is gone", rules=(81,), kind="machine")


def status(scene):
    return scene.agent.get("/readyz").status


def fault(scene):
    folder = scene.folder / "state"
    aside = scene.folder / "aside"
    aside.mkdir()
    moved = [path for path in folder.iterdir() if path.name.startswith("calls.sqlite")
             or path.suffix in (".db", ".sqlite") or ".sqlite" in path.name]
    assert moved, sorted(path.name for path in folder.iterdir())
    for path in moved:
        path.rename(aside / path.name)
    try:
        wait_for("503", lambda: status(scene) == 503, patience=3)
    finally:
        for path in moved:
            (aside / path.name).rename(path)
    wait_for("200", lambda: status(scene) == 200)
