"""Voice through a relay only: coturn, with the credentials that the bundled plugin makes."""

import contextlib
import time

import pytest

from agent import wait_for
from browser import ROOT, needs_browser
from firefox import Firefox, needs_firefox
from test_browser_phone import Phone
from test_firefox import TONE, FirefoxPhone
from test_browser_media import connect, hears, loud, speaker  # noqa: F401, fixtures
from turn import Turn

pytestmark = needs_browser
SECRET = "a secret that the server shares"
# No way but the relay's.
CONFIGURATION = """{ configuration: async (call) =>
  ({ ...await call.token(), iceTransportPolicy: "relay" }) }"""
PAIRS = """(async () => {
  const kinds = [];
  const stats = await media.stats("%s");
  for (const one of stats.values()) {
    if (one.type !== "candidate-pair" || one.state !== "succeeded" || !one.nominated) continue;
    kinds.push(stats.get(one.localCandidateId).candidateType,
      stats.get(one.remoteCandidateId).candidateType);
  }
  return kinds;
})()"""

# The same for a page that is no test's own, in any browser.
RELAY_ONLY = """(() => {
  globalThis.lines = [];
  globalThis.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(given) {
      super({ ...given, iceTransportPolicy: "relay" });
      lines.push(this);
    }
    setConfiguration(given) {
      super.setConfiguration({ ...given, iceTransportPolicy: "relay" });
    }
  };
  return 0;
})()"""
WAYS = """(async () => {
  const kinds = [];
  for (const line of lines) {
    const stats = await line.getStats();
    for (const one of stats.values()) {
      if (one.type !== "candidate-pair" || !one.nominated) continue;
      kinds.push(stats.get(one.localCandidateId).candidateType,
        stats.get(one.remoteCandidateId).candidateType);
    }
  }
  return kinds;
})()"""


@pytest.fixture
def relay(tmp_path):
    made = Turn(tmp_path / "relay", SECRET)
    try:
        yield made.start()
    finally:
        made.crash()


@pytest.fixture
def relayed(make_agent, relay):
    """A server whose people have a relay."""
    return make_agent(
        'plugins = { "turn-credentials" }\n'
        f'options["turn-credentials"] = {{ urls = {{ "turn:127.0.0.1:{relay.port}" }},\n'
        '  secret = secret "env:TURN_SECRET" }\n',
        {"turn-credentials": (ROOT / "plugins" / "turn-credentials.lua").read_text()},
        environment={"TURN_SECRET": SECRET}).start()


@pytest.fixture
def talking(relayed, speaker):  # noqa: F811
    """Two people who hear each other through the relay."""
    alice, bob = speaker(relayed, "alice"), speaker(relayed, "bob")
    connect(alice, bob, options=CONFIGURATION)
    hears(bob, "alice", 440)
    hears(alice, "bob", 880)
    return alice, bob


def test_two_pages_hear_each_other_through_the_relay_only(talking):
    alice, bob = talking
    for page, other in ((alice, "bob"), (bob, "alice")):
        kinds = wait_for("a pair", lambda page=page, other=other: page.tab.evaluate(PAIRS % other))
        assert set(kinds) == {"relay"}, kinds
    assert not [one for one in bob.tab.evaluate("told") if one[0] == "error"]


@needs_firefox
def test_two_browsers_hear_and_see_each_other_through_the_relay_only(
        relayed, loud, tmp_path):  # noqa: F811
    address = f"http://127.0.0.1:{relayed.port}/"
    alice = Phone(loud.tab(address), relayed, 440)
    with contextlib.closing(Firefox(tmp_path / "profile")) as firefox:
        bob = FirefoxPhone(firefox.tab(address), relayed)
        people = (alice, "alice"), (bob, "bob")
        for one, name in people:
            one.tab.evaluate(RELAY_ONLY)
            one.sign_in(name)
        alice.calls("bob", kind="video")
        bob.shows("alice calls with video")
        bob.press("Accept")
        alice.hears("bob", TONE)
        bob.hears_something()
        for (one, _), (_, name) in zip(people, reversed(people), strict=True):
            wait_for("a picture", lambda one=one, name=name: one.tab.evaluate(
                f"document.querySelector('video[data-user={name}]')?.videoWidth > 0"))
            assert set(one.tab.evaluate(WAYS)) == {"relay"}


@pytest.mark.full
@pytest.mark.parametrize("away", [0, 6, 14])
def test_a_relay_that_was_killed_is_used_again_when_it_is_back(talking, relay, away):
    alice, bob = talking
    relay.crash()
    alice.holds("mine.mediaPhase === 'reconnecting'")
    lost = time.monotonic()
    wait_for("the time that it is away", lambda: time.monotonic() - lost >= away)
    relay.start()
    begun = time.monotonic()
    for page in (alice, bob):
        page.holds("mine.mediaPhase === 'connected'")
    took = time.monotonic() - begun
    hears(bob, "alice", 440)
    hears(alice, "bob", 880)
    assert took < 3, f"they were connected after {took:.1f} s"
