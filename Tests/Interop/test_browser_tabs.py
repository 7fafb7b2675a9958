"""Several tabs of one user are one device; and a page that is loaded again goes on."""

import pytest

from agent import wait_for
from browser import needs_browser
from page import Page

pytestmark = needs_browser


@pytest.fixture
def tab(agent, browser, client_site):
    """Opens a tab with a client of a user."""

    def open_tab(user="alice", **options):
        made = Page(browser.tab(f"{client_site}/index.js"), client_site, agent.url,
                    token=f'async () => "dev:{user}"', **options)
        made.is_in("online")
        return made

    return open_tab


def leads(page):
    return page.tab.evaluate("agent.isLeading")


def devices(agent, user):
    """How many connections of a user there are."""
    return agent.metrics()["callagent_connections"]


def test_one_tab_leads_all_show_and_one_rings(agent, tab):
    first, second, third = tab(), tab(), tab()
    assert [leads(one) for one in (first, second, third)] == [True, False, False]
    assert len({one.tab.evaluate("agent.device") for one in (first, second, third)}) == 1
    bob = agent.connect("bob")
    call = bob.ok("call.invite", invitees=["alice"])["call_id"]
    for one in (first, second, third):
        one.tells("incoming")
        one.holds(f"agent.calls.get('{call}')?.isPending")
    assert [one.news("incoming")[0][1]["rings"] for one in (first, second, third)] == [
        True, False, False]
    # Each event came once, and the server was told once that it rings.
    bob.event("call.changed")
    assert second.outcome("call().accept()")[0] == "ok"
    bob.event("call.changed")
    for one, is_here in ((first, False), (second, True), (third, False)):
        one.holds("call().me.state === 'joined' && !call().rings")
        assert one.tab.evaluate("call().isHere") == is_here
    bob.ok("call.end", call_id=call)
    for one in (first, second, third):
        one.holds("agent.calls.size === 0")
    bob.event("call.ended")
    bob.quiet()


def test_a_tab_that_opens_during_a_call_shows_it(agent, tab):
    tab()
    bob = agent.connect("bob")
    call = bob.ok("call.invite", invitees=["alice"])["call_id"]
    late = tab()
    late.holds(f"agent.calls.get('{call}')?.state === 'ringing'")
    assert late.told("incoming") == 1 and late.news("incoming")[0][1]["rings"] is False


def test_requests_of_all_tabs_are_answered(agent, tab):
    first, second = tab(), tab()
    bob = agent.connect("bob")
    call = second.tab.evaluate("agent.invite(['bob']).then(({ id }) => id)")
    assert bob.event("call.incoming")["call_id"] == call
    first.holds(f"agent.calls.get('{call}')?.me.role === 'caller'")
    assert second.ask("call.get", {"call_id": "0" * 32})[0] == "not_found"
    assert first.tab.evaluate("call().isHere") is False
    assert first.outcome("call().cancel()")[0] == "ok"
    second.holds("agent.calls.size === 0")


def test_when_the_tab_that_leads_is_closed_another_goes_on(agent, browser, tab):
    first, second, third = tab(), tab(), tab()
    bob = agent.connect("bob")
    call = bob.ok("call.invite", invitees=["alice"], timeout_ms=600_000)["call_id"]
    for one in (first, second, third):
        one.tells("incoming")
    session = "agent.getSnapshot().user"
    assert second.tab.evaluate(session) == "alice"
    browser.ask(f"/json/close/{first.tab.id}")
    wait_for("another one leads", lambda: leads(second) or leads(third))
    heir, other = (second, third) if leads(second) else (third, second)
    heir.is_in("online", 2)
    other.is_in("online", 2)
    heir.holds("call().rings")
    assert not other.tab.evaluate("call().rings")
    assert heir.told("incoming") == 1 and other.told("incoming") == 1
    assert other.outcome("call().accept()")[0] == "ok"
    heir.holds("call().state === 'active'")
    bob.forget()
    bob.ok("call.end", call_id=call)
    for one in (heir, other):
        one.holds("agent.calls.size === 0")


def test_requests_survive_the_tab_that_led(agent, browser, tab):
    first, second = tab(), tab()
    agent.signal(19)  # SIGSTOP: nobody answers
    try:
        second.tab.evaluate("globalThis.it = ask('call.list', {}); 0")
        browser.ask(f"/json/close/{first.tab.id}")
        wait_for("the other one leads", lambda: leads(second))
    finally:
        agent.signal(18)
    assert second.tab.evaluate("it")[0] == "ok"


