"""Measures what a cluster costs beside a single server: an owner, a front end and PostgreSQL.

usage: cluster.py [--rounds N] [--window SECONDS] [--connections N] [--snapshot SECONDS]
                  CALLAGENT LOAD

A plugin refuses every invitation, durably. In each round, one after the other: a single server with
SQLite; the owner with PostgreSQL; a front end before that owner, whose processor time and the
owner's behind it are two lines. PostgreSQL writes through to the disk. Then with one connection,
for the way through a front end. With --snapshot a transaction of somebody else stays open for so
long, under load, and the fence is measured before and after.

Prints the lines of LOAD, and then rows for the table of all promises (see `take_rows` in run.sh).
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Interop"))

from agent import Agent, free_port, wait_for  # noqa: E402
from cluster import Database, answers, tool  # noqa: E402

POLICY = (HERE / "Policy/callagent.lua").read_text()
PLUGINS = {"refuse": (HERE / "Policy/plugins/refuse.lua").read_text()}
# Looks at the row that every transaction holds on to.
FENCE = """BEGIN;
EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF)
SELECT 1 / count(*) FROM (SELECT id FROM space WHERE epoch > 0 FOR SHARE) AS held;
COMMIT;
"""
FENCES = 200  # measured
LAST = os.cpu_count() - 1  # the generator's processor


def below(pid):
    """A process and all below it."""
    found = [pid]
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in path.read_text().split():
                found += below(int(child))
    return found


class Rig:
    """The servers, and what was measured of each."""

    def __init__(self, asked, folder, stack):
        self.asked = asked
        self.lines = {}
        self.database = Database("fsync=on", "max_wal_size=4GB")
        stack.callback(self.database.close)
        environment = {"CALLAGENT": asked.callagent, "CALLAGENT_DATABASE": self.database.address}
        os.environ.update(environment)

        def agent(name, head=""):
            made = Agent(folder / name, head + POLICY, PLUGINS, environment=environment)
            stack.callback(made.close)
            return made

        self.single = agent("single")
        self.owner, self.front = (agent(name, self.table(name)) for name in ("owner", "front"))
        code, said = tool(self.owner, "init")
        assert code == 0, said
        self.single.start()
        self.owner.start()
        self.front.launch()
        wait_for("both nodes serve", lambda: answers(self.owner) and answers(self.front))

    def table(self, name):
        return (f'cluster = {{ database = secret "env:CALLAGENT_DATABASE", node = "{name}", '
                f'link = "127.0.0.1:{free_port()}", eligible = {str(name == "owner").lower()} }}\n')

    @property
    def postgres(self):
        """Its processes now, as one server."""
        pid = (pathlib.Path(self.database.folder) / "data/postmaster.pid").read_text().split()[0]
        return "+".join(str(one) for one in below(int(pid))[:64])

    def load(self, name, at, pids, round, connections):
        """One window; the figures of its line."""
        done = subprocess.run(
            [self.asked.load, "loop", "-r", "1", "-d", str(self.asked.window), "-c",
             str(connections), f"{name}:invite:{at.port}:{pids}"],
            stdout=subprocess.PIPE, text=True, check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {LAST}))
        line = done.stdout.replace("round=1", f"round={round}", 1)
        print(line, end="", flush=True)
        found = {key: float(value) for key, value in re.findall(r"(\w+)=([0-9.]+)", line)}
        self.lines.setdefault(name, []).append(found)

    def round(self, number):
        owner, front = self.owner, self.front
        many = self.asked.connections
        self.load("sqlite", self.single, self.single.process.pid, number, many)
        self.load("owner", owner, owner.process.pid, number, many)
        self.load("database", owner, self.postgres, number, many)
        self.load("front", front, front.process.pid, number, many)
        self.load("behind", front, owner.process.pid, number, many)
        self.load("owner-one", owner, owner.process.pid, number, 1)
        self.load("front-one", front, front.process.pid, number, 1)

    def values(self, name, key):
        return sorted(one[key] for one in self.lines[name])

    def median(self, name, key="us"):
        return statistics.median(self.values(name, key))

    def spread(self, name, key="us"):
        values = self.values(name, key)
        return f"{values[0]:.1f}–{values[-1]:.1f}"

    def fence(self):
        """Microseconds that PostgreSQL needs for the first statement of a transaction."""
        session = self.database.session()
        said, _ = session.communicate(FENCE * FENCES, timeout=120)
        times = [float(one) for one in re.findall(r"Execution Time: ([0-9.]+) ms", said)]
        assert len(times) == FENCES, said
        return statistics.median(times) * 1_000

    def held(self, seconds):
        """The fence before, and after so many seconds of load beside an open snapshot."""
        before = self.fence()
        other = self.database.session()
        other.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM space;\n")
        other.stdin.flush()
        until, number = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            number += 1
            self.load("held", self.owner, self.owner.process.pid, number, self.asked.connections)
        after = self.fence()
        other.communicate("COMMIT;\n", timeout=60)
        return before, after


def tell(rig, fences):
    owner, single = rig.median("owner"), rig.median("sqlite")
    print("promises")
    print(f"promise|an owner's processor time for a refused invitation ({rig.spread('owner')} µs),"
          f" beside a single durable server ({single:.1f}, {rig.spread('sqlite')} µs)|"
          f"{owner / single:.2f}| ×|1.2|")
    print(f"promise|PostgreSQL's for it ({rig.spread('database')})|{rig.median('database'):.2f}|"
          f" µs|45|")
    print(f"figure|a front end's for it|{rig.median('front'):.1f} µs ({rig.spread('front')})|"
          f"{rig.median('front') / single:.2f} × a single server")
    print(f"figure|the owner's behind that front end|{rig.median('behind'):.1f} µs"
          f" ({rig.spread('behind')})|{rig.median('behind') / owner:.2f} × without it")
    print(f"figure|refused invitations a second: single, owner, through a front end|"
          f"{rig.median('sqlite', 'per_s'):.0f}, {rig.median('owner', 'per_s'):.0f},"
          f" {rig.median('front', 'per_s'):.0f}|all servers on one processor")
    way = rig.median("front-one", "p50_us") - rig.median("owner-one", "p50_us")
    print(f"promise|p50 through a front end, more than at the owner"
          f" ({rig.median('owner-one', 'p50_us'):.0f} µs), one connection|{way:.2f}| µs|150|")
    if fences:
        print(f"promise|the fence after {rig.asked.snapshot} s beside an open snapshot, beside"
              f" before ({fences[0]:.0f} µs)|{fences[1] / fences[0]:.2f}| ×|1.2|")


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("rounds", 7), ("window", 2), ("connections", 64), ("snapshot", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("callagent")
    parser.add_argument("load")
    asked = parser.parse_args()
    asked.callagent = shutil.which(asked.callagent)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        rig = Rig(asked, pathlib.Path(folder), stack)
        for number in range(1, asked.rounds + 1):
            rig.round(number)
        tell(rig, rig.held(asked.snapshot) if asked.snapshot else None)


if __name__ == "__main__":
    main()
