"""callagent.js in a real browser: what it does when something goes wrong."""

import contextlib
import json
import signal
import threading

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

from agent import wait_for
from browser import SOON_TIRED, Browser, needs_browser

pytestmark = needs_browser

# `news` has all that the client tells; `ask` says what came of a request, be it an error.
PAGE = """
(async () => {
  const { CallAgent } = await import("%(site)s/callagent.js");
  globalThis.news = [];
  globalThis.agent = new CallAgent("%(url)s", "page", %(token)s, %(options)s);
  for (const name of ["connected", "lost", "token_failed", "stopped", "calls", "call.incoming"])
    agent.addEventListener(name, ({ detail }) => news.push([name, detail]));
  globalThis.ask = (...request) => agent.request(...request).then(
    (ok) => ["ok", ok], ({ code, message, detail }) => [code, message, detail]);
})()
"""


class Client:
    """A page with a client and nothing else."""

    def __init__(self, browser, site, url, token='async () => "dev:alice"', options=None):
        self.tab = browser.tab(f"{site}/voice.js")
        self.tab.loads()
        self.tab.evaluate(PAGE % {
            "site": site, "url": url, "token": token, "options": json.dumps(options or {})})

    def told(self, name):
        """How often the client told this."""
        return self.tab.evaluate(f"news.filter(([name]) => name === '{name}').length")

    def tells(self, name, times=1):
        wait_for(f"{times} x {name}", lambda: self.told(name) >= times, patience=30, pause=0.05)

    def detail(self, name):
        return self.tab.evaluate(f"news.find(([name]) => name === '{name}')[1]")

    def ask(self, operation, data, options=None):
        return self.tab.evaluate(
            f"ask('{operation}', {json.dumps(data)}, {json.dumps(options or {})})")


@pytest.fixture
def client(browser, site):
    """Opens a client of a server."""

    def open_client(agent, **options):
        made = Client(browser, site, agent.url, **options)
        if agent.process.poll() is None:
            made.tells("connected")
        return made

    return open_client


class Narrow:
    """A server behind something that takes messages of 1,000 bytes at most."""

    def __init__(self):
        self.hellos = 0
        self.server = serve(self.talk, "127.0.0.1", 0, max_size=1_000,
                            subprotocols=["callagent.v1.json"])
        self.url = f"ws://127.0.0.1:{self.server.socket.getsockname()[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def talk(self, socket):
        with contextlib.suppress(ConnectionClosed):
            for message in map(json.loads, socket):
                socket.send(json.dumps({"re": message["id"], "ok": self.answer(message["op"])}))

    def answer(self, operation):
        if operation != "hello":
            return {}
        self.hellos += 1
        return {"user": "alice", "session": "5e", "resumed": False, "calls": [],
                "ping_interval_ms": 25_000, "limits": {"message_bytes": 65_536}}


@pytest.fixture
def narrow():
    made = Narrow()
    yield made
    made.server.shutdown()


# Messages


def test_a_message_over_the_limit_is_refused_before_it_is_sent(agent, client):
    alice = client(agent)
    code, message, _ = alice.ask("call.signal", {"call_id": "0" * 32, "data": "x" * 65_536})
    assert code == "too_large" and "65536" in message
    assert alice.ask("call.list", {})[0] == "ok"
    assert alice.told("connected") == 1 and alice.told("lost") == 0


def test_the_limit_is_the_server_s_own(make_agent, client):
    alice = client(make_agent('limits = { message = "4KB" }\n').start())
    for size, is_sent in ((3_000, True), (4_000, False)):
        code, message, _ = alice.ask("call.signal", {"call_id": "0" * 32, "data": "x" * size})
        assert code == ("not_found" if is_sent else "too_large"), message
    assert alice.told("lost") == 0


def test_what_closed_the_connection_is_not_sent_again(narrow, browser, site):
    alice = Client(browser, site, narrow.url)
    alice.tells("connected")
    alice.tab.evaluate("""
      globalThis.small = ask("call.list", {});
      globalThis.large = ask("call.signal", { call_id: "c", data: "x".repeat(2000) }); 0""")
    assert alice.tab.evaluate("large")[0] == "too_large"
    alice.tells("connected", 2)
    assert alice.tab.evaluate("small")[0] == "ok"
    assert alice.ask("call.list", {})[0] == "ok"
    assert narrow.hellos == 2


def test_a_field_that_no_operation_has_is_refused_by_the_client(agent, client):
    alice = client(agent)
    code, message, detail = alice.ask("call.invite", {"invitees": ["bob"], "timeout": 5})
    assert code == "bad_request" and detail == {"field": "timeout"} and "timeout_ms" in message
    code, message, detail = alice.ask("call.invite", {"invitees": ["bob"], "push": {"titel": "x"}})
    assert code == "bad_request" and detail == {"field": "titel"}
    assert alice.ask("call.of_a_newer_server", {"anything": 1})[0] == "unsupported"


def test_an_address_that_no_browser_takes_is_told_once(browser, site):
    alice = Client(browser, site, "nowhere://[")
    alice.tells("stopped")
    assert alice.detail("stopped")["code"] == 0 and "nowhere" in alice.detail("stopped")["reason"]
    code, message, _ = alice.ask("call.list", {})
    assert code == "stopped" and "nowhere" in message
    assert alice.told("stopped") == 1 and alice.told("lost") == 0


