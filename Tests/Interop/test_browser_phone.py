"""The phone that a server is, in a real browser: by the names that people hear and read."""

import base64
import contextlib
import json
import pathlib
import time

import pytest

from agent import wait_for
from browser import ALL_AWAKE, PATIENCE, Browser, needs_browser
from test_admission import KEYS, token

pytestmark = needs_browser

# Everything by its accessible name, as a screen reader has it. `heard` tells the pitch of a user.
HELP = """
globalThis.named = (role, name) => [...document.querySelectorAll(role)].find((one) => {
  const text = one.getAttribute("aria-label") ?? one.labels?.[0]?.childNodes[0].textContent
    ?? one.textContent;
  return text.trim() === name && one.checkVisibility();
});
globalThis.violations = [];
addEventListener("securitypolicyviolation", (event) =>
  violations.push([event.violatedDirective, event.blockedURI, event.sourceFile]));
"""

# A tone in place of the microphone, and the pitch of what a page plays of a user.
SOUND = """
(() => {
  globalThis.audio = new AudioContext();
  navigator.mediaDevices.getUserMedia = async ({ video }) => {
    const oscillator = new OscillatorNode(audio, { frequency: %d });
    const out = new MediaStreamAudioDestinationNode(audio);
    oscillator.connect(new GainNode(audio, { gain: 0.3 })).connect(out);
    oscillator.start();
    if (video) {
      const canvas = Object.assign(document.createElement("canvas"), { width: 64, height: 48 });
      setInterval(() => canvas.getContext("2d").fillRect(Math.random() * 64, 0, 9, 48), 50);
      out.stream.addTrack(canvas.captureStream(20).getVideoTracks()[0]);
    }
    return out.stream;
  };
  const ears = new Map();
  globalThis.heard = (user) => {
    const stream = document.querySelector(`video[data-user="${user}"]`)?.srcObject;
    if (!stream) return null;
    if (!ears.has(stream)) {
      const ear = new AnalyserNode(audio, { fftSize: 8192, smoothingTimeConstant: 0 });
      audio.createMediaStreamSource(stream).connect(ear);
      ears.set(stream, ear);
    }
    const ear = ears.get(stream);
    const levels = new Float32Array(ear.frequencyBinCount);
    ear.getFloatFrequencyData(levels);
    const best = levels.indexOf(Math.max(...levels));
    return levels[best] < -80 ? 0 : (best * audio.sampleRate) / ear.fftSize;
  };
  return 0;
})()
"""


class Phone:
    """One person at a phone."""

    def __init__(self, tab, agent, pitch=440):
        self.tab = tab
        self.agent = agent
        self.pitch = pitch
        self.ready()

    def ready(self):
        self.tab.loads()
        self.tab.evaluate(HELP)
        self.tab.evaluate(SOUND % self.pitch)

    def sign_in(self, name):
        self.fill("Your name", name)
        self.press("Sign in")
        self.shows(f"{name} Online")

    def is_there(self, role, name):
        return self.tab.evaluate(f"Boolean(named({json.dumps(role)}, {json.dumps(name)}))")

    def press(self, name):
        wait_for(f"the button {name}; {self.text()}", lambda: self.is_there("button", name),
                 patience=PATIENCE, pause=0.05)
        self.tab.evaluate(f"named('button', {json.dumps(name)}).click()")

    def fill(self, name, text):
        wait_for(f"the field {name}", lambda: self.is_there("input, select", name),
                 patience=PATIENCE, pause=0.05)
        self.tab.evaluate(f"named('input, select', {json.dumps(name)}).value = {json.dumps(text)}")

    def calls(self, *people, mode="", kind="audio"):
        self.fill("Call whom", " ".join(people))
        self.fill("Mode", mode)
        self.fill("Kind", kind)
        self.press("Call")

    def text(self):
        return self.tab.evaluate("document.body.innerText") or ""

    def shows(self, *texts):
        for text in texts:
            wait_for(f"{text!r} in {self.text()!r}", lambda text=text: text in self.text(),
                     patience=PATIENCE, pause=0.05)

    def tone(self, name):
        wait_for(f"the tone {name!r}", lambda: self.tab.evaluate(
            "document.body.dataset.tone ?? ''") == name, patience=PATIENCE, pause=0.05)

    def hears(self, user, pitch):
        def is_so():
            heard = self.tab.evaluate(f"heard('{user}')")
            return heard is not None and abs(heard - pitch) <= 10
        wait_for(f"{user} at {pitch} Hz; {self.text()!r}", is_so, patience=PATIENCE, pause=0.1)


