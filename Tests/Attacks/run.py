"""Runs the attacks and says which of them were felt."""

import argparse
import contextlib
import os
import sys
import time

import nodes
import registry
from measure import describe, judge_account, judge_machine
from processor import slowness
from stage import OTHER_CORE, Outsider, Stage

RUNS = (1, 3, 7)  # so many, and if they are not as they should be so many
FULL_RUNS = (3, 7)
AGAIN_MOST = 3  # so many failed attacks are played again at the end; more have another cause


def runs_of(entry, outsider, full):
    """The runs of an attack. The median counts, and of few runs it may be that of a busy moment:
    so there are more, until it is as it should be or there are most."""
    runs = []
    for count in FULL_RUNS if full else RUNS:
        runs += [Stage(entry, outsider, full).run() for _ in range(count - len(runs))]
        if not verdict(entry, runs):
            break
    return runs


def verdict(entry, runs):
    """What is wrong with the attack, as lines; empty if it holds."""
    if entry.attack.kind == "machine":
        return judge_machine(runs)
    return judge_account(runs, entry.attack.accounts)


def play(entry, outsider, full):
    """Runs one attack; returns what is wrong, as lines."""
    begin = time.monotonic()
    runs = []
    try:
        runs = runs_of(entry, outsider, full)
        wrong = verdict(entry, runs)
    except AssertionError as error:
        with contextlib.suppress(AssertionError):
            outsider.do("part")
        wrong = [str(error)]
    state = "FAILED" if wrong else "holds"
    print(f"{state:6} {entry.name} ({time.monotonic() - begin:.1f} s, {len(runs)} runs): "
          f"{entry.attack.aims_at}", flush=True)
    for run in runs:
        print(f"         {describe(run)}", flush=True)
    for line in wrong:
        print(f"       - {line}", flush=True)
    return wrong


def arguments():
    parser = argparse.ArgumentParser(prog="Tests/Attacks/run.sh")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--front-end", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser.parse_args()


def choice(front_end):
    """The attacks to choose from, by name."""
    attacks = registry.every()
    if not front_end:
        return attacks
    return {name: nodes.behind_front_end(entry) for name, entry in attacks.items()
            if entry.folder in nodes.BEHIND}


def main():
    asked = arguments()
    attacks = choice(asked.front_end)
    unknown = [name for name in asked.names if name not in attacks]
    if unknown:
        whole = "--front-end --list" if asked.front_end else "--list"
        sys.exit(f"no attack is called {', '.join(unknown)}; {whole} names them all")
    chosen = [attacks[name] for name in asked.names or attacks]
    if asked.list:
        for entry in chosen:
            rules = ", ".join(map(str, entry.attack.rules))
            print(f"{entry.name:24} {entry.attack.kind:8} {entry.attack.accounts:3}  "
                  f"{entry.attack.aims_at} ({rules})")
        return
    os.sched_setaffinity(0, {OTHER_CORE})
    slower = slowness()  # before anything else runs here
    outsider = Outsider()
    begin = time.monotonic()
    wrong = {entry.name: play(entry, outsider, asked.full) for entry in chosen}
    failed = {name: lines for name, lines in wrong.items() if lines}
    # All runs of an attack are within some seconds, and a machine may be slow for longer.
    if not asked.names and len(failed) <= AGAIN_MOST:
        for name in failed:
            print(f"again, a while later: {name}", flush=True)
            failed[name] = play(attacks[name], outsider, asked.full)
    outsider.close()
    failed = {name: lines for name, lines in failed.items() if lines}
    for name, lines in failed.items():  # again, where whoever reads only an end looks
        print(f"FAILED: {name}: " + "; ".join(lines))
    print(f"{len(chosen) - len(failed)} attacks hold, {len(failed)} failed, in "
          f"{time.monotonic() - begin:.0f} s; a processor {slower:.1f} × slower than usual")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
