"""Another browser: a tab that is closed rings, and its people hear those at Chromium."""

import contextlib
import time

import pytest

from agent import wait_for
from calls import invite
from firefox import Firefox, PushService, needs_firefox
from browser import PATIENCE, needs_browser
from test_browser_phone import HELP, Phone, loud, phone  # noqa: F401, fixtures

pytestmark = needs_firefox
TONE = 1_000  # hertz of the microphone that Firefox makes up
# What is heard: its sound does not start without a screen, so its figures tell.
EARS = """
globalThis.peers = [];
globalThis.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(...given) {
    super(...given);
    peers.push(this);
  }
};
globalThis.energy = async () => {
  let sum = 0;
  for (const peer of peers) {
    for (const one of (await peer.getStats()).values()) {
      if (one.type === "inbound-rtp" && one.kind === "audio") sum += one.totalAudioEnergy ?? 0;
    }
  }
  return sum;
};
"""


class FirefoxPhone(Phone):
    """A person at a phone in Firefox, whose microphone is the browser's own tone."""

    def ready(self):
        self.tab.loads()
        self.tab.evaluate(f"(() => {{ {HELP} {EARS} }})()")

    def hears_something(self):
        before = self.tab.evaluate("energy()")
        wait_for("a voice", lambda: self.tab.evaluate("energy()") > before + 0.001,
                 patience=PATIENCE, pause=0.1)

    def hears_nothing(self):
        heard = [-1]

        def is_quiet():
            heard.append(self.tab.evaluate("energy()"))
            return heard[-1] - heard[-2] < 1e-6 and heard[-2] >= 0

        wait_for("silence", is_quiet, patience=PATIENCE, pause=0.5)


@pytest.fixture
def service(double):
    with contextlib.closing(PushService(double.hello["certificate"], double.hello["key"])) as made:
        yield made


def notifications(tab):
    return tab.evaluate(
        "navigator.serviceWorker.getRegistration('/').then((one) => one.getNotifications())"
        ".then((all) => all.map(({ title, tag, actions, requireInteraction }) =>"
        " ({ title, tag, requireInteraction, actions: actions?.map(({ action }) => action) })))")


def sleeper(firefox, agent, name):
    """A person whose phone shall ring, and whose page is closed."""
    phone = FirefoxPhone(firefox.tab(f"http://127.0.0.1:{agent.port}/"), agent)
    phone.sign_in(name)
    phone.press("Ring when this page is closed")
    path = f"/admin/v1/users/{name}"
    wait_for("a registration", lambda: agent.admin("GET", path).body["registrations"])
    firefox.tab("about:blank")
    phone.tab.close()
    wait_for("nobody", lambda: not agent.admin("GET", path).body["online"])


def test_a_closed_tab_rings_within_a_second(pusher, service, tmp_path):
    agent = pusher()
    with contextlib.closing(Firefox(tmp_path / "profile", **service.preferences)) as firefox:
        sleeper(firefox, agent, "bob")
        alice = agent.connect("alice")
        # A machine may stand still for a moment, but not three times.
        for left in (2, 1, 0):
            begun = time.monotonic()
            call = invite(alice, "bob", mode="advanced")
            # The worker says that it rings when the notification is there.
            changed = alice.event("call.changed")
            took = time.monotonic() - begun
            assert changed["changes"][0]["state"] == "ringing"
            if took < 1:
                break
            assert left, f"it rang after {took:.2f} s"
            alice.ok("call.cancel", call_id=call)
            alice.event("call.ended")
        # A page of the same origin that is no phone.
        looker = firefox.tab(f"http://127.0.0.1:{agent.port}/v1/client/index.d.ts")
        (shown,) = notifications(looker)
        assert shown["title"] == "alice calls" and shown["tag"] == call
        assert shown["actions"] == ["accept", "reject"] and shown["requireInteraction"]
        alice.ok("call.cancel", call_id=call)
        wait_for("no ringing notification", lambda: all(
            one["title"] != "alice calls" for one in notifications(looker)))


def test_a_press_on_the_notification_opens_the_call(pusher, service, tmp_path):
    agent = pusher()
    address = f"http://127.0.0.1:{agent.port}/"
    with contextlib.closing(Firefox(tmp_path / "profile", **service.preferences)) as firefox:
        sleeper(firefox, agent, "bob")
        alice = agent.connect("alice")
        call = invite(alice, "bob", mode="advanced")
        assert alice.event("call.changed")["changes"][0]["state"] == "ringing"
        firefox.press_notification()
        tab = wait_for("the page of the call", lambda: firefox.tabs().get(f"{address}#call={call}"),
                       pause=0.1)
        bob = FirefoxPhone(tab, agent)
        bob.shows("bob Online", "alice calls")
        # It is shown, and not answered before a person says so.
        assert agent.admin("GET", f"/admin/v1/calls/{call}").body["call"]["state"] == "ringing"
        bob.press("Accept")
        wait_for("the answer", lambda: agent.admin(
            "GET", f"/admin/v1/calls/{call}").body["call"]["state"] == "active")


@needs_browser
def test_people_at_two_browsers_hear_each_other(phone, agent, tmp_path):  # noqa: F811
    alice = phone("alice", 440)
    with contextlib.closing(Firefox(tmp_path / "profile")) as firefox:
        bob = FirefoxPhone(firefox.tab(f"http://127.0.0.1:{agent.port}/"), agent)
        bob.sign_in("bob")
        alice.calls("bob")
        bob.shows("alice calls")
        bob.press("Accept")
        alice.hears("bob", TONE)
        bob.hears_something()
        alice.press("Mute")
        bob.shows("muted")
        bob.hears_nothing()
        alice.press("Mute")
        bob.hears_something()
        bob.press("Hang up")
        alice.shows("bob: ended")
        # And the other way round: the other browser makes the first offer.
        bob.calls("alice")
        alice.press("Accept")
        alice.hears("bob", TONE)
        bob.hears_something()
        # The server's end is not heard, and the call goes on with what it says again.
        agent.crash()
        bob.shows("The connection was lost")
        bob.hears_something()
        agent.start()
        for one, name in ((alice, "alice"), (bob, "bob")):
            one.shows(f"{name} Online")
        alice.hears("bob", TONE)
        bob.press("Mute")
        alice.hears("bob", 0)
        alice.press("Hang up")
        bob.shows("alice: ended")


@pytest.mark.full
@needs_browser
def test_a_reload_in_firefox_keeps_the_call(phone, agent, tmp_path):  # noqa: F811
    alice = phone("alice", 440)
    with contextlib.closing(Firefox(tmp_path / "profile")) as firefox:
        bob = FirefoxPhone(firefox.tab(f"http://127.0.0.1:{agent.port}/"), agent)
        bob.sign_in("bob")
        alice.calls("bob")
        bob.press("Accept")
        alice.hears("bob", TONE)
        bob.tab.reload()
        bob.ready()
        bob.shows("bob Online", "alice: in the call")
        alice.hears("bob", TONE)
        bob.hears_something()
