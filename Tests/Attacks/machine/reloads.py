"""Signals that ask for a reload, without pause, while the plugin changes each time."""

import signal

from registry import Attack

ATTACK = Attack(aims_at="reloads, generations that drain", rules=(53, 84), kind="machine",
                seconds=(1.2, 6.0))


def fault(scene):
    number = 0
    while scene.goes_on():
        number += 1
        (scene.folder / "plugins" / "house.lua").write_text(
            scene.entry.attack.house + f"-- {number}\n")
        scene.agent.signal(signal.SIGHUP)
        scene.rest(0.02)
    assert number > 10
