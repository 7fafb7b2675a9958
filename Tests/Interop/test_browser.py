"""The phone of examples/browser in a real browser; skipped where none is installed."""

import contextlib
import json
import threading

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

from browser import needs_browser

pytestmark = needs_browser


@pytest.fixture
def phone(browser, site):
    """Opens the phone of a user, and waits until it is connected."""

    def open_phone(agent, user):
        tab = browser.tab(f"{site}/?server={agent.url}#{user}")
        tab.shows("ready")
        return tab

    return open_phone


def test_two_tabs_talk(agent, phone):
    alice, bob = phone(agent, "alice"), phone(agent, "bob")
    alice.dial("bob")
    bob.shows("alice calls")
    alice.shows("ringing at bob")
    bob.press("accept")
    for tab, other in ((alice, "bob"), (bob, "alice")):
        tab.shows(f"with {other}: connected")  # told by the server once both have reported voice
    bob.press("end")
    alice.shows("ended: completed")
    bob.shows("ended by you")


def test_every_way_not_to_talk_is_shown(agent, phone):
    alice, bob, second = phone(agent, "alice"), phone(agent, "bob"), phone(agent, "bob")
    alice.dial("bob")
    for tab in (bob, second):
        tab.shows("alice calls")
    bob.press("end")
    alice.shows("ended: rejected")
    second.shows("rejected on another device")
    alice.dial("bob")
    bob.shows("alice calls")
    alice.press("end")
    bob.shows("the caller gave up")
    alice.dial("alice")
    alice.shows("nobody can call themselves")


def test_a_crash_of_the_server_is_survived(agent, phone):
    alice, bob = phone(agent, "alice"), phone(agent, "bob")
    alice.dial("bob")
    bob.shows("alice calls")
    agent.crash()
    alice.shows("connection lost")
    agent.start()
    bob.shows("alice calls")
    alice.shows("connected again")
    bob.press("accept")
    alice.shows("with bob: connected")


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


def test_a_reply_behind_the_end_of_its_call_is_ignored(late_replies, browser, site):
    bob = browser.tab(f"{site}/?server={late_replies.url}#bob")
    bob.shows("alice calls")
    bob.press("accept")
    bob.shows("ended: completed")
    # The reply to the accept came before the one to this.
    bob.dial("carol")
    bob.shows("ended: rejected")
    assert bob.evaluate("document.body.dataset.state") == "idle"


FETCH = """
fetch("%s/v1/call/invite", { method: "POST",
  headers: { Authorization: "Bearer dev:carol", "X-Device": "page", "Idempotency-Key": "k" },
  body: JSON.stringify({ invitees: ["%s"] }) })
.then(async (answer) => [answer.status, (await answer.json()).code], (error) => [0, error.name])
"""


def test_a_page_may_fetch_where_its_origin_may_connect(make_agent, browser, site):
    agent = make_agent(f'origins = {{ "{site}" }}\n').start()
    address = agent.url.replace("ws:", "http:").removesuffix("/v1/ws")
    page, stranger = browser.tab(f"{site}/voice.js"), browser.tab("data:text/html,elsewhere")
    assert page.evaluate(FETCH % (address, "bob")) == [200, None]
    assert page.evaluate(FETCH % (address, "carol")) == [409, "key_reused"]
    assert stranger.evaluate(FETCH % (address, "bob")) == [0, "TypeError"]
