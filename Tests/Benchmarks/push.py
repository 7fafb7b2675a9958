"""Pushes under load, against nghttp2's server seen from afar. Started by push.sh."""

import collections
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Interop"))

from agent import Agent, free_port, wait_for
from double import Double

USERS, DEVICES = 90, 10
CALLERS = 60  # of each only a few pushes are under way at once
PROMISED = 1_000  # pushes per second
RINGING = 18  # so many calls ring at once: what waits when a call ends is not sent any more
OFFERED = 1_200  # more than promised, so that the server is what limits
DELAY = 0.2  # seconds until the provider answers
WARM_UP = 6  # seconds: by then calls end as often as they begin
ROUNDS = 4  # of a provider that answers and one that hangs, by turns
TICKS = os.sysconf("SC_CLK_TCK")
NGHTTPD = shutil.which("nghttpd", path="/usr/sbin:/usr/bin:/usr/local/bin")


class Provider:
    """FCM as files of nghttpd, behind delay.py: a server that is fast and far away."""

    def __init__(self, folder, double):
        files = folder / "files"
        (files / "v1/projects/double").mkdir(parents=True)
        (files / "v1/projects/double/messages:send").write_text('{"name":"m"}')
        (files / "token").write_text('{"access_token":"t","expires_in":3600}')
        port = free_port()
        # A window for many requests at once: the delay stands for the provider's thinking.
        self.server = subprocess.Popen(
            [sys.executable, str(HERE.parent / "Doubles/keep.py"), NGHTTPD, "-m", "500", "-W", "24",
             "-d", str(files), str(port), double.hello["key"], double.hello["certificate"]],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        wait_for("nghttpd", lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
        self.relay = subprocess.Popen(
            [sys.executable, str(HERE / "delay.py"), str(port), str(DELAY)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.relay.stdout.readline())
        base = f"https://localhost:{self.port}"
        account = json.loads(double.hello["fcm"]["account"]) | {"token_uri": base + "/token"}
        (folder / "account.json").write_text(json.dumps(account))
        self.config = (f'push = {{ fcm = {{ account = secret "file:{folder}/account.json", '
                       f'server = "{base}" }} }}\n')

    def tell(self, word):
        self.relay.stdin.write(word + "\n")
        self.relay.stdin.flush()

    def connections(self):
        """How many connections clients have opened and not closed."""
        wanted = f":{self.port:04X} 01"
        lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()
        return sum(wanted in line for line in lines)

    def close(self):
        self.relay.stdin.close()
        self.relay.wait()
        self.relay.stdout.close()
        self.server.stdin.close()
        self.server.wait()


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

    def __init__(self, agent):
        super().__init__()
        self.callers = [agent.connect(f"caller{number}") for number in range(CALLERS)]
        self.is_over = threading.Event()
        self.late = 0.0  # seconds behind its own plan: then it is what limits

    def run(self):
        pause = 9 * DEVICES * 2 / OFFERED
        due, first = time.monotonic(), 0
        rung = collections.deque()
        while not self.is_over.is_set():
            users = [f"user{(first + n) % USERS}" for n in range(9)]
            caller = self.callers[first // 9 % CALLERS]
            first += 9
            call = caller.ok("call.invite", invitees=users, mode="advanced")["call_id"]
            rung.append((caller, call))
            if len(rung) > RINGING:
                caller, call = rung.popleft()
                caller.ok("call.end", call_id=call)
            caller.forget()
            due += pause
            self.late = max(0.0, time.monotonic() - due)
            time.sleep(max(0, due - time.monotonic()))

    def stop(self):
        self.is_over.set()
        self.join()


class Callers:
    """Invitations between two connected people, one after the other."""

    def __init__(self, agent):
        self.alice, self.bob = agent.connect("alice"), agent.connect("bob")

    def measure(self, seconds):
        """How long invitations take for so long, in milliseconds."""
        times, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            begin = time.monotonic()
            call = self.alice.ok("call.invite", invitees=["bob"], mode="common")["call_id"]
            self.bob.event("call.incoming")
            times.append((time.monotonic() - begin) * 1_000)
            self.bob.ok("call.reject", call_id=call)
            self.alice.forget()
            self.bob.forget()
        return times


def percentile(times, percent):
    times = sorted(times)
    return times[min(len(times) * percent // 100, len(times) - 1)]


def start(folder, provider, double, name):
    (folder / name).mkdir()
    agent = Agent(folder / name, provider.config, environment=double.environment)
    agent.start()
    register(agent)
    return agent


def sent(agent):
    metrics = agent.metrics()
    failed = metrics["callagent_pushes_failed_total"]
    assert failed == 0, f"{failed} pushes failed"
    return metrics["callagent_pushes_sent_total"]


def cost(folder, provider, double, seconds):
    """What one push costs when the provider answers after 200 ms."""
    agent = start(folder, provider, double, "cost")
    pusher = Pusher(agent)
    pusher.start()
    time.sleep(WARM_UP)

    def look():
        return (time.monotonic(), sent(agent), thread_seconds(agent.process, "outbound"),
                thread_seconds(agent.process))

    before = look()
    time.sleep(seconds)
    elapsed, count, outbound, whole = (b - a for a, b in zip(before, look()))
    waiting, connections = agent.metrics()["callagent_pushes"], provider.connections()
    pusher.stop()
    wait_for("the last outcomes", lambda: agent.metrics()["callagent_pushes"] == 0, patience=60)
    print(f"- {count:.0f} pushes in {elapsed:.1f} s, offered {OFFERED} a second, "
          f"{waiting:.0f} without an outcome at the end, connections {connections}")
    print(f"- processor time of one push in the whole process, with calls, store and shaping: "
          f"{whole / count * 1e6:.0f} µs")
    if pusher.late > 1:
        print(f"- (the generator was {pusher.late:.1f} s behind its plan)")
    agent.close()
    promise("pushes a second with answers after 200 ms", count / elapsed, "", PROMISED,
            at_least=True)
    promise("outbound thread's processor time of a push", outbound / count * 1e6, " µs", 100)


def hang(folder, provider, double, seconds):
    """What calls feel of a provider that never answers, and what memory does.

    Both parts take turns within one run and have the same pushes, so that the machine is as busy in
    the one as in the other.
    """
    agent = start(folder, provider, double, "hang")
    callers, pusher = Callers(agent), Pusher(agent)
    pusher.start()
    callers.measure(WARM_UP)
    healthy, hanging, before = [], [], agent.resident()
    for _ in range(ROUNDS):
        healthy += callers.measure(seconds / ROUNDS)
        provider.tell("hang")
        hanging += callers.measure(seconds / ROUNDS)
        most, after = agent.metrics()["callagent_pushes"], agent.resident()
        provider.tell("go")
        callers.measure(0.5)
    pusher.stop()
    for name, times in (("answers", healthy), ("hangs", hanging)):
        print(f"- invitations while it {name}: p50 {percentile(times, 50):.2f} ms, "
              f"p99 {percentile(times, 99):.2f} ms ({len(times)} of them)")
    print(f"- pushes without an outcome: {most:.0f}; memory {before >> 20} MiB before, "
          f"{after >> 20} MiB after")
    agent.close()
    promise("p99 of invitations, provider hangs / answers",
            percentile(hanging, 99) / percentile(healthy, 99), " ×", 1.1)


PROMISES = []


def promise(what, value, unit, limit, at_least=False):
    """A row of the last table."""
    is_kept = value >= limit if at_least else value <= limit
    verdict = "kept" if is_kept else f"missed by {abs(value - limit):.4g}{unit}"
    bound = "at least " if at_least else ""
    PROMISES.append(f"| {what} | {value:.4g}{unit} | {bound}{limit:g}{unit} | {value / limit:.2f} "
                    f"| {verdict} |")


def main():
    seconds = float(sys.argv[1])
    assert NGHTTPD, "nghttpd is missing: sh examples/install.sh --checks"
    with tempfile.TemporaryDirectory(dir=pathlib.Path(".build")) as name:
        folder = pathlib.Path(name).resolve()
        double = Double(folder / "double")
        provider = Provider(folder, double)
        print("## A provider that answers after 200 ms\n")
        cost(folder, provider, double, seconds)
        print("\n## A provider that hangs\n")
        hang(folder, provider, double, seconds)
        provider.close()
        double.close()
    print("\n## Promises\n\n| what | measured | promised | measured / promised | |\n"
          "| --- | --- | --- | --- | --- |")
    print("\n".join(PROMISES))


main()
