"""The machine is taken away for a while: the process stands still, and goes on."""

import signal

from registry import Attack

# What the witness asks meanwhile comes all at once: that is not to be too much for its rate.
ATTACK = Attack(aims_at="deadlines of a process that stood still", rules=(20,), kind="machine",
                config="limits = { requests_per_second = 2000 }\n", seconds=(1.0, 6.0))


def fault(scene):
    scene.agent.signal(signal.SIGSTOP)
    scene.rest(scene.seconds)
    scene.agent.signal(signal.SIGCONT)
