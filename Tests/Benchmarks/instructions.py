"""Counts the instructions of a refused invitation, in user space, by callgrind.

usage: instructions.py [--calls N] [--keep FILE] NAME=EXECUTABLE…

Each executable serves one connection with one invitation in flight, in memory, and the plugin of
`Policy/plugins` refuses. Counted is the difference between many and few invitations, so that what
happens once does not count. The count depends on the program alone, not on the hour; valgrind
makes the server some fifty times slower, so nothing is said of times.
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

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Interop"))

from agent import free_port, wait_for  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

FILE = """listen = "127.0.0.1:{port}"
admin = "unix:{folder}/admin.sock"
state_dir = ":memory:"
"""


class Server:
    """A server under callgrind, which counts only while `counting`."""

    def __init__(self, executable, folder):
        self.folder = pathlib.Path(folder)
        self.port = free_port()
        shutil.copytree(HERE / "Policy/plugins", self.folder / "plugins")
        head = FILE.format(port=self.port, folder=folder)
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


def invite(client, count):
    """Makes so many calls, one after the other."""
    for number in range(count):
        data = '{"invitees":["support"],"mode":"common"}'
        client.send(f'{{"id":{number},"op":"call.invite","data":{data}}}')
        seq = None
        while not seq:
            message = client.recv(timeout=60)
            assert '"error"' not in message, message
            seq = re.match(r'\{"seq":(\d+),"event":"call.ended"', message)
        client.send(f'{{"ack":{seq[1]}}}')


def count(server, calls):
    """Has callgrind count while so many calls are made."""
    with connect(f"ws://127.0.0.1:{server.port}/v1/ws", compression=None) as client:
        client.send('{"id":1,"op":"hello","data":{"token":"dev:ann","device":"phone"}}')
        assert '"ok"' in client.recv(timeout=60)
        invite(client, 100)
        server.control("-i", "on")
        invite(client, calls)
        server.control("-i", "off")
        server.control("-d")


def total(path):
    return int(re.search(r"^totals: (\d+)", path.read_text(), re.M)[1])


def measure(executable, calls, keep):
    """Instructions of one call; `keep` gets what callgrind wrote, for callgrind_annotate."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(executable, folder)
        try:
            count(server, calls)
        finally:
            server.stop()
        files = sorted(pathlib.Path(folder).glob("counts*"))
        counts = max(files, key=total)
        if keep:
            shutil.copy(counts, keep)
        return total(counts) / calls


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--keep")
    parser.add_argument("servers", nargs="+")
    arguments = parser.parse_args()
    for word in arguments.servers:
        name, _, executable = word.rpartition("=")
        each = measure(os.path.abspath(executable), arguments.calls, arguments.keep)
        print(f"{name}: {each:,.0f} instructions for a refused invitation", flush=True)


if __name__ == "__main__":
    main()
