"""Pushes under load, against the double of the tests. Started by push.sh."""

import os
import pathlib
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Interop"))

from agent import Agent, wait_for
from double import Double

USERS, DEVICES, PER_SECOND = 90, 10, 1_000
TICKS = os.sysconf("SC_CLK_TCK")


def thread_seconds(process, name=None):
    """Processor time of the threads called so, or of all, in seconds."""
    total = 0
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        text = (task / "stat").read_text()
        head, rest = text.rsplit(")", 1)
        if name in (None, head.split("(", 1)[1]):
            fields = rest.split()
            total += int(fields[11]) + int(fields[12])
    return total / TICKS


def register(agent):
    """Every user has ten phones that sleep."""
    for user in range(USERS):
        for device in range(DEVICES):
            reply = agent.post(
                "device.push_register", f"user{user}",
                {"provider": "fcm", "token": f"fcm-{user}-{device}"}, device=f"phone{device}")
            assert reply.status == 200, reply.text


class Pusher(threading.Thread):
    """Calls nine users at a time and gives up: two pushes to each of their devices."""

    def __init__(self, agent, seconds):
        super().__init__()
        self.caller = agent.connect("caller")
        self.seconds = seconds

    def run(self):
        pause = 9 * DEVICES * 2 / PER_SECOND
        due = time.monotonic()
        end, first = due + self.seconds, 0
        while due < end:
            users = [f"user{(first + n) % USERS}" for n in range(9)]
            first += 9
            call = self.caller.ok("call.invite", invitees=users, mode="advanced")["call_id"]
            self.caller.ok("call.end", call_id=call)
            self.caller.forget()
            due += pause
            time.sleep(max(0, due - time.monotonic()))


def latencies(agent, seconds, name):
    """How long invitations between connected people take, in milliseconds."""
    alice, bob = agent.connect(f"alice-{name}"), agent.connect(f"bob-{name}")
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        call = alice.ok("call.invite", invitees=[bob.user], mode="common")["call_id"]
        bob.event("call.incoming")
        times.append((time.monotonic() - begin) * 1_000)
        bob.ok("call.reject", call_id=call)
        alice.forget()
        bob.forget()
    times.sort()
    return times[len(times) // 2], times[len(times) * 99 // 100], len(times)


def start(folder, double, name):
    (folder / name).mkdir()
    agent = Agent(folder / name, double.push_config, environment=double.environment)
    agent.start()
    register(agent)
    return agent


def cost(folder, double, seconds):
    """What one push costs when the provider answers after 200 ms."""
    double.plan("fcm", {"delay": 0.2})
    agent = start(folder, double, "cost")
    pusher = Pusher(agent, seconds)
    before = thread_seconds(agent.process), thread_seconds(agent.process, "outbound")
    begin = time.monotonic()
    pusher.start()
    while pusher.is_alive():
        pusher.join(1)
        double.seen()
    wait_for("the last outcomes", lambda: agent.metrics()["callagent_pushes"] == 0, patience=60)
    elapsed = time.monotonic() - begin
    figures = agent.metrics()
    sent, failed = (figures[f"callagent_pushes_{what}_total"] for what in ("sent", "failed"))
    counters = double.do("server")
    outbound = thread_seconds(agent.process, "outbound") - before[1]
    whole = thread_seconds(agent.process) - before[0]
    print(f"- sent {sent:.0f} in {elapsed:.1f} s: {sent / elapsed:.0f} a second; "
          f"failed {failed:.0f}; connections {counters['accepted']}, "
          f"at most {counters['most_streams']} streams on one")
    print(f"- processor time of one push: {outbound / sent * 1e6:.0f} µs on the outbound thread, "
          f"{whole / sent * 1e6:.0f} µs in the whole process (with calls, store and shaping); "
          f"promised 100 µs")
    agent.close()


def hang(folder, double, seconds):
    """What calls feel of a provider that never answers, and what memory does.

    The same pushes go out in both parts, so that the machine is as busy in the one as in the other.
    """
    agent = start(folder, double, "hang")
    pusher = Pusher(agent, seconds * 2 + 1)
    pusher.start()
    healthy = latencies(agent, seconds, "healthy")
    before = agent.resident()
    double.plan("fcm", {"act": "hang"})
    hanging = latencies(agent, seconds, "hanging")
    pusher.join()
    double.seen()
    print(f"- invitations while {PER_SECOND} pushes a second are taken: p50 {healthy[0]:.2f} ms, "
          f"p99 {healthy[1]:.2f} ms ({healthy[2]} of them)")
    print(f"- while as many go nowhere: p50 {hanging[0]:.2f} ms, p99 {hanging[1]:.2f} ms "
          f"({hanging[2]})")
    print(f"- pushes without an outcome: {agent.metrics()['callagent_pushes']:.0f}; memory "
          f"{before >> 20} MiB before, {agent.resident() >> 20} MiB after")
    agent.close()


def main():
    seconds = float(sys.argv[1])
    with tempfile.TemporaryDirectory(dir=pathlib.Path(".build")) as name:
        folder = pathlib.Path(name).resolve()
        double = Double(folder / "double")
        print("## A provider that answers after 200 ms\n")
        cost(folder, double, seconds)
        print("\n## A provider that hangs\n")
        hang(folder, double, seconds)
        double.close()


main()
