"""Voice between pages: who hears whom is told by its pitch. Packets alone prove nothing."""

import os
import time

import pytest

from agent import wait_for
from browser import ALL_AWAKE, Browser, needs_browser
from page import Page

pytestmark = needs_browser

FREE = ("--autoplay-policy=no-user-gesture-required",)
GLARES = 20 if os.environ.get("CALLAGENT_FULL") else 3
UNHEARD = 300  # milliseconds without a voice that nobody takes for an end
SOON = 0.1  # seconds in which all pages have been told what to do at a moment

# A tone in place of a microphone, and the pitch of what comes from the other side.
SOUND = """
(async () => {
  const { Media } = await import("%(site)s/media.js");
  globalThis.audio = new AudioContext();
  globalThis.tone = (pitch) => {
    const oscillator = new OscillatorNode(audio, { frequency: pitch });
    const out = new MediaStreamAudioDestinationNode(audio);
    oscillator.connect(new GainNode(audio, { gain: 0.3 })).connect(out);
    oscillator.start();
    return out.stream;
  };
  globalThis.ears = {};
  globalThis.told = [];
  globalThis.pitch = (user) => {
    const ear = ears[user];
    if (!ear) return null;
    const levels = new Float32Array(ear.frequencyBinCount);
    ear.getFloatFrequencyData(levels);
    const best = levels.indexOf(Math.max(...levels));
    return levels[best] < -80 ? 0 : (best * audio.sampleRate) / ear.fftSize;
  };
  // The longest time so far in which nothing was heard of the user.
  globalThis.listen = (user) => {
    const ear = new AnalyserNode(audio, { fftSize: 1024 });
    ears[user].source.connect(ear);
    const wave = new Float32Array(ear.fftSize);
    let last = performance.now();
    globalThis.quiet = 0;
    setInterval(() => {
      ear.getFloatTimeDomainData(wave);
      const now = performance.now();
      if (wave.some((level) => Math.abs(level) > 0.01)) last = now;
      else quiet = Math.max(quiet, now - last);
    }, 20);
  };
  // How often an offer came while one of our own was under way, and was taken.
  globalThis.collisions = 0;
  const take = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function (description) {
    collisions += description.type === "offer" && this.signalingState === "have-local-offer";
    return take.call(this, description);
  };
  globalThis.talk = (call, pitch, options) => {
    const stream = pitch ? tone(pitch) : null;
    globalThis.media = new Media(call, { audio: false, stream, ...options });
    media.on("state", (user, state) => told.push([user, state]));
    media.on("error", (error) => told.push(["error", String(error)]));
    media.on("remote", (user, stream, kind) => {
      told.push(["remote", user, kind, Boolean(stream)]);
      if (!stream && kind === "camera") delete ears[user];
      if (!stream || stream.getAudioTracks().length === 0) return;
      const element = Object.assign(new Audio(), { srcObject: stream, muted: true });
      element.play();
      (globalThis.elements ??= []).push(element);
      if (ears[user]) return;
      ears[user] = new AnalyserNode(audio, { fftSize: 8192, smoothingTimeConstant: 0 });
      ears[user].source = audio.createMediaStreamSource(stream);
      ears[user].source.connect(ears[user]);
    });
    return media.start();
  };
  return 0;
})()
"""


@pytest.fixture(scope="module")
def loud(tmp_path_factory):
    """A browser in which pages may play without a click."""
    made = Browser(tmp_path_factory.mktemp("loud"), ALL_AWAKE + FREE)
    yield made
    made.close()


@pytest.fixture
def speaker(loud, client_site):
    """Opens a page of a user that can talk."""

    def open_page(agent, user):
        page = Page(loud.tab(f"{client_site}/index.js"), client_site, agent.url,
                    token=f'async () => "dev:{user}"')
        page.tab.evaluate(SOUND % {"site": client_site})
        page.is_in("online")
        return page

    return open_page


