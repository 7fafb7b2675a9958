"""The phone for everybody: every screen checked by axe, narrow and wide, light and dark, and by
keyboard alone."""

import pytest

from agent import wait_for
from browser import AXE, LOOKS, PATIENCE, needs_browser
from test_browser_phone import Phone, loud, phone  # noqa: F401, fixtures

pytestmark = needs_browser
NAMES = ("alice", "bob")


def fit(one, screen):
    """Nothing of the screen keeps anybody out."""
    if AXE is None:
        pytest.skip("no axe: see run.sh")
    for width, dark in LOOKS:
        one.tab.size(width, dark)
        assert one.tab.faults() == [], (screen, width, dark)
        over = one.tab.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert over <= 0, (screen, width, over)


def test_the_door_and_the_phone_at_rest(loud, agent):  # noqa: F811
    alice = Phone(loud.tab(f"http://127.0.0.1:{agent.port}/"), agent)
    alice.shows("Your name")
    fit(alice, "the door")
    bob = agent.connect("bob")
    call = bob.ok("call.invite", invitees=["alice"])["call_id"]
    bob.ok("call.cancel", call_id=call)
    alice.sign_in("alice")
    alice.shows("Missed calls (1)")
    alice.press("Show history")
    alice.shows("from bob")
    alice.tab.evaluate("document.getElementById('devices').open = true")
    fit(alice, "at rest")
    alice.press("Sign out")
    alice.shows("Your name")
    fit(alice, "signed out")


@pytest.mark.parametrize("kind", ["audio", "video"])
def test_a_call_from_its_beginning_to_its_end(phone, kind):  # noqa: F811
    alice, bob = (phone(name) for name in NAMES)
    alice.calls("bob", "x" * 64, mode="advanced", kind=kind)
    bob.shows("alice calls")
    alice.shows("bob: it rings there")
    fit(alice, "waiting")
    fit(bob, "called")
    bob.press("Accept")
    alice.shows("in the call, connected")
    alice.press("Mute")
    bob.shows("alice: in the call, connected, muted")
    fit(alice, "in a call")
    # It is narrow now, and still nobody has to look for the end of it.
    alice.tab.evaluate("scrollTo(0, 0)")
    end = alice.tab.evaluate("named('button', 'Hang up').getBoundingClientRect().bottom")
    assert end <= alice.tab.evaluate("innerHeight"), end
    fit(bob, "in a call with somebody who is silent")
    alice.press("End for all")
    bob.shows("ended")
    alice.shows("ended")
    fit(alice, "after a call")


def test_in_trouble(phone, agent):  # noqa: F811
    alice = phone("alice")
    alice.calls("alice")
    alice.shows("alice: that is you")
    fit(alice, "a call that cannot be made")
    agent.crash()
    alice.shows("The connection was lost")
    fit(alice, "without its server")
    agent.start()
    alice.shows("alice Online")


class Keyboard:
    """A person who has nothing but keys."""

    def __init__(self, loud, agent, name):  # noqa: F811
        self.phone = Phone(loud.tab(f"http://127.0.0.1:{agent.port}/"), agent)
        self.loud = loud
        self.front()
        self.to("Your name")
        self.phone.tab.type(name)
        self.press("Enter", 13)
        self.phone.shows(f"{name} Online")

    def front(self):
        self.loud.show(self.phone.tab)

    def press(self, name, code):
        self.phone.tab.key(name, code)

    def focus(self):
        return self.phone.tab.evaluate("""(() => {
            const one = document.activeElement;
            return (one.getAttribute('aria-label') ?? one.labels?.[0]?.childNodes[0].textContent
              ?? one.textContent).trim();
        })()""")

    def to(self, name, most=60):
        """Walks with the tab key until something of this name has the focus, which is seen."""
        for _ in range(most):
            if self.focus() == name:
                seen = self.phone.tab.evaluate(
                    "getComputedStyle(document.activeElement).outlineStyle")
                assert seen != "none", f"nobody sees that {name} has the focus"
                return
            self.press("Tab", 9)
        raise AssertionError(f"{name!r} is not reached; {self.focus()!r} is")

    def does(self, name, key=("Enter", 13)):
        self.front()
        self.to(name)
        self.press(*key)


def test_a_whole_call_by_keyboard_alone(loud, agent):  # noqa: F811
    alice, bob = (Keyboard(loud, agent, name) for name in NAMES)
    alice.front()
    alice.to("Call whom")
    alice.phone.tab.type("bob")
    alice.does("Call")
    bob.front()
    bob.phone.shows("alice calls")
    # Escape neither answers nor hides who calls, and behind the dialog nothing is reached.
    bob.press("Escape", 27)
    assert bob.phone.is_there("button", "Accept")
    reached = set()
    for _ in range(8):
        bob.press("Tab", 9)
        reached.add(bob.focus())
    assert {"Accept", "Reject", "Reject as busy"} <= reached and "Call whom" not in reached
    bob.does("Accept")
    alice.phone.shows("in the call, connected")
    bob.does("Mute", (" ", 32))
    alice.phone.shows("muted")
    bob.does("Mute", (" ", 32))
    bob.does("Hold")
    alice.phone.shows("holds the call")
    bob.does("Hang up")
    alice.phone.shows("bob: ended")
    # What had the focus is gone, and the keyboard goes on from where the page is.
    bob.to("Call whom")


def test_a_screen_reader_hears_who_calls_and_what_became_of_it(phone):  # noqa: F811
    alice, bob = (phone(name) for name in NAMES)
    alice.calls("bob")
    bob.shows("alice calls")
    tree = bob.tab.command("Accessibility.getFullAXTree")["nodes"]
    (dialog,) = [one for one in tree if one.get("role", {}).get("value") == "dialog"]
    assert dialog["name"]["value"] == "alice calls"
    bob.press("Reject")
    alice.shows("bob: rejected")
    spoken = "[...document.querySelectorAll('[role=status], [role=alert], [aria-live]')]"
    wait_for("it is spoken", lambda: alice.tab.evaluate(
        f"{spoken}.some((one) => one.textContent.includes('rejected'))"), patience=PATIENCE)
