"""The JavaScript client in a real browser: what it does when something goes wrong."""

import base64
import contextlib
import json
import signal
import threading

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

from agent import wait_for
from browser import SOON_TIRED, Browser, needs_browser
from page import Page
from test_admission import KEYS, token

pytestmark = needs_browser


@pytest.fixture
def client(browser, client_site):
    """Opens a page with a client of a server; `user` is whose tokens it has."""

    def open_client(url, user="alice", **options):
        options.setdefault("token", f'async () => "dev:{user}"')
        return Page(browser.tab(f"{client_site}/index.js"), client_site, url, **options)

    return open_client


@pytest.fixture
def alice(agent, client):
    page = client(agent.url)
    page.is_in("online")
    return page


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
                if "op" in message and message["op"] != "ping":
                    answer = {"re": message["id"], "ok": self.answer(message["op"])}
                    socket.send(json.dumps(answer))

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


def call_object(mine, state="ringing", revision=1):
    """A call of alice to bob, whose part in it is `mine`."""
    return {"call_id": "c" * 32, "revision": revision, "state": state, "caller": "alice",
            "participants": [{"user": "alice", "state": "joined"}, {"user": "bob", "state": mine}]}


class LateReplies:
    """A server that answers when the call has ended: so do replies that are sent again."""

    def __init__(self):
        self.server = serve(self.talk, "127.0.0.1", 0, subprotocols=["callagent.v1.json"])
        self.url = f"ws://127.0.0.1:{self.server.socket.getsockname()[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def talk(self, socket):
        with contextlib.suppress(ConnectionClosed):
            for message in map(json.loads, socket):
                for told in self.answers(message):
                    socket.send(json.dumps(told))

    def answers(self, message):
        reply, ringing = {"re": message.get("id"), "ok": {}}, call_object("ringing")
        operation = message.get("op")
        if operation == "hello":
            reply["ok"] = {"user": "bob", "session": "5e", "resumed": False, "calls": []}
            event = {"call_id": ringing["call_id"], "inviter": "alice", "call": ringing}
            return [reply, {"seq": 1, "event": "call.incoming", "data": event}]
        if operation == "call.accept":
            reply["ok"] = {"call": call_object("joined", "active", 2)}
            event = {"call_id": ringing["call_id"], "end": {"reason": "completed"}}
            return [{"seq": 2, "event": "call.ended", "data": event}, reply]
        if operation == "call.invite":
            ended = call_object("rejected", "ended") | {"end": {"reason": "rejected"}}
            reply["ok"] = {"call": ended | {"call_id": "d" * 32}}
        return [reply] if operation else []


@pytest.fixture
def late_replies():
    made = LateReplies()
    yield made
    made.server.shutdown()


# Messages


def test_a_message_over_the_limit_is_refused_before_it_is_sent(alice):
    code, message, _ = alice.ask("call.signal", {"call_id": "0" * 32, "data": "x" * 65_536})
    assert code == "too_large" and "65536" in message
    assert alice.ask("call.list", {})[0] == "ok"
    assert alice.states() == ["connecting", "online"]


def test_the_limit_is_the_server_s_own(make_agent, client):
    alice = client(make_agent('limits = { message = "4KB" }\n').start().url)
    alice.is_in("online")
    for size, is_sent in ((3_000, True), (4_000, False)):
        code, message, _ = alice.ask("call.signal", {"call_id": "0" * 32, "data": "x" * size})
        assert code == ("not_found" if is_sent else "too_large"), message
    assert alice.states() == ["connecting", "online"]


def test_what_closed_the_connection_is_not_sent_again(narrow, client):
    alice = client(narrow.url)
    alice.is_in("online")
    alice.tab.evaluate("""
      globalThis.small = ask("call.list", {});
      globalThis.large = ask("call.signal", { call_id: "c", data: "x".repeat(2000) }); 0""")
    assert alice.tab.evaluate("large")[0] == "too_large"
    alice.is_in("online", 2)
    assert alice.tab.evaluate("small")[0] == "ok"
    assert alice.ask("call.list", {})[0] == "ok"
    assert narrow.hellos == 2