@pytest.fixture(scope="module")
def loud(tmp_path_factory):
    """A browser in which pages may sound without a click."""
    habits = ALL_AWAKE + ("--autoplay-policy=no-user-gesture-required",)
    made = Browser(tmp_path_factory.mktemp("loud"), habits)
    yield made
    made.close()


@pytest.fixture
def phone(loud, agent):
    """Opens a phone, and signs in; after the test no policy was violated."""
    made = []

    def open_phone(name, pitch=440):
        one = Phone(loud.tab(f"http://127.0.0.1:{agent.port}/"), agent, pitch)
        made.append(one)
        one.sign_in(name)
        return one

    yield open_phone
    for one in made:
        with contextlib.suppress(TimeoutError):
            assert one.tab.evaluate("globalThis.violations") in ([], None)


def test_two_people_talk(phone):
    alice, bob = phone("alice", 440), phone("bob", 880)
    alice.calls("bob")
    bob.shows("alice calls")
    bob.tone("ring")
    alice.shows("bob: it rings there")
    alice.tone("ringback")
    bob.press("Accept")
    bob.hears("alice", 440)
    alice.hears("bob", 880)
    for one in (alice, bob):
        one.tone("")
        one.shows("in the call, connected")
    alice.press("Mute")
    bob.hears("alice", 0)
    bob.shows("alice: in the call, connected, muted")
    alice.press("Mute")
    bob.hears("alice", 440)
    bob.press("Hold")
    alice.hears("bob", 0)
    alice.shows("bob: in the call, holds the call")
    bob.press("Hold")
    alice.hears("bob", 880)
    bob.press("Hang up")
    alice.shows("bob: ended")
    bob.shows("alice: ended")


@pytest.mark.parametrize("end, alice_sees, bob_sees, tone", [
    ("Reject", "bob: rejected", "alice: you have rejected it", "busy"),
    ("Reject as busy", "bob: busy", "alice: you said that you are busy", "busy"),
    ("Hang up", "bob: cancelled", "alice: missed", ""),
])
def test_every_end_of_ringing_is_shown_and_silent(phone, end, alice_sees, bob_sees, tone):
    alice, bob = phone("alice"), phone("bob")
    alice.calls("bob")
    bob.tone("ring")
    alice.tone("ringback")
    (alice if end == "Hang up" else bob).press(end)
    alice.shows(alice_sees)
    bob.tone("")
    bob.shows(bob_sees)
    assert not bob.is_there("button", "Accept")
    # Who was there and did not answer has missed it, too.
    bob.shows("Missed calls (1)" if end == "Hang up" else "None.")
    alice.tone(tone)
    alice.tone("")


def test_people_who_call_each_other_at_once_are_in_one_call(phone):
    alice, bob = phone("alice", 440), phone("bob", 880)
    moment = (time.time() + 0.1) * 1_000
    for one, other in ((alice, "bob"), (bob, "alice")):
        one.fill("Call whom", other)
        one.tab.evaluate(
            f"void setTimeout(() => named('button', 'Call').click(), {moment} - Date.now())")
    for one, other in ((alice, "bob"), (bob, "alice")):
        one.shows(f"{other} calls", f"{other}: it rings there")
    alice.press("Accept")
    bob.hears("alice", 440)
    alice.hears("bob", 880)
    for one, other in ((alice, "bob"), (bob, "alice")):
        one.shows(f"{other}: in the call, connected")
        wait_for("one call", lambda one=one: one.tab.evaluate(
            "document.querySelectorAll('#calls > *').length") == 1)
        assert not one.is_there("button", "Accept")
    bob.press("Hang up")
    alice.shows("bob: ended")


