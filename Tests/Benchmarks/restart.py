"""Measures how soon a server serves again after kill -9, with very many calls live.

usage: restart.py CALLS CALLAGENT LOAD

Fills the store with so many accepted calls of two, kills the server, starts it, and asks from the
first moment on: until a new invitation is answered (a plugin refuses it), and until all calls are
there again, each with its deadlines. Prints what was measured, and rows for the table of all
promises (see `take_rows` in run.sh).
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Interop"))

from agent import Agent, wait_for  # noqa: E402

HEAD = "limits = { keys = 10000000 }\n"
PATIENCE = 300  # seconds
MILLION = 1_000_000


def answers(agent):
    """Whether it has decided about a new invitation."""
    try:
        reply = agent.post("call.invite", "newcomer", {"invitees": ["support"]})
    except OSError:
        return False
    return reply.status == 200


def row(what, seconds, most, calls):
    """Promised is it for a million calls."""
    if calls == MILLION:
        print(f"promise|{what}|{seconds:.2f}| s|{most}|")
    else:
        print(f"figure|{what}|{seconds:.2f} s|")


def main():
    calls = int(sys.argv[1])
    os.environ["CALLAGENT"] = sys.argv[2]
    load = sys.argv[3]
    with tempfile.TemporaryDirectory() as folder:
        plugins = {"refuse": (HERE / "Policy/plugins/refuse.lua").read_text()}
        agent = Agent(
            pathlib.Path(folder), HEAD + (HERE / "Policy/callagent.lua").read_text(), plugins)
        agent.start()
        done = subprocess.run(
            [load, "fill", "0", str(calls), str(agent.port), str(agent.process.pid)],
            stdout=subprocess.PIPE, text=True, check=True)
        print(f"- {calls} calls, invited and accepted over HTTP: {done.stdout[5:]}", end="")
        size = sum(one.stat().st_size for one in pathlib.Path(folder).rglob("*.db*"))
        agent.crash()
        begun = time.monotonic()
        agent.launch()
        wait_for("an answer", lambda: answers(agent), patience=PATIENCE, pause=0.002)
        first = time.monotonic() - begun
        wait_for("all calls", lambda: agent.metrics()["callagent_live_calls"] >= calls,
                 patience=PATIENCE, pause=0.02)
        everything = time.monotonic() - begun
        print(f"- files of {size / 1e6:.0f} MB; {agent.resident() / 1e6:.0f} MB resident after it")
        agent.crash()
    print("promises")
    row(f"after kill -9 with {calls} live calls: the first new invitation is answered", first, 1,
        calls)
    row("the same: all calls are there, with their deadlines", everything, 5, calls)


if __name__ == "__main__":
    main()