def test_a_field_that_no_operation_has_is_refused_by_the_client(alice):
    code, message, detail = alice.ask("call.invite", {"invitees": ["bob"], "timeout": 5})
    assert code == "bad_request" and detail == {"field": "timeout"} and "timeout_ms" in message
    code, message, detail = alice.ask("call.invite", {"invitees": ["bob"], "push": {"titel": "x"}})
    assert code == "bad_request" and detail == {"field": "titel"}
    assert alice.ask("call.of_a_newer_server", {"anything": 1})[0] == "unsupported"


def test_an_address_that_no_browser_takes_is_told_once(client):
    alice = client("nowhere://[")
    alice.is_in("stopped")
    assert alice.states() == ["connecting", "stopped"]
    name, message = alice.tab.evaluate("started")
    assert name == "StoppedError" and "nowhere" in message
    assert alice.ask("call.list", {})[0] == "StoppedError"
    assert alice.tab.evaluate("agent.closeReason.code") == 0


# Requests that settle


def test_a_request_after_bye_settles(alice):
    assert alice.ask("bye", {})[0] == "ok"
    alice.is_in("stopped")
    assert alice.ask("call.list", {})[0] == "StoppedError"


def test_a_request_after_stop_settles_and_so_does_one_under_way(alice):
    under_way = alice.tab.evaluate("const it = ask('call.list', {}); agent.stop(); it")
    assert under_way[0] == "StoppedError"
    assert alice.ask("call.list", {})[0] == "StoppedError"
    assert alice.states() == ["connecting", "online", "stopped"]


def test_bye_logs_out_and_stop_alone_does_not(agent, client):
    for bye, is_kept in (("false", True), ("true", False)):
        alice = client(agent.url)
        alice.is_in("online")
        where = alice.tab.evaluate("""(async () => {
          const key = Object.keys(sessionStorage).find((key) => key.endsWith(" alice"));
          return [agent.device, JSON.parse(sessionStorage[key])]; })()""")
        alice.tab.evaluate(f"agent.stop({{ bye: {bye} }})")
        resume = {"session": where[1]["session"], "seq": where[1]["seq"]}
        device = agent.connect("alice", where[0], resume=resume)
        assert device.hello["resumed"] == is_kept
        device.close()


def test_a_request_settles_in_time_also_offline(agent, alice, client):
    assert alice.ask("call.list", {}, {"wait": False})[0] == "ok"
    agent.crash()
    alice.is_in("reconnecting")
    code, message, _ = alice.ask("call.list", {}, {"timeout": 300})
    assert code == "TimeoutError" and "300 ms" in message
    assert alice.ask("call.list", {}, {"wait": False})[0] == "OfflineError"
    other = client(agent.url, "bob", options={"timeout": 200})
    assert other.ask("call.list", {})[0] == "TimeoutError"
    agent.start()
    alice.is_in("online", 2)
    assert alice.ask("call.list", {})[0] == "ok"


def test_a_request_that_must_not_wait_fails_with_the_connection(agent, alice):
    agent.signal(signal.SIGSTOP)
    try:
        alice.tab.evaluate("globalThis.it = ask('call.list', {}, { wait: false }); 0")
    finally:
        agent.crash()
    assert alice.tab.evaluate("it")[0] == "OfflineError"
    agent.start()


def test_an_aborted_request_settles_at_once(agent, alice):
    assert alice.tab.evaluate(
        "ask('call.list', {}, { signal: AbortSignal.abort() })")[0] == 20  # a DOMException's code
    agent.signal(signal.SIGSTOP)
    try:
        name = alice.tab.evaluate("""
          const stop = new AbortController();
          const it = agent.request("call.list", {}, { signal: stop.signal });
          stop.abort();
          it.catch(({ name }) => name)""")
    finally:
        agent.signal(signal.SIGCONT)
    assert name == "AbortError"


def test_an_invitation_that_nobody_waits_for_does_not_ring_on(agent, alice):
    bob = agent.connect("bob")
    agent.signal(signal.SIGSTOP)
    try:
        name = alice.tab.evaluate("""
          const stop = new AbortController();
          const it = agent.invite(["bob"], { signal: stop.signal });
          stop.abort();
          it.catch(({ name }) => name)""")
    finally:
        agent.signal(signal.SIGCONT)
    assert name == "AbortError"
    bob.event("call.incoming")
    assert bob.event("call.cancelled")["reason"] == "whole"
    assert alice.tab.evaluate("agent.calls.size") == 0


