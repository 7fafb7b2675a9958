"""A headless Chromium, told over its debugging protocol what to do; no driver is needed."""

import contextlib
import functools
import http.client
import http.server
import itertools
import json
import pathlib
import shutil
import subprocess
import threading

import pytest
from websockets.sync.client import connect

from agent import wait_for

EMPTY = "about:blank"  # where a tab is before its page has come
PATIENCE = 30  # seconds that anything in the browser may take
PAGES = pathlib.Path(__file__).parents[2] / "examples" / "browser"
NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--remote-debugging-port=0",
    # A microphone that nobody has to allow, and voice that stays on this machine.
    "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
    "--allow-loopback-in-peer-connection",
)
# Tabs of which only one is in front work as if all were.
ALL_AWAKE = ("--disable-background-timer-throttling", "--disable-renderer-backgrounding")
# Timers of a tab that was hidden for a second come once a minute; people's browsers wait longer.
SOON_TIRED = ("--enable-features=IntensiveWakeUpThrottling:grace_period_seconds/1",)


def find_browser():
    return next(filter(None, map(shutil.which, NAMES)), None)


needs_browser = pytest.mark.skipif(
    not find_browser(), reason="no browser: apt-get install chromium to test examples/browser")


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def serving_pages():
    """Where the pages of the example are."""
    handler = functools.partial(QuietHandler, directory=PAGES)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Browser:
    """The process, with a profile of its own."""

    def __init__(self, folder, habits=ALL_AWAKE):
        self.open = contextlib.ExitStack()
        self.folder = folder
        self.log = self.open.enter_context(open(f"{folder}.log", "wb"))
        self.process = subprocess.Popen(
            [find_browser(), *ARGUMENTS, *habits, f"--user-data-dir={folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.port = wait_for("the browser", self.find_port, patience=PATIENCE)

    def find_port(self):
        assert self.process.poll() is None, f"ended with {self.process.poll()}"
        with contextlib.suppress(OSError, IndexError, ValueError):
            return int((self.folder / "DevToolsActivePort").read_text().split()[0])

    def ask(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("PUT", path)
        answer = connection.getresponse().read()
        connection.close()
        return answer

    def tab(self, address):
        """A page in a tab of its own, which is in front until the next one."""
        target = json.loads(self.ask(f"/json/new?{address}"))
        made = Tab(target["id"], self.open.enter_context(connect(
            target["webSocketDebuggerUrl"], max_size=None, open_timeout=PATIENCE)))
        self.show(made)
        if address != EMPTY:
            # Until it is there the tab has an empty page, whose origin is nobody's.
            wait_for("the page", lambda: made.evaluate("location.href") not in (None, EMPTY))
        return made

    def show(self, tab):
        self.ask(f"/json/activate/{tab.id}")

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

    def __init__(self, identifier, socket):
        self.id = identifier
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
            if reply.get("id") == number and "error" in reply:
                return None  # the page went away under it, for another one
            if reply.get("id") == number:
                assert "exceptionDetails" not in reply["result"], reply["result"]
                return reply["result"]["result"].get("value")

    def loads(self):
        """Waits until the page is there: before, it has no context that lasts."""
        wait_for("the page", patience=PATIENCE, pause=0.05, condition=lambda: self.evaluate(
            "location.href !== 'about:blank' && document.readyState === 'complete'"))

    def shows(self, text):
        """Waits until the page says this of its call."""
        wait_for(f"the page showing '{text}'", patience=PATIENCE, pause=0.1, condition=lambda:
                 text in (self.evaluate("document.getElementById('state')?.textContent") or ""))

    def press(self, button):
        self.evaluate(f"document.getElementById('{button}').click()")

    def dial(self, user):
        self.evaluate(f"document.getElementById('callee').value = '{user}'")
        self.press("call")