def test_several_are_called_and_their_states_shown(phone):
    alice, bob, carol = phone("alice", 440), phone("bob", 880), phone("carol", 1320)
    alice.calls("bob", "nobody", mode="advanced")
    bob.press("Accept")
    alice.hears("bob", 880)
    alice.fill("Add whom", "carol")
    alice.press("Add")
    carol.shows("alice calls", "Also called: bob, nobody")
    carol.press("Accept")
    for one, other, pitch in ((alice, "carol", 1320), (bob, "carol", 1320), (carol, "bob", 880),
                              (carol, "alice", 440)):
        one.hears(other, pitch)
    bob.press("Hang up")
    alice.shows("bob: has left")
    carol.shows("alice: in the call")
    assert not carol.is_there("button", "Remove")
    alice.fill("Remove whom", "carol")
    alice.press("Remove")
    carol.shows("you were sent out")
    alice.fill("Add whom", "bob")
    alice.press("Add")
    bob.press("Accept")
    alice.hears("bob", 880)
    alice.press("End for all")
    bob.shows("ended")


def test_a_call_is_transferred(phone):
    alice, bob, carol = phone("alice", 440), phone("bob", 880), phone("carol", 1320)
    alice.calls("bob")
    bob.press("Accept")
    bob.hears("alice", 440)
    alice.fill("Transfer to whom", "carol")
    alice.press("Transfer")
    carol.shows("alice calls", "Take over the call with: bob")
    carol.press("Accept")
    carol.hears("bob", 880)
    bob.hears("carol", 1320)
    alice.shows("you have handed the call over")


def test_a_reload_keeps_the_call_and_its_sound(phone):
    alice, bob = phone("alice", 440), phone("bob", 880)
    alice.calls("bob")
    bob.press("Accept")
    alice.hears("bob", 880)
    bob.tab.evaluate("globalThis.isOld = true")
    bob.tab.evaluate("void setTimeout(() => location.reload())")
    wait_for("the new page", lambda: bob.tab.evaluate("!globalThis.isOld"))
    bob.ready()
    bob.shows("bob Online")
    bob.hears("alice", 440)
    bob.press("Hang up")
    alice.shows("bob: ended")


def test_video_is_seen(phone):
    alice, bob = phone("alice"), phone("bob", 880)
    alice.calls("bob", kind="video")
    bob.shows("alice calls with video")
    bob.press("Accept")
    for one, other in ((alice, "bob"), (bob, "alice")):
        wait_for("a picture", lambda one=one, other=other: one.tab.evaluate(
            f"document.querySelector('video[data-user={other}]')?.videoWidth > 0"),
            patience=PATIENCE)


def test_a_link_shows_a_call_and_never_answers_it(phone, agent):
    """Whoever calls knows the call's id, and could send the one who is called a link."""
    alice = phone("alice")
    bob = agent.connect("bob")
    call = bob.ok("call.invite", invitees=["alice"])["call_id"]
    alice.shows("bob calls")
    alice.tab.evaluate("globalThis.isOld = true")
    alice.tab.evaluate(f"location.hash = 'call={call}&accept'; void setTimeout("
                       "() => location.reload())")
    wait_for("the new page", lambda: alice.tab.evaluate("!globalThis.isOld"))
    alice.ready()
    alice.shows("bob calls")
    # It obeys as it opens the dialog: what it had been told to press would be answered by now.
    alice.press("Reject as busy")
    states = [bob.event("call.changed")["changes"][0]["state"] for _ in range(2)]
    assert states == ["ringing", "rejected"]


def test_missed_calls_and_history_lead_back(phone, agent):
    bob = agent.connect("bob")
    call = bob.ok("call.invite", invitees=["alice"])["call_id"]
    bob.ok("call.cancel", call_id=call)
    bob.event("call.ended")
    alice = phone("alice")
    alice.shows("Missed calls (1)", "bob, ")
    alice.press("Show history")
    alice.shows("from bob")
    alice.press("Call back bob")
    assert bob.event("call.incoming")["call"]["caller"] == "alice"