def test_a_key_of_ones_own_makes_two_requests_one(agent, alice):
    first = alice.ask("call.invite", {"invitees": ["bob"]}, {"key": "k"})[1]["call_id"]
    assert alice.ask("call.invite", {"invitees": ["bob"]}, {"key": "k"})[1]["call_id"] == first
    assert alice.ask("call.invite", {"invitees": ["carol"]}, {"key": "k"})[0] == "key_reused"


# Tokens


def test_the_first_token_that_cannot_be_had_ends_the_start(agent, client):
    token_of = """async () => {
        if (!globalThis.isSignedIn) throw new Error("signed out");
        return "dev:alice"; }"""
    alice = client(agent.url, token=token_of)
    assert alice.tab.evaluate("started") == ["Error", "signed out"]
    assert alice.states() == ["connecting", "offline"]
    alice.tab.evaluate("isSignedIn = true; agent.start()")
    alice.is_in("online")


def test_a_later_token_that_cannot_be_had_is_told(agent, client):
    token_of = """async (reason) => {
        (globalThis.reasons ??= []).push(reason);
        if (reasons.length === 2 || reasons.length === 3) throw new Error("busy");
        if (reasons.length === 4) return 7;
        return "dev:alice"; }"""
    alice = client(agent.url, token=token_of)
    alice.is_in("online")
    agent.crash()
    agent.start()
    alice.is_in("online", 2)
    assert alice.tab.evaluate("reasons") == ["first"] + 4 * ["again"]
    told = alice.news("error")
    assert [error["message"] for _, error, _ in told] == ["busy", "busy", "token() gave no text"]
    assert all(0 <= more["retryIn"] <= 4_000 for _, _, more in told)


def test_a_token_that_never_comes_is_given_up(agent, client):
    alice = client(agent.url, token="() => new Promise(() => {})", options={"timeout": 100})
    assert alice.tab.evaluate("started") == ["TimeoutError", "no token within 100 ms"]


def test_unauthorized_ends_the_agent(agent, client):
    token_of = """async (reason) => {
        if (reason !== "first") throw new Unauthorized("signed out");
        return "dev:alice"; }"""
    alice = client(agent.url, token=token_of)
    alice.is_in("online")
    agent.crash()
    alice.is_in("stopped")
    assert alice.tab.evaluate("agent.closeReason.reason") == "signed out"
    code, message, _ = alice.ask("call.list", {})
    assert code == "StoppedError" and "signed out" in message


def test_a_token_is_replaced_before_its_end(make_agent, client):
    agent = make_agent(KEYS).start()
    tokens = [token(sub="alice", expires_in=seconds) for seconds in (4, 3_600)]
    alice = client(agent.url, token=f"""async (reason) => {{
        (globalThis.reasons ??= []).push(reason);
        return {json.dumps(tokens)}[reasons.length - 1]; }}""")
    alice.is_in("online")
    alice.holds("reasons.length === 2 && agent.request('ping').then(() => true)")
    assert alice.tab.evaluate("reasons") == ["first", "expired"]
    session = alice.tab.evaluate("sessionStorage[Object.keys(sessionStorage)[0]]")
    wait_for("the end of the first", lambda: alice.tab.evaluate(
        "Date.now() / 1000 > %d" % (json.loads(_payload(tokens[0]))["exp"] + 6)), pause=0.5)
    assert alice.states() == ["connecting", "online"], "the change was seen"
    assert session and alice.ask("call.list", {})[0] == "ok"


def test_requests_under_way_survive_the_change_of_tokens(make_agent, client):
    agent = make_agent(KEYS).start()
    tokens = [token(sub="alice", expires_in=seconds) for seconds in (5, 3_600)]
    alice = client(agent.url, token=f"""async (reason) => {{
        (globalThis.reasons ??= []).push(reason);
        return {json.dumps(tokens)}[reasons.length - 1]; }}""")
    alice.is_in("online")
    agent.signal(signal.SIGSTOP)  # nobody answers over the old connection
    try:
        alice.tab.evaluate("globalThis.it = ask('call.list', {}); 0")
        alice.holds("reasons.length === 2")
    finally:
        agent.signal(signal.SIGCONT)
    assert alice.tab.evaluate("it")[0] == "ok"


