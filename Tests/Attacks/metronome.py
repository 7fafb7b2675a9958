"""Notes when the machine itself stood still, so that nobody takes it for an attack that was felt.

A beat on each core runs before everything else there. If even that comes late, the core was not
there at all: a virtual machine whose host gave the time to somebody else. What waited meanwhile
did not wait for the server, and this time is taken off its figures.

Where a process may not run before everything else, nothing is noted and nothing is taken off.
"""

import multiprocessing
import os
import time

BEAT = 0.001  # seconds
STANDS_STILL = 0.002  # seconds that a beat is late and more: the core was not there
PRIORITY = 50  # of the beat; what is to be quick, and may be, runs at less
KEPT = 4_096  # times that a core stood still, the last ones

fork = multiprocessing.get_context("fork")


def run_first(priority):
    """This process runs before all ordinary ones, if that is allowed; returns whether."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (PermissionError, OSError):
        return False
    return True


def beat(core, count, times):
    """The life of a beat: `times` has begin and end of each time that the core stood still."""
    os.sched_setaffinity(0, {core})
    if not run_first(PRIORITY):
        return
    parent, last = os.getppid(), time.monotonic()
    while os.getppid() == parent:
        time.sleep(BEAT)
        now = time.monotonic()
        if now - last > BEAT + STANDS_STILL:
            at = 2 * (count.value % KEPT)
            times[at], times[at + 1] = last + BEAT, now
            count.value += 1
        last = now


class Metronome:
    """A beat on each of the cores."""

    def __init__(self, cores):
        self.beats = []
        for core in sorted(set(cores)):
            count = fork.Value("q", 0, lock=False)
            times = fork.Array("d", 2 * KEPT, lock=False)
            process = fork.Process(target=beat, args=(core, count, times), daemon=True)
            process.start()
            self.beats.append((process, count, times))

    def stalls(self):
        """When a core stood still: pairs of begin and end in seconds, in order, none overlapping.
        """
        every = []
        for _, count, times in self.beats:
            for at in range(min(count.value, KEPT)):
                every.append((times[2 * at], times[2 * at + 1]))
        joined = []
        for begin, end in sorted(every):
            if joined and begin <= joined[-1][1]:
                joined[-1] = joined[-1][0], max(end, joined[-1][1])
            else:
                joined.append((begin, end))
        return joined

    def close(self):
        for process, *_ in self.beats:
            process.terminate()
            process.join()


def without(stalls, begin, end):
    """How long it took from `begin` to `end`, in seconds, while the machine was there."""
    return end - begin - sum(
        max(0, min(end, until) - max(begin, since)) for since, until in stalls)