def connect(caller, *others, mode="direct", options="{}"):
    """The caller calls; everybody accepts and talks, each in a pitch of their own."""
    names = [other.tab.evaluate("agent.user") for other in others]
    caller.tab.evaluate(f"agent.invite({names}, {{ mode: '{mode}' }})"
                        ".then((call) => { globalThis.mine = call; })")
    for other in others:
        other.holds("call()?.isPending")
        other.tab.evaluate("globalThis.mine = call(); mine.accept().then(() => 0)")
    caller.holds("mine.others.every(({ state }) => state === 'joined')")
    for page, pitch in zip((caller, *others), PITCHES, strict=False):
        page.tab.evaluate(f"void talk(mine, {pitch}, {options})")


PITCHES = (440, 880, 1320)


def hears(page, user, pitch):
    """Whether the page hears the user, at this pitch; 0: silence."""
    def is_so():
        heard = page.tab.evaluate(f"pitch('{user}')")
        return heard is not None and abs(heard - pitch) <= 10
    wait_for(f"{user} at {pitch} Hz; {page.tab.evaluate('told')}", is_so, patience=30, pause=0.1)


def test_two_pages_hear_each_other(agent, speaker):
    alice, bob = speaker(agent, "alice"), speaker(agent, "bob")
    connect(alice, bob)
    hears(bob, "alice", 440)
    hears(alice, "bob", 880)
    alice.holds("mine.mediaPhase === 'connected'")
    alice.tab.evaluate("media.mute()")
    hears(bob, "alice", 0)
    bob.holds("mine.others[0].audio === false")
    alice.tab.evaluate("media.mute(false)")
    hears(bob, "alice", 440)
    alice.tab.evaluate("media.hold()")
    hears(bob, "alice", 0)
    alice.tab.evaluate("media.hold(false)")
    hears(bob, "alice", 440)
    alice.tab.evaluate("mine.end().then(() => 0)")
    bob.holds("mine.isEnded && media.states.size === 0")
    assert not [one for one in bob.tab.evaluate("told") if one[0] == "error"]


def test_three_people_hear_each_other(agent, speaker):
    people = [speaker(agent, name) for name in ("alice", "bob", "carol")]
    connect(*people, mode="advanced")
    for page in people:
        own = page.tab.evaluate("agent.user")
        for user, pitch in zip(("alice", "bob", "carol"), PITCHES, strict=True):
            if user != own:
                hears(page, user, pitch)


def test_who_loads_the_page_again_is_heard_again(agent, speaker, client_site):
    alice, bob = speaker(agent, "alice"), speaker(agent, "bob")
    connect(alice, bob)
    hears(alice, "bob", 880)
    for page, pitch, other in ((bob, 1320, alice), (alice, 660, bob)):
        page.reload()
        page.is_in("online")
        page.tab.evaluate(SOUND % {"site": client_site})
        page.holds("call()?.isHere && call().state === 'active'")
        user = page.tab.evaluate("agent.user")
        other.tab.evaluate(f"delete ears.{user}")
        page.tab.evaluate(f"globalThis.mine = call(); void talk(mine, {pitch})")
        hears(other, user, pitch)
    hears(alice, "bob", 1320)


def test_a_crash_of_the_server_is_not_heard(agent, speaker):
    alice, bob = speaker(agent, "alice"), speaker(agent, "bob")
    connect(alice, bob)
    hears(alice, "bob", 880)
    hears(bob, "alice", 440)
    for page, user in ((alice, "bob"), (bob, "alice")):
        page.tab.evaluate(f"listen('{user}')")
    agent.crash()
    alice.is_in("reconnecting")
    hears(alice, "bob", 880)
    hears(bob, "alice", 440)
    agent.start()
    for page in (alice, bob):
        page.is_in("online", 2)
    # The restart of ICE went over the new sessions.
    for page, user in ((alice, "bob"), (bob, "alice")):
        page.holds(f"media.states.get('{user}') === 'connected'")
        assert page.tab.evaluate("quiet") < UNHEARD
    alice.tab.evaluate("media.mute()")
    bob.holds("mine.others[0].audio === false")
    wait_for("a silence that is noticed", lambda: bob.tab.evaluate("quiet") > UNHEARD)
    alice.tab.evaluate("media.mute(false)")
    hears(bob, "alice", 440)