def _payload(text):
    part = text.split(".")[1]
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def test_a_token_that_was_good_once_is_asked_for_anew(make_agent, client):
    """Also one that ended, or was revoked, before `hello`."""
    agent = make_agent(KEYS).start()
    old, taken = token(sub="alice", expires_in=-60), token(sub="alice", jti="a")
    tokens = [old, taken, taken, token(sub="alice")]
    alice = client(agent.url, token=f"""async (reason) => {{
        (globalThis.reasons ??= []).push(reason);
        return {json.dumps(tokens)}[reasons.length - 1]; }}""")
    alice.is_in("online")
    assert agent.tool("revoke", "--token", "a")[0] == 0
    alice.is_in("online", 2)
    assert alice.tab.evaluate("reasons") == ["first", "expired", "revoked", "revoked"]


def test_a_token_that_the_server_refuses_ends_the_agent(make_agent, client):
    alice = client(make_agent(KEYS).start().url, token='async () => "dev:alice"')
    alice.is_in("stopped")
    why = alice.tab.evaluate("agent.closeReason")
    assert why["code"] == 4203 and why["error"]["code"] == "unauthenticated"
    assert alice.tab.evaluate("started")[0] == "StoppedError"


# Calls


def test_a_call_object_tells_all_that_happens(agent, alice):
    bob = agent.connect("bob")
    told = alice.tab.evaluate("""(async () => {
      const call = globalThis.mine = await agent.invite(["bob", "alice"],
        { kind: "video", extendedData: { subject: "tea" }, timeout: 30000 });
      globalThis.heard = [];
      (async () => {
        for await (const { event, data } of call) heard.push(event);
        heard.push("over");
      })();
      call.on("signal", (now, { data }) => heard.push(["signal", data.data]));
      call.on("ended", (now) => heard.push(["ended", now.outcome.reason]));
      return [call.kind, call.mode, call.state, call.extendedData, call.me.role, call.isHere,
        call.others.map(({ user, state }) => [user, state]), call.duration, call.errors];
    })()""")
    assert told[:6] == ["video", "advanced", "ringing", {"subject": "tea"}, "caller", True]
    assert told[6:] == [[["bob", "inviting"]], 0, [{"user": "alice", "code": "self"}]]
    call = bob.event("call.incoming")["call_id"]
    bob.ok("call.accept", call_id=call, extended_data="plain text")
    alice.holds("mine.state === 'active' && mine.duration > 0")
    assert alice.tab.evaluate("mine.others[0].extendedData") == "plain text"
    assert alice.tab.evaluate("mine.others[0].device") == "phone"
    bob.ok("call.signal", call_id=call, data={"a": 1})
    bob.ok("call.end", call_id=call)
    alice.holds("heard.at(-1) === 'over'")
    heard = alice.tab.evaluate("heard")
    assert [one for one in heard if isinstance(one, str)] == [
        "call.changed", "call.signal", "call.ended", "over"]
    assert ["signal", {"a": 1}] in heard and heard.count(["ended", "completed"]) == 1
    assert alice.tab.evaluate("[mine.isEnded, agent.calls.size, mine.outcome.by]") == [
        True, 0, "bob"]


def test_methods_of_a_call_do_what_they_say(agent, alice):
    bob, carol, dave = (agent.connect(name) for name in ("bob", "carol", "dave"))
    alice.tab.evaluate("agent.invite(['bob']).then((call) => void (globalThis.mine = call))")
    call = bob.event("call.incoming")["call_id"]
    bob.ok("call.accept", call_id=call)
    assert alice.tab.evaluate("mine.add(['carol', 'carol'])") == [
        {"user": "carol", "code": "duplicate"}]
    carol.event("call.incoming")
    alice.holds("mine.others.length === 2")
    assert alice.tab.evaluate("mine.cancel({ users: ['carol'] })") == []
    carol.event("call.cancelled")
    alice.tab.evaluate("mine.media({ audio: false }).then(() => 0)")
    alice.tab.evaluate("mine.signal({ to: 'you' }, { to: 'bob' }).then(() => 0)")
    for _ in ("bob joined", "carol invited", "carol cancelled"):
        bob.event("call.changed")
    assert bob.event("call.media_flags")["audio"] is False
    assert bob.event("call.signal")["data"] == {"to": "you"}
    assert alice.outcome("mine.token()")[0] == "unsupported"
    assert alice.outcome("mine.hold()")[0] == "wrong_mode"
    assert alice.outcome("mine.items({ put: { a: '1' } })")[0] == "wrong_mode"
    alice.tab.evaluate("mine.transfer('dave', { extendedData: { why: 1 } }).then(() => 0)")
    offer = dave.event("call.incoming")
    assert offer["transfer"] == {"by": "alice", "extended_data": '{"why":1}'}
    dave.ok("call.accept", call_id=call)
    alice.holds("mine.isEnded && mine.me.state === 'left' && mine.me.reason === 'transferred'")
    assert alice.outcome("mine.end()")[0] == "wrong_state"


