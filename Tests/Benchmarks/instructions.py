"""Counts the instructions of a refused invitation, in user space, by callgrind.

usage: instructions.py [--calls N] [--connections N] [--durable] [--keys] [--keep FILE]
                       [--most N] NAME=EXECUTABLE…

Each executable serves so many connections (64) with one invitation in flight each, in memory or
with its store on disk, and the plugin of `Policy/plugins` refuses. Those before are not counted, so
that what happens once does not count. The count depends on the program, hardly on the hour (what
comes by the clock is some hundredth of it); valgrind makes the server some fifty times slower, so
nothing is said of times. With --keys each invitation has an idempotency key, as those of the
clients have. With --most the end is a failure when one needs more, three times.
"""

import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Interop"))

from agent import free_port, wait_for  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

TRIES = 3  # where it is above what is allowed: in a slow moment timers come more often for a call

FILE = """listen = "127.0.0.1:{port}"
admin = "unix:{folder}/admin.sock"
state_dir = "{state}"
"""


class Server:
    """A server under callgrind, which counts only while `counting`."""

    def __init__(self, executable, folder, state):
        self.folder = pathlib.Path(folder)
        self.port = free_port()
        shutil.copytree(HERE / "Policy/plugins", self.folder / "plugins")
        head = FILE.format(port=self.port, folder=folder, state=state)
        # A handler that takes microseconds takes a millisecond here, and is as quick as before.
        known = subprocess.run([executable, "config"], capture_output=True, text=True).stdout
        if "limits.lane_microseconds" in known:
            head += "limits = { lane_microseconds = 10000 }\n"
        (self.folder / "callagent.lua").write_text(
            head + (HERE / "Policy/callagent.lua").read_text())
        # Valgrind cannot read what Swift writes for debuggers.
        program = self.folder / "callagent"
        subprocess.run(["strip", "--strip-debug", "-o", program, executable], check=True)
        self.log = open(self.folder / "log", "wb")
        self.process = subprocess.Popen(
            ["valgrind", "--tool=callgrind", "--instr-atstart=no",
             f"--callgrind-out-file={folder}/counts", program, "run",
             f"{folder}/callagent.lua"],
            stdout=self.log, stderr=self.log)
        wait_for("the start", self.is_ready, patience=120, pause=0.2)

    def is_ready(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        return '"message":"ready"' in (self.folder / "log").read_text()

    def control(self, *words):
        subprocess.run(
            ["callgrind_control", *words, str(self.process.pid)], check=True,
            stdout=subprocess.DEVNULL)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(120)
        self.log.close()


def invite(clients, count, with_keys):
    """Makes so many calls on each connection, all connections at once."""
    for number in range(count):
        data = '{"invitees":["support"],"mode":"common"}'
        for client in clients:
            key = f'"key":"{uuid.uuid4()}",' if with_keys else ""
            client.send(f'{{"id":{number},"op":"call.invite",{key}"data":{data}}}')
        for client in clients:
            client.send(f'{{"ack":{ended(client)}}}')


def ended(client):
    """The number of the event that ends the call."""
    while True:
        message = client.recv(timeout=120)
        assert '"error"' not in message, message
        seq = re.match(r'\{"seq":(\d+),"event":"call.ended"', message)
        if seq:
            return seq[1]


def connected(port, number):
    client = connect(f"ws://127.0.0.1:{port}/v1/ws", compression=None)
    token = f"dev:ann{number}"
    client.send(f'{{"id":1,"op":"hello","data":{{"token":"{token}","device":"phone"}}}}')
    assert '"ok"' in client.recv(timeout=60)
    return client


def count(server, calls, connections, with_keys):
    """Has callgrind count while so many calls are made."""
    clients = [connected(server.port, number) for number in range(connections)]
    invite(clients, max(2, 100 // connections), with_keys)
    server.control("-i", "on")
    invite(clients, calls // connections, with_keys)
    server.control("-i", "off")
    server.control("-d")
    for client in clients:
        client.close()


def total(path):
    return int(re.search(r"^totals: (\d+)", path.read_text(), re.M)[1])


def measure(executable, arguments):
    """Instructions of one call; `keep` gets what callgrind wrote, for callgrind_annotate."""
    with tempfile.TemporaryDirectory() as folder:
        state = f"{folder}/state" if arguments.durable else ":memory:"
        server = Server(executable, folder, state)
        calls = arguments.calls // arguments.connections * arguments.connections
        try:
            count(server, calls, arguments.connections, arguments.keys)
        finally:
            server.stop()
        files = sorted(pathlib.Path(folder).glob("counts*"))
        counts = max(files, key=total)
        if arguments.keep:
            shutil.copy(counts, arguments.keep)
        return total(counts) / calls


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=640)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--durable", action="store_true")
    parser.add_argument("--keys", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("--most", type=int)
    parser.add_argument("servers", nargs="+")
    arguments = parser.parse_args()
    for word in arguments.servers:
        name, _, executable = word.rpartition("=")
        for left in reversed(range(TRIES if arguments.most else 1)):
            each = measure(os.path.abspath(executable), arguments)
            print(f"{name}: {each:,.0f} instructions for a refused invitation", flush=True)
            if not arguments.most or each <= arguments.most:
                break
            if not left:
                sys.exit(f"{name}: at most {arguments.most:,} were allowed")


if __name__ == "__main__":
    main()
