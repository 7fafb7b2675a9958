"""The server under test: a real process with a folder, a port and a configuration of its own."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time

from device import Device

PATIENCE = 30  # seconds that anything of the process may take


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, condition, patience=PATIENCE, pause=0.01):
    """Asks again and again until the condition gives something true, and returns that."""
    deadline = time.monotonic() + patience
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < deadline, f"{what}: not within {patience} s"
        time.sleep(pause)


def job_end(begun, get):
    """How a job ended that the management API has begun; `get` asks for a path of that."""
    assert begun.status == 202, begun.text
    path = f"/jobs/{begun.body['job']}"

    def over():
        state = get(path).body
        return state if state["state"] not in ("waiting", "running") else None

    return wait_for("the end of the job", over)


def as_other_user(agent, *arguments):
    """Runs a command as somebody who may not look into the state; its exit code and output."""
    program = agent.folder / "callagent"  # the executable may lie where others have no way to
    shutil.copy(os.environ["CALLAGENT"], program)
    try:
        done = subprocess.run(
            ["./callagent", *arguments], cwd=agent.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False,
            user=12_345, group=12_345, extra_groups=[])
    finally:
        program.unlink()
    return done.returncode, done.stdout.decode(errors="replace")


class HTTPReply:
    """Status, headers and parsed body of an answer over HTTP."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()
        is_json = "json" in (response.headers["Content-Type"] or "")
        self.body = json.loads(self.text) if is_json and self.text else None


class Agent:
    """`callagent run` in a folder: `callagent.lua`, `plugins/`, the state and the log."""

    def __init__(self, folder, config="", plugins=None, state="state", environment=None):
        self.folder = folder
        # The process runs in the folder, whose full path may be too long for a socket in it.
        self.environment = os.environ | {"XDG_RUNTIME_DIR": "."} | (environment or {})
        self.port = free_port()
        self.process = None
        self.devices = []
        (folder / "plugins").mkdir(parents=True, exist_ok=True)
        self.state = state
        self.configure(config, plugins or {})

    def configure(self, config, plugins=None):
        """Writes the operator's file, and those plugins that are given."""
        head = f'listen = "127.0.0.1:{self.port}"\nstate_dir = "{self.state}"\n'
        (self.folder / "callagent.lua").write_text(head + config)
        for name, text in (plugins or {}).items():
            (self.folder / "plugins" / f"{name}.lua").write_text(text)

    # The process

    def launch(self, *options):
        """Starts the process without waiting for anything."""
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [self.environment["CALLAGENT"], "run", "callagent.lua", *options],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log)
        return self

    def start(self, *options):
        """Starts the process and waits until it takes calls."""
        self.launch(*options)
        wait_for("readyz", self.is_ready)
        return self

    def starts(self):
        """Starts what a fault may strike: whether it takes calls. Else it ended with code 1."""
        self.launch()
        try:
            return wait_for("readyz or an end", self.is_ready)
        except AssertionError:
            assert self.process.poll() == 1, f"{self.process.poll()}: {self.log_text()}"
            return False

    def is_ready(self):
        assert self.process.poll() is None, f"ended with {self.process.poll()}:\n{self.log_text()}"
        try:
            return self.get("/readyz").status == 200
        except OSError:
            return False

    def log_text(self):
        return (self.folder / "log").read_text(errors="replace")

    def logs(self, words):
        """Waits until the log has these words: a thread of its own writes it."""
        wait_for(f"{words!r} in the log", lambda: words in self.log_text())

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, patience=PATIENCE):
        """Waits for the end of the process and returns its exit code."""
        code = self.process.wait(patience)
        self.log.close()
        return code

    def stop(self):
        """Ends the process as an operator does; returns its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait(patience=15)

    def crash(self):
        self.process.kill()
        self.wait()

    def close(self):
        """What every test ends with: the process must still live, and end well."""
        for device in self.devices:
            device.close()
        if self.process is None or self.process.poll() is not None:
            return
        code = self.stop()
        assert code == 0, f"ended with {code}:\n{self.log_text()}"

    def refuses_to_start(self):
        """Starts the process, which must give up by itself; returns what it said."""
        self.launch()
        code = self.wait()
        assert code not in (0, None) and code > 0, f"exit code {code}"
        return self.log_text()

    def tool(self, *arguments):
        """Runs another command of the tool in the folder; returns exit code and all its output."""
        done = subprocess.run(
            [os.environ["CALLAGENT"], *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
        return done.returncode, done.stdout.decode(errors="replace")

    def begin_tool(self, *arguments, output=subprocess.DEVNULL):
        """Begins another command of the tool in the folder; all it says goes to `output`."""
        return subprocess.Popen(
            [os.environ["CALLAGENT"], *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=output, stderr=output)

    # What it says of itself

    def admin(self, method, path, body=None, headers=None):
        """A request at the operator's socket."""
        with socket.socket(socket.AF_UNIX) as admin:
            admin.settimeout(PATIENCE)
            folder = os.open(self.folder / self.state, os.O_PATH)
            admin.connect(f"/proc/self/fd/{folder}/admin.sock")  # its full path may be too long
            os.close(folder)
            connection = http.client.HTTPConnection("admin")
            connection.sock = admin
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Connection": "close"} | (headers or {}))
            return HTTPReply(connection.getresponse())

    def metrics(self):
        """The numbers for Prometheus, by name, from the operator's socket."""
        lines = (line for line in self.admin("GET", "/metrics").text.splitlines() if line[0] != "#")
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    def resident(self):
        """Its memory in bytes."""
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1_024
        raise AssertionError("the process is gone")

    # Its clients

    @property
    def url(self):
        return f"ws://127.0.0.1:{self.port}/v1/ws"

    def connect(self, user, device="phone", **options):
        """A device that has said hello."""
        made = Device(self.url, user, device, **options)
        self.devices.append(made)
        return made

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, headers or {})
            return HTTPReply(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, user=None):
        headers = {"Authorization": f"Bearer dev:{user}"} if user else {}
        return self.request("GET", path, headers=headers)

    def post(self, operation, user, data, key=None, device=None):
        """An operation over HTTP, as `call.accept` by a user."""
        headers = {"Authorization": f"Bearer dev:{user}", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        if device is not None:
            headers["X-Device"] = device
        path = "/v1/" + operation.replace(".", "/")
        return self.request("POST", path, json.dumps(data), headers)
