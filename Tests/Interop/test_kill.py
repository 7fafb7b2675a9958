"""The real process, killed and let down by its disk at random moments, under load.

What four clients wrote down of what they were told is true after every start.
`CALLAGENT_SEED` replays a run.
"""

import os
import random
import time

import pytest

from agent import wait_for
from record import Circle

FULL = bool(os.environ.get("CALLAGENT_FULL"))
CONFIG = """
answer_for = { "support" }
plugins = { "support" }
limits = { keys_per_user = 1000000 }
"""
PLUGIN = """
-- Accepts, rejects, or lets it ring, and counts.
on.invite(function(call)
  local n = kv.incr("invitations") or 0
  if n % 3 == 0 then return accept { extended_data = { n = n } } end
  if n % 3 == 1 then return reject "busy" end
end)
"""


@pytest.fixture
def seed():
    number = int(os.environ.get("CALLAGENT_SEED") or random.randrange(1 << 32))
    print(f"seed: CALLAGENT_SEED={number}")
    return number


def test_killed_at_random_moments(make_agent, seed):
    agent = make_agent(CONFIG, {"support": PLUGIN}).start()
    dice = random.Random(seed)
    circle = Circle(agent, seed)
    for _ in range(200 if FULL else 10):
        circle.start()
        time.sleep(dice.uniform(0, 0.5))
        circle.stop()
        agent.crash()
        circle.join()
        if dice.random() < 0.2:  # again, while it is starting
            agent.launch()
            time.sleep(dice.uniform(0, 0.06))
            agent.crash()
        agent.start()
        circle.check()
    circle.check(everything=True)
    circle.finish()


# How the disk lets us down: again and again, this many operations apart at least and at most. A
# start reads the store about seventy times.
TROUBLE = [
    ("write", 60, 400, "3:full"), ("write", 60, 400, "2:readonly"), ("write", 60, 400, "1:eio"),
    ("sync", 60, 200, "1:eio"), ("sync", 60, 200, "4:eio"), ("read", 120, 200, "2:eio"),
]


@pytest.mark.parametrize("operation, least, most, failure", TROUBLE)
def test_a_disk_that_fails_again_and_again(make_agent, seed, operation, least, most, failure):
    dice = random.Random(seed)
    agent = make_agent(CONFIG, {"support": PLUGIN}).start()
    circle = Circle(agent, seed)
    # A start reads all of the store: once it has grown, every start would meet a fault of reading.
    for _ in range(8 if FULL and operation != "read" else 1):
        circle.check()
        agent.crash()
        faults = f"{operation}:{dice.randrange(least, most)}:{failure}:again"
        print(f"CALLAGENT_STORE_FAULTS={faults}")
        agent.environment["CALLAGENT_STORE_FAULTS"] = faults
        wait_for("a start on a bad disk", agent.starts, patience=30)
        answered = circle.answered() + (dice.randrange(30, 80) if FULL else 20)
        circle.start()
        if operation != "read":
            wait_for("answers", lambda: circle.answered() >= answered, patience=120, pause=0.1)
        wait_for("the fault", lambda: has_struck(agent), patience=120, pause=0.1)
        circle.stop()
        circle.join()
        wait_for("readiness, by itself", agent.is_ready, patience=30)
        agent.crash()
        del agent.environment["CALLAGENT_STORE_FAULTS"]
        agent.start()
        circle.check()
    circle.check(everything=True)
    circle.finish()


# What a start does with the disk: how often, with room; how it fails; how often it then ends.
STEPS = [("read", 100, "1000:eio", 50), ("write", 8, "2:full", 0), ("sync", 6, "2:eio", 0)]


@pytest.mark.parametrize("operation, most, failure, ends", STEPS)
def test_a_start_that_fails_at_any_step_says_why(make_agent, operation, most, failure, ends):
    """It takes calls or ends with one line; it never ends with a signal."""
    agent = make_agent(CONFIG, {"support": PLUGIN}).start()
    agent.crash()
    ended = 0
    for step in range(1, most + 1):
        agent.environment["CALLAGENT_STORE_FAULTS"] = f"{operation}:{step}:{failure}"
        said = len(agent.log_text())
        if agent.starts():
            agent.crash()
        else:
            ended += 1
            assert "the disk " in agent.log_text()[said:], agent.log_text()[said:]
    assert ended >= ends
    del agent.environment["CALLAGENT_STORE_FAULTS"]
    agent.start()


def has_struck(agent):
    said = agent.log_text()
    return "store failed" in said or "look-up failed" in said
