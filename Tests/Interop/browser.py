"""A headless Chromium, told over its debugging protocol what to do; no driver is needed."""

import contextlib
import http.client
import itertools
import json
import shutil
import subprocess

from websockets.sync.client import connect

from agent import wait_for

PATIENCE = 30  # seconds that anything in the browser may take
NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding", "--remote-debugging-port=0",
    # A microphone that nobody has to allow, and voice that stays on this machine.
    "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
    "--allow-loopback-in-peer-connection",
)


def find_browser():
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """The process, with a profile of its own."""

    def __init__(self, folder):
        self.open = contextlib.ExitStack()
        self.folder = folder
        self.log = self.open.enter_context(open(f"{folder}.log", "wb"))
        self.process = subprocess.Popen(
            [find_browser(), *ARGUMENTS, f"--user-data-dir={folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.port = wait_for("the browser", self.find_port, patience=PATIENCE)

    def find_port(self):
        assert self.process.poll() is None, f"ended with {self.process.poll()}"
        with contextlib.suppress(OSError, IndexError, ValueError):
            return int((self.folder / "DevToolsActivePort").read_text().split()[0])

    def tab(self, address):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("PUT", f"/json/new?{address}")
        target = json.loads(connection.getresponse().read())
        connection.close()
        return Tab(self.open.enter_context(connect(
            target["webSocketDebuggerUrl"], max_size=None, open_timeout=PATIENCE)))

    def close(self):
        self.open.close()
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Tab:
    """One page."""

    def __init__(self, socket):
        self.socket = socket
        self.ids = itertools.count(1)

    def evaluate(self, script):
        """The value of an expression in the page; a promise is waited for."""
        number = next(self.ids)
        self.socket.send(json.dumps({"id": number, "method": "Runtime.evaluate", "params": {
            "expression": script, "awaitPromise": True, "returnByValue": True,
            "userGesture": True}}))
        while True:
            reply = json.loads(self.socket.recv(timeout=PATIENCE))
            if reply.get("id") == number:
                assert "exceptionDetails" not in reply["result"], reply["result"]
                return reply["result"]["result"].get("value")

    def shows(self, text):
        """Waits until the page says this of its call."""
        wait_for(f"the page showing '{text}'", patience=PATIENCE, pause=0.1, condition=lambda:
                 text in (self.evaluate("document.getElementById('state')?.textContent") or ""))

    def press(self, button):
        self.evaluate(f"document.getElementById('{button}').click()")

    def dial(self, user):
        self.evaluate(f"document.getElementById('callee').value = '{user}'")
        self.press("call")
