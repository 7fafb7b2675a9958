"""The tutorial "An app in a page", word for word: its files, in a browser."""

import json
import re
import subprocess

import pytest

from agent import wait_for
from browser import PATIENCE, ROOT, Browser, needs_browser, serving
from test_push import pushes

pytestmark = needs_browser

PAGE = ROOT / "Sources" / "CallClient" / "CallClient.docc" / "AppInAPage.md"
BLOCK = re.compile(r"<!-- (file: (?P<path>\S+)|run) -->\n```\w*\n(?P<text>.*?)```", re.DOTALL)

# The browser's push service is on another machine, so the double's subscription takes its place.
SUBSCRIBE = """
PushManager.prototype.subscribe = async () => ({ toJSON: () => (%s) });
"""


@pytest.fixture
def server(pusher):
    """A server that sends pushes to browsers."""
    return pusher()


@pytest.fixture
def app(server, tmp_path):
    """Where the files of the page are served, beside each other in a folder."""
    folder = tmp_path / "app"
    folder.mkdir()
    written = set()
    for block in BLOCK.finditer(PAGE.read_text()):
        text = block["text"].replace("127.0.0.1:7600", f"127.0.0.1:{server.port}")
        if block["path"]:
            (folder / block["path"]).write_text(text)
            written.add(block["path"])
        else:
            subprocess.run(["sh", "-e", "-c", text], cwd=folder, check=True)
    assert written == {"index.html", "app.js"} and (folder / "sw.js").exists()
    with serving(folder) as address:
        yield address


class Visitor:
    """One person who has the page open."""

    def __init__(self, browser, address, user):
        self.tab = browser.tab(f"{address}/?user={user}")
        self.tab.loads()
        self.tab.shows(f"{user}: ready")

    def calls(self, user):
        self.tab.evaluate(f"document.getElementById('callee').value = '{user}'")
        self.tab.evaluate("document.querySelector('form').requestSubmit()")

    def can_press(self, button):
        return self.tab.evaluate(f"!document.getElementById('{button}').hidden")

    def plays(self):
        wait_for("a voice", patience=PATIENCE, pause=0.1, condition=lambda: self.tab.evaluate(
            "document.getElementById('voice').srcObject?.getAudioTracks()[0]?.readyState")
            == "live")


def test_two_people_call_and_hear_each_other(browser, app):
    alice, bob = (Visitor(browser, app, user) for user in ("alice", "bob"))
    assert not alice.can_press("end") and not bob.can_press("accept")
    alice.calls("bob")
    bob.tab.shows("alice calls")
    alice.tab.shows("bob: ringing")
    bob.tab.press("accept")
    for one, other in ((alice, "bob"), (bob, "alice")):
        one.tab.shows(f"with {other}: connected")
        one.plays()
    alice.tab.press("end")
    for one, user in ((alice, "alice"), (bob, "bob")):
        one.tab.shows(f"{user}: ended, completed")
        assert not one.can_press("end")


def test_a_caller_who_gives_up_is_seen(browser, app):
    alice, bob = (Visitor(browser, app, user) for user in ("alice", "bob"))
    alice.calls("bob")
    bob.tab.shows("alice calls")
    alice.tab.press("end")
    bob.tab.shows("bob: ended, cancelled")
    assert not bob.can_press("accept")


class Worker:
    """The service worker of a site, as the browser's push service sees it."""

    def __init__(self, tab, address):
        self.tab = tab
        self.address = address
        self.tab.socket.send(json.dumps({"id": 0, "method": "ServiceWorker.enable"}))
        self.registration = None
        while not self.registration:
            message = json.loads(self.tab.socket.recv(timeout=PATIENCE))
            if message.get("method") == "ServiceWorker.workerRegistrationUpdated":
                found = message["params"]["registrations"]
                self.registration = next(
                    (one["registrationId"] for one in found if not one["isDeleted"]), None)

    def hears(self, data):
        self.tab.command("ServiceWorker.deliverPushMessage", origin=self.address,
                         registrationId=self.registration, data=json.dumps(data))

    def shows_and_closes(self):
        """A first one: Chromium's list may lose it, and none that comes later."""
        def shows():
            self.tab.evaluate("navigator.serviceWorker.getRegistration().then((one) =>"
                              " one.showNotification('first', { tag: 'first' }))")
            return self.shown() == [["first"]]

        wait_for("a first notification", shows, patience=PATIENCE, pause=0.1)
        self.tab.evaluate("navigator.serviceWorker.getRegistration().then((one) =>"
                          " one.getNotifications()).then(([one]) => one.close())")
        wait_for("its end", lambda: self.shown() == [], patience=PATIENCE, pause=0.1)

    def shown(self):
        return self.tab.evaluate("""navigator.serviceWorker.getRegistration().then((one) =>
            one.getNotifications()).then((all) => all.map(({ title, actions }) =>
            [title, ...actions.map((one) => one.title)]))""")


@pytest.fixture
def asked(tmp_path_factory):
    """A browser of its own: what a site may do, and its workers, are of the whole browser."""
    made = Browser(tmp_path_factory.mktemp("asked"))
    yield made
    made.close()


def is_connected(server, user):
    """Whether some device of the user has a connection, as the operator sees it."""
    answer = server.admin("GET", f"/admin/v1/users/{user}")
    return any(one["connected"] for one in json.loads(answer.text)["devices"])


def test_a_closed_page_rings(asked, app, server, double):
    bob = Visitor(asked, app, "bob")
    # What was allowed is so as long as the tab that allowed it is open.
    aside = asked.tab(f"{app}/sw.js")
    aside.command("Browser.grantPermissions", origin=app, permissions=["notifications"])
    bob.tab.evaluate(SUBSCRIBE % json.dumps(double.subscription("chrome")))
    bob.tab.press("wake")
    wait_for("the subscription", patience=PATIENCE, pause=0.1, condition=lambda: bob.tab.evaluate(
        "document.getElementById('wake').textContent").startswith("It rings"))
    worker = Worker(aside, app)
    asked.ask(f"/json/close/{bob.tab.id}")
    wait_for("the closed page", lambda: not is_connected(server, "bob"))
    alice = Visitor(asked, app, "alice")
    alice.calls("bob")
    push, = pushes(double, 1)
    worker.shows_and_closes()
    worker.hears(push["payload"])
    wait_for("the notification", patience=PATIENCE, pause=0.1, condition=lambda: worker.shown()
             == [["alice calls", "Accept", "Reject"]])
    alice.tab.shows("bob: ringing")