def test_who_is_added_by_another_is_known(agent, alice):
    bob, carol = agent.connect("bob"), agent.connect("carol")
    call = bob.ok("call.invite", invitees=["alice"])["call_id"]
    alice.tells("incoming")
    alice.tab.evaluate("globalThis.mine = call(); mine.accept().then(() => 0)")
    bob.ok("call.add", call_id=call, invitees=["carol"])
    alice.holds("mine.others.find(({ user }) => user === 'carol')?.invitedBy === 'bob'")
    carol.event("call.incoming")
    carol.ok("call.accept", call_id=call)
    alice.holds("mine.others.find(({ user }) => user === 'carol').state === 'joined'")


def test_accepts_of_a_handshake_are_acknowledged_and_shown_calls_ring(agent, alice):
    bob = agent.connect("bob")
    call = alice.ask("call.invite", {"invitees": ["bob"], "mode": "handshake"})[1]["call_id"]
    bob.event("call.incoming")
    bob.ok("call.accept", call_id=call)
    wait_for("the end of the handshake", lambda:
             bob.ok("call.get", call_id=call)["call"]["participants"][1]["state"] == "joined")
    second = bob.ok("call.invite", invitees=["alice"])["call_id"]
    wait_for("the ringing", lambda: bob.ok("call.get", call_id=second)["call"]["participants"][1][
        "state"] == "ringing")


@pytest.mark.parametrize("end", ["reject", "cancel", "timeout", "elsewhere"])
def test_a_call_that_is_over_for_one_is_no_longer_there(agent, alice, end):
    bob = agent.connect("bob")
    call = bob.ok("call.invite", invitees=["alice", "carol"], timeout_ms=1_000)["call_id"]
    alice.tells("incoming")
    alice.tab.evaluate("globalThis.mine = call(); mine.on('ended', () => news.push(['over'])); 0")
    assert alice.tab.evaluate("[mine.isPending, mine.rings, mine.id]") == [True, True, call]
    if end == "reject":
        assert alice.outcome("mine.reject({ reason: 'busy' })")[0] == "ok"
    elif end == "cancel":
        bob.ok("call.cancel", call_id=call, users=["alice"])
    elif end == "elsewhere":
        agent.connect("alice", "tablet").ok("call.reject", call_id=call)
    alice.holds("mine.isEnded && !mine.rings && agent.calls.size === 0")
    assert alice.told("over") == 1
    states = {"reject": "rejected", "cancel": "cancelled", "timeout": "timed_out",
              "elsewhere": "rejected"}
    assert alice.tab.evaluate("mine.me.state") == states[end]


def test_after_a_loss_calls_that_ended_meanwhile_end(agent, alice):
    bob = agent.connect("bob")
    call = bob.ok("call.invite", invitees=["alice"], timeout_ms=600_000)["call_id"]
    alice.tells("incoming")
    alice.tab.evaluate("globalThis.mine = call(); 0")
    agent.crash()
    alice.is_in("reconnecting")
    agent.start()
    again = agent.connect("bob")
    again.ok("call.cancel", call_id=call)
    alice.is_in("online", 2)
    alice.holds("mine.isEnded && agent.calls.size === 0")
    assert alice.tab.evaluate("mine.me.state") == "cancelled"
    assert alice.told("incoming") == 1


def test_a_reply_behind_the_end_of_its_call_is_ignored(late_replies, client):
    bob = client(late_replies.url, "bob")
    bob.tells("incoming")
    bob.tab.evaluate("globalThis.mine = call(); mine.accept().then(() => 0)")
    assert bob.tab.evaluate("[mine.isEnded, mine.state, agent.calls.size]") == [True, "ended", 0]
    # The reply to this one says that it was decided at once.
    assert bob.tab.evaluate("agent.invite(['carol']).then(({ isEnded, outcome }) => "
                            "[isEnded, outcome.reason, agent.calls.size])") == [True, "rejected", 0]