def test_after_a_crash_of_the_server_all_tabs_are_back(agent, tab):
    first, second = tab(), tab()
    agent.crash()
    for one in (first, second):
        one.is_in("reconnecting")
    second.tab.evaluate("globalThis.it = ask('call.list', {}); 0")
    agent.start()
    for one in (first, second):
        one.is_in("online", 2)
    assert second.tab.evaluate("it")[0] == "ok"


def test_bye_of_one_tab_stops_all(tab):
    first, second = tab(), tab()
    second.tab.evaluate("agent.stop({ bye: true })")
    for one in (first, second):
        one.is_in("stopped")
        assert one.ask("call.list", {})[0] == "StoppedError"


def test_stop_of_one_tab_leaves_the_others(tab):
    first, second = tab(), tab()
    first.tab.evaluate("agent.stop()")
    second.is_in("online", 2)
    assert leads(second) and second.ask("call.list", {})[0] == "ok"
    assert "stopped" not in second.states()


def test_tabs_of_different_users_have_nothing_to_do_with_each_other(agent, tab):
    alice, bob = tab("alice"), tab("bob")
    assert leads(alice) and leads(bob)
    alice.tab.evaluate("agent.invite(['bob']).then(() => 0)")
    bob.tells("incoming")
    assert bob.tab.evaluate("call().rings") and not alice.told("incoming")


def test_tabs_apart_are_devices_of_their_own(agent, tab):
    first, second = (tab(options={"tabs": False}) for _ in range(2))
    assert leads(first) and leads(second)
    agent.connect("bob").ok("call.invite", invitees=["alice"])
    for one in (first, second):
        one.tells("incoming")
        assert one.tab.evaluate("call().rings")


def test_a_reload_keeps_the_call(agent, tab):
    alice, bob = tab(), agent.connect("bob")
    call = alice.tab.evaluate("agent.invite(['bob']).then(({ id }) => id)")
    bob.event("call.incoming")
    bob.ok("call.accept", call_id=call)
    alice.holds("call().state === 'active'")
    device = alice.tab.evaluate("agent.device")
    bob.forget()
    alice.reload()
    alice.is_in("online")
    alice.holds(f"agent.calls.get('{call}')?.isHere && call().me.state === 'joined'")
    assert alice.tab.evaluate("agent.device") == device
    bob.quiet()  # nobody noticed
    bob.ok("call.signal", call_id=call, data=1)
    alice.tab.evaluate("call().on('signal', () => 0); 0")
    bob.ok("call.end", call_id=call)
    alice.holds("agent.calls.size === 0")


def test_a_reload_while_it_rings_rings_again(agent, tab):
    alice, bob = tab(), agent.connect("bob")
    bob.ok("call.invite", invitees=["alice"], timeout_ms=600_000)
    alice.tells("incoming")
    alice.reload()
    alice.tells("incoming")
    alice.holds("call().rings")
    assert alice.outcome("call().accept()")[0] == "ok"


def test_what_ended_while_another_tab_led_is_over_after_a_reload(agent, tab):
    first, second, bob = tab(), tab(), agent.connect("bob")
    call = bob.ok("call.invite", invitees=["alice"], timeout_ms=600_000)["call_id"]
    for one in (first, second):
        one.tells("incoming")
    first.tab.evaluate("location.href = 'about:blank'")
    wait_for("the other tab leads", lambda: leads(second))
    second.is_in("online", 2)
    bob.ok("call.cancel", call_id=call)
    second.holds("agent.calls.size === 0")
    first.tab.evaluate("history.back()")
    wait_for("the page", lambda: first.tab.evaluate("location.pathname") == "/index.js")
    first.begin()
    first.is_in("online")
    first.holds("agent.calls.size === 0")


def test_what_happened_during_a_reload_is_told(agent, tab):
    alice, bob = tab(), agent.connect("bob")
    call = bob.ok("call.invite", invitees=["alice"], timeout_ms=600_000)["call_id"]
    alice.tells("incoming")
    alice.tab.evaluate("location.href = 'about:blank'")
    wait_for("another page", lambda: alice.tab.evaluate("location.href") == "about:blank")
    bob.ok("call.cancel", call_id=call)
    alice.tab.evaluate("history.back()")
    wait_for("the page", lambda: alice.tab.evaluate("location.pathname") == "/index.js")
    alice.tab.evaluate(alice.script)
    alice.is_in("online")
    alice.holds("agent.calls.size === 0")
