"""The soak: mixed load with faults, for a while; see Tests/soak.sh.

What the server keeps by contract must not look like a leak, nor hide one. Calls end after two
minutes at most, and old keys go: so both stand still in the second half. History is kept for 90
days on disk, of which the store has some pages in memory, up to 16 MiB for each of its connections
until it is opened again. It says how much that is, and the rest of what is in use must not grow.
What the process has of the system is more, as allocators keep what is given back; that must not
grow much.
"""

import os
import random
import signal
import threading
import time

from agent import wait_for
from record import Circle
from support import SUPPORT
from test_kill import PLUGIN
from test_neighbours import babble, guess

SECONDS = int(os.environ.get("CALLAGENT_SOAK_SECONDS") or 600)
FAULTS = ["sync:900:1:eio:again", "write:2500:2:full:again", "write:2000:2:readonly:again"]
CONFIG = SUPPORT + 'max_call_age = "2m"\n'
REMEMBER = 500  # of the 1,000 keys that the server keeps for a user
GROWTH = 0.1  # MB a minute that what is in use may grow by in the second half
RESIDENT = 1  # MB a minute that the process may grow by, seen from outside
SPREAD = 40  # descriptors that may come and go: those of the babblers


class Sample:
    """What the process has at a moment."""

    def __init__(self, agent, second):
        figures = agent.metrics()
        self.second = second
        self.resident = agent.resident() / (1 << 20)
        self.store = figures["callagent_store_memory_bytes"] / (1 << 20)
        self.used = figures["callagent_heap_bytes"] / (1 << 20) - self.store
        self.calls = figures["callagent_live_calls"]
        self.files = len(os.listdir(f"/proc/{agent.process.pid}/fd"))

    def __str__(self):
        return (f"{self.second:4.0f} s: {self.resident:.1f} MB resident, {self.used:.2f} in use, "
                f"{self.store:.1f} pages of the store; {self.calls:.0f} live calls, "
                f"{self.files} descriptors")


def slope(samples, name):
    """The slope of the line through the values of this name, a minute."""
    points = [(sample.second, getattr(sample, name)) for sample in samples]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return 60 * sum((x - mean_x) * (y - mean_y) for x, y in points) / max(spread, 1e-9)


def test_soak(make_agent):
    seed = int(os.environ.get("CALLAGENT_SEED") or random.randrange(1 << 32))
    dice = random.Random(seed)
    agent = make_agent(CONFIG, {"support": PLUGIN})
    faults = dice.choice(FAULTS)
    print(f"soak of {SECONDS} s: CALLAGENT_SEED={seed}, CALLAGENT_STORE_FAULTS={faults}")
    agent.environment["CALLAGENT_STORE_FAULTS"] = faults
    agent.start()
    circle, stop = Circle(agent, seed, REMEMBER), threading.Event()
    strangers = [threading.Thread(target=pester, args=(one, agent, stop), daemon=True)
                 for one in (babble, guess)]
    circle.start()
    for one in strangers:
        one.start()
    samples = []
    begin = time.monotonic()
    while time.monotonic() - begin < SECONDS:
        time.sleep(min(5, SECONDS / 20))
        if dice.random() < 0.1:
            agent.signal(signal.SIGHUP)
        samples.append(Sample(agent, time.monotonic() - begin))
        if len(samples) % 6 == 0:
            print(samples[-1], flush=True)
    stop.set()
    circle.stop()
    circle.join()
    report(agent, circle, samples)


def pester(one, agent, stop):
    """Strangers go on whatever becomes of their connections."""
    while not stop.is_set():
        try:
            one(agent, stop)
        except (OSError, AssertionError, AttributeError):
            stop.wait(0.1)


def report(agent, circle, samples):
    """Holds the server to everything that was written down; the first untruth ends the soak."""
    wait_for("readiness, by itself", agent.is_ready, patience=30)
    failures = agent.log_text().count("store failed")
    agent.crash()
    del agent.environment["CALLAGENT_STORE_FAULTS"]
    agent.start()
    circle.check(everything=True)
    circle.finish()
    later = samples[len(samples) // 2:]
    asked = sum(client.keys for client in circle.clients)
    print(f"{asked} requests, {len(circle.notebook.newest)} calls, the store failed {failures} "
          f"times: lost 0, doubled 0, late 0")
    slopes = {name: slope(later, name) for name in ("resident", "used", "store", "files")}
    print("in the second half, a minute: resident {resident:+.2f} MB, in use {used:+.2f} MB, "
          "pages of the store {store:+.2f} MB, descriptors {files:+.2f}".format(**slopes))
    assert failures, "the faults never struck"
    if SECONDS >= 300:
        assert slopes["used"] < GROWTH and slopes["resident"] < RESIDENT, slopes
    assert max(sample.files for sample in later) < samples[0].files + SPREAD, slopes
