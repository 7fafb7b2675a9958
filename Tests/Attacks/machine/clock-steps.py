"""The wall clock jumps by hours, forth and back."""

from clock import WrongClock
from registry import Attack

ATTACK = Attack(aims_at="deadlines under a clock that is set", rules=(20,), kind="machine",
                seconds=(1.2, 4.0))


def dress(scene):
    scene.clock = WrongClock(scene.agent)


def fault(scene):
    for seconds in (1_200, -1_200, 7, -7, 0):
        scene.clock.set(seconds)
        scene.rest(scene.seconds / 6)
    scene.clock.set(0)
