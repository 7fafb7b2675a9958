"""A headless Chromium, told over its debugging protocol what to do; no driver is needed."""

import contextlib
import functools
import http.client
import http.server
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import threading

import pytest
from websockets.sync.client import connect

from agent import wait_for

EMPTY = "about:blank"  # where a tab is before its page has come
# How a screen is looked at: how wide, and whether dark. In short each width and each theme once.
LOOKS = ((1280, False), (320, True)) + (
    ((1280, True), (320, False)) if os.environ.get("CALLAGENT_FULL") else ())
PATIENCE = 30  # seconds that anything in the browser may take
ROOT = pathlib.Path(__file__).parents[2]
PAGES = ROOT / "examples" / "browser"
CLIENT = ROOT / "Sources" / "CallClientJS"
# The checker of pages; none: see run.sh.
AXE = next(ROOT.glob(".build/interop/axe/**/axe.min.js"), None)
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
def serving(folder):
    """Where the files of a folder are."""
    handler = functools.partial(QuietHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def end(process):
    """Ends a browser, which may hang."""
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


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
        end(self.process)


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

    def command(self, method, **params):
        """A command of the debugging protocol, and its answer."""
        number = next(self.ids)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            reply = json.loads(self.socket.recv(timeout=PATIENCE))
            if reply.get("id") == number:
                assert "error" not in reply, reply
                return reply["result"]

    def type(self, text):
        """Types into what has the focus."""
        self.command("Input.insertText", text=text)

    def key(self, name, code, modifiers=0):
        """Presses a key, such as ("Tab", 9)."""
        text = {"Enter": "\r", " ": " "}.get(name)
        more = {"text": text} if text else {}
        for kind in ("keyDown", "keyUp"):
            self.command(
                "Input.dispatchKeyEvent", type=kind, key=name, code=name, modifiers=modifiers,
                windowsVirtualKeyCode=code, nativeVirtualKeyCode=code,
                **(more if kind == "keyDown" else {}))

    def size(self, width, dark=False):
        """The page is so wide, and people like it light or dark."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1,
            mobile=width < 500)
        schemes = {"prefers-color-scheme": "dark" if dark else "light",
                   "prefers-reduced-motion": "reduce"}
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": name, "value": value} for name, value in schemes.items()])

    def faults(self):
        """What axe finds: for each the rule and the elements that break it."""
        self.evaluate(f"globalThis.axe ?? (() => {{ {AXE.read_text()} }})(), 0")
        return json.loads(self.evaluate(
            "axe.run().then(({ violations }) => JSON.stringify(violations.map("
            "({ id, nodes }) => [id, nodes.map(({ html }) => html)])))"))

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
