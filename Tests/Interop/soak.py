"""The soak: mixed load with faults, for a while; see Tests/soak.sh."""

import os
import random
import signal
import threading
import time

from agent import wait_for
from record import Circle
from test_kill import PLUGIN
from test_neighbours import babble, guess

SECONDS = int(os.environ.get("CALLAGENT_SOAK_SECONDS") or 600)
FAULTS = ["sync:900:1:eio:again", "write:2500:2:full:again", "write:2000:2:readonly:again"]
CONFIG = 'answer_for = { "support" }\nplugins = { "support" }\n'
REMEMBER = 500  # of the 1,000 keys that the server keeps for a user
GROWTH = 3  # MB a minute that memory may grow by in the second half
SPREAD = 40  # descriptors that may come and go: those of the babblers


def slope(samples):
    """The slope of the line through (second, value), a minute."""
    mean_x = sum(x for x, _ in samples) / len(samples)
    mean_y = sum(y for _, y in samples) / len(samples)
    spread = sum((x - mean_x) ** 2 for x, _ in samples)
    return 60 * sum((x - mean_x) * (y - mean_y) for x, y in samples) / max(spread, 1e-9)


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
    memory, files = [], []
    begin = time.monotonic()
    while time.monotonic() - begin < SECONDS:
        time.sleep(min(5, SECONDS / 20))
        if dice.random() < 0.1:
            agent.signal(signal.SIGHUP)
        at = time.monotonic() - begin
        memory.append((at, agent.resident() / (1 << 20)))
        files.append((at, len(os.listdir(f"/proc/{agent.process.pid}/fd"))))
    stop.set()
    circle.stop()
    circle.join()
    report(agent, circle, memory, files)


def pester(one, agent, stop):
    """Strangers go on whatever becomes of their connections."""
    while not stop.is_set():
        try:
            one(agent, stop)
        except (OSError, AssertionError, AttributeError):
            stop.wait(0.1)


def report(agent, circle, memory, files):
    """Holds the server to everything that was written down; the first untruth ends the soak."""
    wait_for("readiness, by itself", agent.is_ready, patience=30)
    failures = agent.log_text().count("store failed")
    agent.crash()
    del agent.environment["CALLAGENT_STORE_FAULTS"]
    agent.start()
    circle.check(everything=True)
    circle.finish()
    later = len(memory) // 2
    grown, opened = slope(memory[later:]), slope(files[later:])
    asked = sum(client.keys for client in circle.clients)
    print(f"{asked} requests, {len(circle.notebook.newest)} calls, the store failed {failures} "
          f"times: lost 0, doubled 0, late 0")
    print(f"memory {memory[0][1]:.0f} → {memory[-1][1]:.0f} MB, {grown:+.2f} MB/min; "
          f"descriptors {files[0][1]} → {files[-1][1]}, {opened:+.2f}/min")
    assert failures, "the faults never struck"
    if SECONDS >= 300:
        assert grown < GROWTH, memory
    assert max(value for _, value in files[later:]) < files[0][1] + SPREAD, files