def test_who_signs_in_sees_nothing_of_who_did_before(phone, agent):
    bob = agent.connect("bob")
    call = bob.ok("call.invite", invitees=["alice"])["call_id"]
    bob.ok("call.cancel", call_id=call)
    one = phone("alice")
    one.shows("Missed calls (1)", "bob, ")
    one.press("Show history")
    one.shows("from bob")
    one.press("Sign out")
    one.sign_in("carol")
    one.shows("None.")
    assert "bob" not in one.text() and "(1)" not in one.text()


def test_the_clock_of_a_call_is_not_read_out_every_second(phone):
    alice, bob = phone("alice", 440), phone("bob", 880)
    alice.calls("bob")
    bob.press("Accept")
    alice.shows("0:02")
    spoken = "[...document.querySelectorAll('[role=status], [role=alert], [aria-live]')]"
    assert "0:0" not in alice.tab.evaluate(f"{spoken}.map((one) => one.textContent).join()")


def test_what_people_write_is_never_markup(phone, agent):
    alice = phone("alice")
    agent.connect("<img/src=x/onerror=alert(1)>").ok("call.invite", invitees=["alice"])
    alice.shows("<img/src=x/onerror=alert(1)> calls")
    assert alice.tab.evaluate("document.querySelectorAll('dialog img').length") == 0


# Serving


def headers(agent, path, **more):
    return agent.request("GET", path, headers=more)


def test_without_keys_the_phone_is_there_with_a_strict_policy(agent):
    answer = headers(agent, "/")
    assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/html")
    policy = answer.headers["Content-Security-Policy"]
    for part in ("default-src 'none'", "script-src 'self'", "worker-src 'self'",
                 "manifest-src 'self'", "media-src 'self' blob:", "frame-ancestors 'none'",
                 "require-trusted-types-for 'script'", "trusted-types callagent"):
        assert part in policy, part
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    worker = headers(agent, "/sw.js")
    assert worker.status == 200 and worker.headers["Content-Type"].startswith("text/javascript")
    assert headers(agent, "/manifest.webmanifest").body["start_url"] == "/"
    assert headers(agent, "/phone/none.js").status == 404
    assert headers(agent, "/", Origin="https://elsewhere.example.com").status == 403
    assert headers(agent, "/", Host="elsewhere.example.com").status == 403


def test_with_keys_there_is_no_phone_unless_it_is_wanted(make_agent):
    agent = make_agent(KEYS).start()
    for path in ("/", "/sw.js", "/manifest.webmanifest", "/phone/phone.js", "/phone/server.json"):
        assert headers(agent, path).status == 404, path
    agent.configure(KEYS + "phone = true\n")
    code, output = agent.tool("reload")
    assert code == 0, output
    assert headers(agent, "/").status == 200
    assert headers(agent, "/phone/server.json").body == {"isDevelopment": False}


def test_with_keys_the_phone_asks_for_a_token(make_agent, loud):
    agent = make_agent(KEYS + "phone = true\n").start()
    alice = Phone(loud.tab(f"http://127.0.0.1:{agent.port}/"), agent)
    alice.fill("Your token", "no token")
    alice.press("Sign in")
    alice.shows("Signed out: ")
    alice.fill("Your token", token(sub="alice"))
    alice.press("Sign in")
    alice.shows("alice Online")


def test_the_key_of_web_push_is_told_where_there_is_one(agent):
    assert headers(agent, "/v1/push/web-key").status == 404


def test_the_key_of_web_push_is_a_point_of_the_curve(pusher):
    answer = headers(pusher(), "/v1/push/web-key")
    assert answer.status == 200
    point = base64.urlsafe_b64decode(answer.body["key"] + "=")
    assert len(point) == 65 and point[0] == 4


def test_no_file_of_the_phone_is_left_out():
    folder = pathlib.Path(__file__).parents[2] / "Sources" / "CWebFiles" / "phone"
    page = (folder / "index.html").read_text()
    assert "http://" not in page and "https://" not in page and " style=" not in page
