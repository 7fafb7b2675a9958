"""Runs groups of checks on a cluster and says in one line each what they found."""

import argparse
import os
import random
import signal
import sys
import time

from groups import BEFORE, GROUPS, ONLY_FULL

TRIES = 3  # of a group that is as it should be, but slow: other programs may have the processors
AGAIN_MOST = 2  # so many groups that were only slow are played again at the end


def arguments():
    parser = argparse.ArgumentParser(prog="Tests/Cluster/run.sh")
    parser.add_argument("--full", action="store_true", help="the whole length")
    parser.add_argument("--seed", type=int, default=os.environ.get("CALLAGENT_SEED"))
    parser.add_argument("names", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in GROUPS]
    if unknown:
        parser.error(f"no group is called {', '.join(unknown)}; they are: {', '.join(GROUPS)}")
    return asked


def play(name, full, seed):
    """Plays a group, again when it was only slow; returns its state in the end."""
    for attempt in range(TRIES):
        started = time.monotonic()
        group = GROUPS[name](full, seed + attempt)
        group.run()
        state = "FAILED" if group.wrong else "slow" if group.slow else "holds"
        print(f"{state:6} {name} ({time.monotonic() - started:.0f} s): {'; '.join(group.figures)}",
              flush=True)
        for line in group.wrong + group.slow:
            print(f"       - {line}", flush=True)
        if group.wrong or not group.slow:
            break
        print(f"       load of the machine: {os.getloadavg()[0]:.1f}", flush=True)
    return state


def main():
    asked = arguments()
    seed = random.randrange(1 << 32) if asked.seed is None else int(asked.seed)
    print(f"seed: CALLAGENT_SEED={seed}", flush=True)
    begin = time.monotonic()
    # Whoever ends this ends the nodes and the database too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    names = asked.names or [
        name for name in GROUPS
        if (asked.full or name not in ONLY_FULL) and (BEFORE in os.environ or name != "mixed")]
    states = {name: play(name, asked.full, seed) for name in names}
    slow = [name for name, state in states.items() if state == "slow"]
    # All tries of a group are within a minute, and a machine may be slow for longer.
    if not asked.names and len(slow) <= AGAIN_MOST:
        for name in slow:
            print(f"again, a while later: {name}", flush=True)
            states[name] = play(name, asked.full, seed)
    failed = [name for name, state in states.items() if state != "holds"]
    for name in failed:  # again, where whoever reads only an end looks
        print(f"FAILED: {name}, with CALLAGENT_SEED={seed}")
    print(f"{len(names) - len(failed)} groups hold, {len(failed)} failed, in "
          f"{time.monotonic() - begin:.0f} s")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
