"""Figures, and what they must be: the measure of every attack."""

import dataclasses
import os
import statistics

from metronome import without
from processor import slowness

FACTOR, ALLOWANCE = 3, 20  # times the quiet p99, and milliseconds more on a usual processor
MEMORY = 16 << 20  # bytes that the server may grow for each attacking account
SETTLES_WITHIN = 5  # seconds until all is as before
SPARE_DESCRIPTORS = 2  # a file that is being changed for another, a look from outside


def percentile(values, share):
    """The value that so large a share of them does not exceed; 0 for none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def figures(phase, stalls):
    """What a phase of the witness was like: its steps as figures in milliseconds, without the
    time that the machine stood still."""
    took = [(without(stalls, begin, end) * 1_000, step) for begin, end, step in phase["steps"]]
    times = [time for time, _ in took]
    most, slowest = max(took, default=(0, ""))
    return {name: value for name, value in phase.items() if name != "steps"} | {
        "p50": percentile(times, 0.5), "p99": percentile(times, 0.99), "most": most,
        "slowest": slowest}


def bound(quiet):
    """The latest that anything may be, in milliseconds."""
    return FACTOR * quiet["p99"] + ALLOWANCE * slowness()


def memory(pid):
    """What the process has for itself, in bytes: pages of files are not its own."""
    with open(f"/proc/{pid}/statm") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


@dataclasses.dataclass
class Run:
    """One run of an attack: figures of the witness and of the server."""

    quiet: dict
    meanwhile: dict
    grown: int = 0
    blows: int = 0  # rounds of the attack
    settled_after: float | None = None  # seconds; None: not within the time
    stood_still: float = 0  # milliseconds of the machine, quiet or not
    troubles: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)  # other figures

    @property
    def late(self):
        """How much later than allowed the latest was, in milliseconds; not above 0: in time."""
        return self.meanwhile["most"] - bound(self.quiet)


def is_lost(figures):
    return sum(figures["lost"].values()) + sum(figures["refusals"].values())


def judge_account(runs, accounts):
    """What is wrong with the runs of an attack by accounts; the median of each figure counts."""
    wrong = []
    late = statistics.median(run.late for run in runs)
    if late > 0:
        worst = max(runs, key=lambda run: run.late)
        wrong.append(
            f"'{worst.meanwhile['slowest']}' came {late:.0f} ms later than the bound of "
            f"{bound(worst.quiet):.0f} ms")
    lost = statistics.median(is_lost(run.meanwhile) for run in runs)
    if lost:
        worst = max(runs, key=lambda run: is_lost(run.meanwhile)).meanwhile
        wrong.append(f"lost: {worst['lost']}, refused: {worst['refusals']}")
    grown = statistics.median(run.grown for run in runs)
    if grown > MEMORY * accounts:
        wrong.append(f"{grown / 2**20:.1f} MiB for {accounts} accounts")
    return wrong + judge_end(runs)


def judge_machine(runs):
    """What is wrong with the runs of a fault of the machine."""
    wrong = []
    for run in runs:
        codes = set(run.meanwhile["refusals"]) - {"unavailable", "closed"}
        if codes:
            wrong.append(f"refusals were {sorted(codes)}, not unavailable")
    grown = statistics.median(run.grown for run in runs)
    if grown > MEMORY:
        wrong.append(f"{grown / 2**20:.1f} MiB grown")
    return wrong + judge_end(runs)


def judge_end(runs):
    wrong = []
    if statistics.median(run.settled_after is None for run in runs):
        wrong.append(f"not as before within {SETTLES_WITHIN} s")
    # A trouble that one run shows and two do not is that of a busy machine.
    for trouble in {one for run in runs for one in run.troubles}:
        if statistics.median(trouble in run.troubles for run in runs):
            wrong.append(trouble)
    return wrong


def describe(run):
    """The figures of a run in one line."""
    settled = "never" if run.settled_after is None else f"{run.settled_after:.1f} s"
    meanwhile = run.meanwhile
    return (f"{run.blows} blows, quiet p99 {run.quiet['p99']:.1f} ms, "
            f"meanwhile p50 {meanwhile['p50']:.1f} p99 {meanwhile['p99']:.1f} "
            f"most {meanwhile['most']:.1f} ms ({meanwhile['slowest']}), "
            f"grew {run.grown / 2**20:.1f} MiB, settled {settled}"
            + (f", the machine stood still for {run.stood_still:.0f} ms" if run.stood_still else "")
            + "".join(f"\n           {one}" for one in run.notes + run.troubles))
