"""How fast the processor is: what must be done soon takes longer on a slow one."""

import functools
import statistics
import time

USUAL, SLOWEST = 0.010, 3.0  # seconds that it takes for a piece of work; how far slower ones count


@functools.cache
def slowness():
    """How many times slower than a usual processor this one is; 1: not slower. What a server does
    at once takes so much longer, and nobody is to blame for it."""
    def work():
        begin, total = time.process_time(), 0
        for number in range(200_000):
            total += number * number
        return time.process_time() - begin

    return min(SLOWEST, max(1.0, statistics.median(work() for _ in range(50)) / USUAL))