def at_once(*acts):
    """Pages do something at the same moment: each is given as (page, script)."""
    moment = (time.time() + SOON) * 1_000
    for page, script in acts:
        page.tab.evaluate(f"void setTimeout(() => {{ {script} }}, {moment} - Date.now())")


def test_both_may_change_what_they_send_at_once(agent, speaker):
    alice, bob = speaker(agent, "alice"), speaker(agent, "bob")
    connect(alice, bob)
    hears(alice, "bob", 880)
    hears(bob, "alice", 440)
    for _ in range(2 * GLARES):
        at_once((alice, "media.share()"), (bob, "media.share()"))
        for page, user in ((alice, "bob"), (bob, "alice")):
            page.holds(f"media.streams('{user}').has('screen')")
        at_once((alice, "media.unshare()"), (bob, "media.unshare()"))
        for page, user in ((alice, "bob"), (bob, "alice")):
            page.holds(f"!media.streams('{user}').has('screen')")
        # Only bob takes an offer while one of bob is under way: alice, who called, ignores bob's.
        if bob.tab.evaluate("collisions") >= GLARES:
            break
    assert bob.tab.evaluate("collisions") >= GLARES
    hears(alice, "bob", 880)
    hears(bob, "alice", 440)
    for page, user in ((alice, "bob"), (bob, "alice")):
        assert page.tab.evaluate(f"media.states.get('{user}')") == "connected"
    assert not [one for one in bob.tab.evaluate("told") if one[0] == "error"]


def test_people_who_call_each_other_at_once_talk(agent, speaker):
    """Two calls cross. Both people see both, and take the one that was made first."""
    alice, bob = speaker(agent, "alice"), speaker(agent, "bob")
    for _ in range(GLARES):
        at_once(*((page, f"agent.invite(['{other}'], {{ mode: 'direct' }})")
                  for page, other in ((alice, "bob"), (bob, "alice"))))
        for page in (alice, bob):
            page.holds("agent.calls.size === 2 && [...agent.calls.values()].some(c => c.isPending)")
            page.tab.evaluate("[globalThis.mine, globalThis.spare] = [...agent.calls.values()]"
                              ".sort((one, other) => one.id < other.id ? -1 : 1), 0")
        ids = {page.tab.evaluate("mine.id") for page in (alice, bob)}
        assert len(ids) == 1
        at_once(*((page, "if (mine.isPending) mine.accept(); if (!spare.isPending) spare.end()")
                  for page in (alice, bob)))
        for page in (alice, bob):
            page.holds("spare.isEnded && mine.others[0].state === 'joined'")
        at_once((alice, "talk(mine, 440)"), (bob, "talk(mine, 880)"))
        hears(alice, "bob", 880)
        hears(bob, "alice", 440)
        alice.holds("mine.mediaPhase === 'connected'")
        alice.tab.evaluate("mine.end().then(() => 0)")
        bob.holds("mine.isEnded")
        for page in (alice, bob):
            page.tab.evaluate("ears = {}")


def test_video_can_be_switched_on_during_a_call(agent, speaker):
    alice, bob = speaker(agent, "alice"), speaker(agent, "bob")
    connect(alice, bob)
    hears(alice, "bob", 880)
    bob.tab.evaluate("media.camera()")
    alice.holds("media.streams('bob').get('camera').getVideoTracks().length === 1")
    alice.holds("mine.others[0].video")
    devices = bob.tab.evaluate(
        "media.devices().then((all) => Object.values(all).map((list) => list.length))")
    assert len(devices) == 3 and all(devices)