# Requests that settle


def test_a_request_after_bye_settles(agent, client):
    alice = client(agent)
    assert alice.ask("bye", {})[0] == "ok"
    alice.tells("stopped")
    assert alice.ask("call.list", {})[0] == "stopped"


def test_a_request_after_close_settles_and_so_does_one_under_way(agent, client):
    alice = client(agent)
    under_way = alice.tab.evaluate("const it = ask('call.list', {}); agent.close(); it")
    assert under_way[0] == "stopped"
    assert alice.ask("call.list", {})[0] == "stopped"
    assert alice.told("stopped") == 1 and alice.told("lost") == 0


def test_a_request_settles_in_time_also_offline(agent, client):
    alice = client(agent)
    agent.crash()
    alice.tells("lost")
    code, message, _ = alice.ask("call.list", {}, {"within": 300})
    assert code == "unanswered" and "300 ms" in message
    # Somebody else's: of two clients on one device the later one replaces the other.
    other = client(agent, token='async () => "dev:bob"', options={"answerWithin": 200})
    assert other.ask("call.list", {})[0] == "unanswered"
    agent.start()
    alice.tells("connected", 2)
    assert alice.ask("call.list", {})[0] == "ok"


# Tokens


def test_a_token_that_cannot_be_had_is_told(agent, client, browser, site):
    token = """async () => {
        if ((globalThis.tries = (globalThis.tries ?? 0) + 1) < 3) throw new Error("signed out");
        return "dev:alice"; }"""
    alice = Client(browser, site, agent.url, token=token)
    alice.tells("connected")
    assert alice.told("token_failed") == 2
    assert 0 <= alice.detail("token_failed")["retry_in_ms"] <= 500
    hanging = Client(
        browser, site, agent.url, token="() => new Promise(() => {})",
        options={"answerWithin": 100})
    hanging.tells("token_failed", 2)
    hanging.tab.evaluate("agent.close()")
    assert hanging.ask("call.list", {})[0] == "stopped"


# Calls


def test_accepts_of_a_handshake_are_acknowledged_and_shown_calls_ring(agent, client):
    alice, bob = client(agent), agent.connect("bob")
    call = alice.ask("call.invite", {"invitees": ["bob"], "mode": "handshake"})[1]["call_id"]
    bob.event("call.incoming")
    bob.ok("call.accept", call_id=call)
    wait_for("the end of the handshake", lambda:
             bob.ok("call.get", call_id=call)["call"]["participants"][1]["state"] == "joined")
    second = bob.ok("call.invite", invitees=["alice"])["call_id"]
    alice.tells("call.incoming")
    assert alice.tab.evaluate(f"agent.shows('{second}')") == {}
    assert bob.ok("call.get", call_id=second)["call"]["participants"][1]["state"] == "ringing"


# Silence


@pytest.fixture
def tired(tmp_path):
    """A browser whose hidden tabs are throttled soon."""
    made = Browser(tmp_path / "tired", SOON_TIRED)
    yield made
    made.close()


WATCH = """
globalThis.ticks = [performance.now()];
setInterval(() => ticks.push(performance.now()), 1000);
"""
# Seconds between two ticks at least once, the one that is still to come included.
GAP = "Math.max(...ticks.map((tick, i) => (tick - (ticks[i - 1] ?? tick)) / 1000))"


@pytest.mark.patient
def test_a_hidden_tab_stays_connected(make_agent, tired, site):
    agent = make_agent('limits = { ping = "5s", silence = "8s" }\n').start()
    alice = Client(tired, site, agent.url)
    alice.tells("connected")
    alice.tab.evaluate(WATCH)
    tired.tab("about:blank")
    wait_for("the tab is hidden", lambda: alice.tab.evaluate("document.hidden"))
    wait_for("timers that come once a minute", lambda: alice.tab.evaluate(GAP) > 20,
             patience=150, pause=1)
    agent.connect("bob").ok("call.invite", invitees=["alice"])
    wait_for("the call", lambda: alice.told("call.incoming"), patience=2)
    tired.show(alice.tab)
    seen = alice.tab.evaluate("ticks.length")
    wait_for("timers that come again", lambda: alice.tab.evaluate("ticks.length") > seen + 7)
    assert alice.told("lost") == 0 and alice.told("connected") == 1


def test_a_line_that_died_is_noticed_when_the_network_is_back(agent, client):
    alice = client(agent)
    agent.signal(signal.SIGSTOP)  # the connection stays, and nobody answers
    try:
        alice.tab.evaluate("dispatchEvent(new Event('online')) && 0")
        alice.tells("lost")
    finally:
        agent.signal(signal.SIGCONT)
    assert alice.detail("lost") == {"code": 1006, "reason": "silence"}
    alice.tells("connected", 2)
    alice.tab.evaluate("dispatchEvent(new Event('online')) && 0")
    assert alice.ask("call.list", {})[0] == "ok"
    assert alice.told("lost") == 1
