"""The phone of examples/browser in a real browser; skipped where none is installed."""

import pytest

from browser import needs_browser

pytestmark = needs_browser


@pytest.fixture
def phone(browser, site):
    """Opens the phone of a user, and waits until it is connected."""

    def open_phone(agent, user):
        server = f"http://127.0.0.1:{agent.port}"
        tab = browser.tab(f"{site}/?server={server}#{user}")
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
    bob.shows("ended: completed")


def test_every_way_not_to_talk_is_shown(agent, phone):
    alice, bob, second = phone(agent, "alice"), phone(agent, "bob"), phone(agent, "bob")
    alice.dial("bob")
    for tab in (bob, second):
        tab.shows("alice calls")
    bob.press("end")
    alice.shows("ended: rejected")
    second.shows("ended: rejected")
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


FETCH = """
fetch("%s/v1/call/invite", { method: "POST",
  headers: { Authorization: "Bearer dev:carol", "X-Device": "page", "Idempotency-Key": "k" },
  body: JSON.stringify({ invitees: ["%s"] }) })
.then(async (answer) => [answer.status, (await answer.json()).code], (error) => [0, error.name])
"""


def test_a_page_may_fetch_where_its_origin_may_connect(make_agent, browser, site):
    agent = make_agent(f'origins = {{ "{site}" }}\n').start()
    address = agent.url.replace("ws:", "http:").removesuffix("/v1/ws")
    page, stranger = browser.tab(f"{site}/phone.js"), browser.tab("data:text/html,elsewhere")
    assert page.evaluate(FETCH % (address, "bob")) == [200, None]
    assert page.evaluate(FETCH % (address, "carol")) == [409, "key_reused"]
    assert stranger.evaluate(FETCH % (address, "bob")) == [0, "TypeError"]
