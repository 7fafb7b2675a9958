"""The machine is taken away for a while: the process stands still, and goes on."""

import signal

from registry import Attack

ATTACK = Attack(aims_at="deadlines of a process that stood still", rules=(20,), kind="machine",
                seconds=(1.0, 6.0))


def fault(scene):
    scene.agent.signal(signal.SIGSTOP)
    scene.rest(scene.seconds)
    scene.agent.signal(signal.SIGCONT)
