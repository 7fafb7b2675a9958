"""A cluster with a load on it, for the length of one group of checks."""

import contextlib
import pathlib
import random
import statistics
import tempfile
import time
import traceback

import checker
from agent import wait_for
from history import History, gaps
from load import Load
from servers import Servers


class Group:
    """A cluster with a load on it, for the length of one group."""

    name = None
    holes = pair = False
    rate, users, kept = 300, 40, 0
    config, plugins, older = "", None, None
    peace_ms, takeover_ms = 1_000, 5_500  # how late a deadline may be
    keeps = True  # what is needed to look into what is wrong

    def __init__(self, full, seed):
        self.full, self.seed = full, seed
        self.dice = random.Random(f"{seed} {self.name}")
        self.figures, self.wrong = [], []
        self.slow = []  # what took too long, which a busy machine may be the cause of

    def run(self):
        """Plays it; `figures`, `wrong` and `slow` tell how it went."""
        with contextlib.ExitStack() as ends:
            folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="callagent-cluster-"))
            self.servers = Servers(pathlib.Path(folder), self.holes, self.pair, self.config,
                                   self.plugins, self.older)
            ends.callback(self.servers.close)
            self.history = History()
            self.load = Load(
                self.servers.nodes, self.history, self.seed, self.users, self.rate)
            ends.callback(self.load.close)
            try:
                self.play()
                self.judge()
            except Exception:  # also what the rig itself does wrong
                self.wrong.append(traceback.format_exc(limit=-4))
            if self.wrong and self.keeps:
                self.keep_all(pathlib.Path(folder))

    def play(self):
        if self.kept:
            self.load.do(self.load.keep(self.kept))
        self.begun = time.time()
        self.load.start()
        self.trouble()
        self.load.rest()
        self.seconds = time.time() - self.begun

    def trouble(self):
        raise NotImplementedError

    def judge(self):
        """Ends what still rings, and holds all that was told against what is there."""
        for _ in range(5):
            living = [call for call in self.servers.living() if call["caller"][0] != "k"]
            if not living:
                break
            self.load.do(self.load.end(living))
        self.load.do(self.load.hear_all())
        names = [user.name for user in self.load.everybody]
        truth = self.servers.truth(
            sorted(set(names)), self.peace_ms, self.takeover_ms)
        violations = checker.check(self.history, truth)
        self.slow += [one.text for one in violations if one.rule == "late"][:5]
        violations = [one for one in violations if one.rule != "late"]
        self.violations = len(violations)
        self.wrong += [f"{one.rule}: {one.text[:600]}" for one in violations[:20]]
        living = sum(call["state"] == "active" for call in truth["calls"].values())
        self.expect(living == self.kept, f"{living} calls live on, of {self.kept}")
        story = checker.Story(self.history, truth)
        late = {False: [0], True: [0]}
        for _, due, much in checker.lateness(story, truth):
            late[checker.is_broken(story, due)].append(much)
        answered = self.answered = sum(map(self.is_answer, self.history.of("reply")))
        rate = f" ({answered / self.seconds:.0f}/s)" if self.load.lives else ""
        self.figures += [
            f"{answered} requests answered{rate}", f"{len(truth['calls'])} calls",
            f"{len(self.history.of('event'))} events", f"epoch {max(truth['terms'])}",
            f"deadlines: {len(late[False]) - 1} in peace, worst {max(late[False])} ms late, "
            f"{len(late[True]) - 1} in faults, worst {max(late[True])} ms",
            f"{len(violations)} violations"]
        self.expect(not self.internal(), f"{self.internal()} answers were `internal`")

    @staticmethod
    def is_answer(record):
        return '"unavailable"' not in record["body"][:200]

    def internal(self):
        return sum('"internal"' in one["body"][:200] for one in self.history.of("reply"))

    def expect(self, holds, otherwise):
        if not holds:
            self.wrong.append(otherwise)

    def in_time(self, took, most, what):
        if took > most:
            self.slow.append(f"{what}: {took:.2f} s, {most} allowed")

    def strike(self, kind, times, choices=()):
        """One nemesis again and again, with a little peace between; `choices` in turn, if any."""
        made = kind(self.servers, self.load, self.dice)
        for number in range(times):
            self.load.goes_on(self.dice.uniform(0.2, 1))
            fault = made.strike(choices[number % len(choices)] if choices else None)
            since = fault.get("since", fault["t"])
            wait_for("an acknowledgement", lambda at=since: self.load.newest >= at)
        return made.struck

    def tell_gaps(self, what, faults, most, median=None):
        found = gaps(self.history, faults)
        self.expect(None not in found, f"{what}: nothing was acknowledged any more")
        found = [gap for gap in found if gap is not None]
        if not found:
            return
        middle, worst = statistics.median(found), max(found)
        self.figures.append(
            f"{len(found)} × {what}: gap median {middle:.2f} s, worst {worst:.2f} s")
        self.in_time(worst, most, f"{what}, longest gap")
        self.in_time(middle, median or most, f"{what}, median of the gaps")

    def keep_all(self, folder):
        """What is needed to look into it, for it is gone else."""
        place = pathlib.Path(tempfile.mkdtemp(prefix=f"cluster-{self.name}-"))
        self.history.save(place / "history.jsonl")
        for node in self.servers.nodes:
            (place / f"{node.folder.name}.log").write_text(node.log_text())
        self.wrong.append(f"kept in {place}")