def test_missed_calls_are_told_once(agent, client):
    bob = agent.connect("bob")
    call = bob.ok("call.invite", invitees=["alice"])["call_id"]
    bob.ok("call.cancel", call_id=call)
    alice = client(agent.url)
    alice.tells("missed")
    (_, missed, count), = alice.news("missed")
    assert missed["call_id"] == call and count == 1
    alice.holds("agent.calls.size === 0")
    alice.reload()
    alice.is_in("online")
    assert alice.ask("call.list", {})[0] == "ok" and alice.told("missed") == 0


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
# How often more than 20 seconds passed between two ticks.
GAPS = "ticks.filter((tick, i) => tick - (ticks[i - 1] ?? tick) > 20_000).length"
NO_WORKER = "delete globalThis.Worker"


def hide(tired, page, gaps=1):
    """Puts another tab before the page, and waits until its timers come once a minute.

    A timer that is set by a timer is slowed down from its fifth time on, so those of the client
    may be slow a minute later than the ones that are watched."""
    page.tab.evaluate(WATCH)
    tired.tab("about:blank")
    wait_for("the tab is hidden", lambda: page.tab.evaluate("document.hidden"))
    wait_for("timers that come once a minute", lambda: page.tab.evaluate(GAPS) >= gaps,
             patience=150, pause=1)


@pytest.mark.full
@pytest.mark.parametrize("before, gaps", [(NO_WORKER, 2), ("", 1)], ids=["alone", "with a worker"])
def test_a_hidden_tab_stays_connected(make_agent, tired, client_site, before, gaps):
    agent = make_agent('limits = { ping = "5s", silence = "8s" }\n').start()
    alice = Page(tired.tab(f"{client_site}/index.js"), client_site, agent.url, before=before)
    alice.is_in("online")
    hide(tired, alice, gaps)
    agent.connect("bob").ok("call.invite", invitees=["alice"])
    wait_for("the call", lambda: alice.told("incoming"), patience=2)
    tired.show(alice.tab)
    seen = alice.tab.evaluate("ticks.length")
    wait_for("timers that come again", lambda: alice.tab.evaluate("ticks.length") > seen + 7)
    assert alice.states() == ["connecting", "online"]


@pytest.mark.patient
def test_a_hidden_tab_comes_back_before_it_counts_as_lost(agent, tired, client_site):
    """The server is restarted; without a worker the first attempt would come a minute later."""
    alice = Page(tired.tab(f"{client_site}/index.js"), client_site, agent.url)
    alice.is_in("online")
    hide(tired, alice)
    agent.crash()
    agent.start()
    wait_for("the connection", lambda: alice.states().count("online") == 2, patience=30)


@pytest.mark.full
@pytest.mark.patient
def test_a_tab_hidden_for_five_minutes_stays_connected(agent, tired, client_site):
    alice = Page(tired.tab(f"{client_site}/index.js"), client_site, agent.url, before=NO_WORKER)
    alice.is_in("online")
    hide(tired, alice)
    start = alice.tab.evaluate("performance.now()")
    wait_for("five minutes", lambda: alice.tab.evaluate("performance.now()") - start > 300_000,
             patience=330, pause=5)
    agent.connect("bob").ok("call.invite", invitees=["alice"])
    wait_for("the call", lambda: alice.told("incoming"), patience=2)
    assert alice.states() == ["connecting", "online"]


def test_a_line_that_died_is_noticed_when_the_network_is_back(agent, alice):
    agent.signal(signal.SIGSTOP)  # the connection stays, and nobody answers
    try:
        alice.tab.evaluate("dispatchEvent(new Event('online')) && 0")
        alice.is_in("reconnecting")
    finally:
        agent.signal(signal.SIGCONT)
    assert alice.news("state")[-1][1:] == ["reconnecting", {"code": 1006, "reason": "silence"}]
    alice.is_in("online", 2)
    alice.tab.evaluate("dispatchEvent(new Event('online')) && 0")
    assert alice.ask("call.list", {})[0] == "ok"
    assert alice.states().count("reconnecting") == 1
