"""The console in a real browser: what it shows, by keyboard alone, and what nobody may do."""

import contextlib
import json
import os
import re
import signal
import subprocess
from urllib.parse import quote

import pytest

from agent import free_port, wait_for
from browser import AXE, LOOKS, PATIENCE, Browser, needs_browser
from calls import invite
from console import Console, agent, console, port, token
from firefox import Firefox, needs_firefox
from support import ACCEPT, BUSY, SUPPORT, rewrite

pytestmark = needs_browser
SCREENS = ("now", "history", "people", "people/bob", "policies", "policies/support", "deliveries",
           "log", "health")
HOSTILE = '<img src=x onerror="document.title=1">'


@pytest.fixture
def browser(tmp_path):
    with contextlib.closing(Browser(tmp_path / "profile")) as made:
        yield made


class Page:
    """The console in a tab."""

    def __init__(self, browser, address):
        self.tab = browser.tab(address)
        self.tab.loads()
        # What the policy of the page forbids, and what fails in it.
        self.tab.evaluate("""(() => {
            window.wrong = [];
            addEventListener('securitypolicyviolation', e => wrong.push(e.violatedDirective));
            addEventListener('error', e => wrong.push(String(e.message)));
            addEventListener('unhandledrejection',
                e => { if (!e.defaultPrevented) wrong.push(String(e.reason)) });
        })()""")

    def value(self, script):
        return self.tab.evaluate(script)

    @property
    def text(self):
        return self.value("document.body?.innerText") or ""

    def shows(self, words, patience=PATIENCE):
        try:
            wait_for(f"{words!r}", lambda: words in self.text, patience=patience, pause=0.05)
        except AssertionError:
            raise AssertionError(f"{words!r} is not in\n{self.text}") from None

    def go(self, screen):
        self.value(f"location.hash = '#/{screen}'")
        wait_for(screen, lambda: self.value(
            "document.querySelector('main > *:nth-child(2)') !== null"), pause=0.05)

    def focus(self):
        return self.value("document.activeElement.textContent.trim()") or ""

    def tab_to(self, name, most=150):
        """Walks with the tab key alone until something with this name has the focus."""
        for _ in range(most):
            self.tab.key("Tab", 9)
            if self.focus() == name:
                return
        raise AssertionError(f"{name!r} is not reached; {self.focus()!r} is")


@pytest.fixture
def page(browser, console):
    def open_as(role):
        credential = console.operator if role == "operator" else console.viewer
        return Page(browser, f"http://127.0.0.1:{console.port}/#token={credential}")
    return open_as


def people(agent):
    """Ann calls bob, who rings, and support, who answers; one call has ended."""
    bob, ann = (agent.connect(name, token=token(name)) for name in ("bob", "ann"))
    call_id = invite(ann, "bob", mode="advanced", extended_data=HOSTILE)
    bob.event("call.incoming")
    invite(ann, "support", mode="advanced")
    ended = invite(ann, "carl", mode="common")
    ann.ok("call.cancel", call_id=ended, invitees=["carl"])
    return ann, bob, call_id


def test_the_token_is_not_left_in_the_address(page):
    shown = page("operator")
    shown.shows("It takes calls")
    assert "token" not in shown.value("location.href")
    assert shown.value("history.length") <= 3
    assert shown.value("document.cookie") == "" and shown.value("localStorage.length") == 0


def test_calls_stream_in_and_go(page, agent):
    shown = page("operator")
    shown.shows("No live calls")
    ann, _, call_id = people(agent)
    shown.shows(call_id[:12])
    ann.ok("call.end", call_id=call_id)
    wait_for("its end", lambda: call_id[:12] not in shown.text)
    assert shown.value("wrong") == []


def test_the_focus_stays_when_a_call_above_it_ends(page, agent):
    ann = agent.connect("ann", token=token("ann"))
    below, above = (invite(ann, name, mode="advanced") for name in ("bob", "carl"))
    shown = page("operator")
    shown.shows(above[:12])
    shown.tab_to(f"{below[:12]}…")
    ann.ok("call.end", call_id=above)
    wait_for("its end", lambda: above[:12] not in shown.text)
    assert shown.focus() == f"{below[:12]}…"


@pytest.mark.parametrize("role", ["operator", "viewer"])
def test_every_screen_is_fit_for_everybody(page, agent, role):
    if AXE is None:
        pytest.skip("no axe: see run.sh")
    _, _, call_id = people(agent)
    agent.admin("POST", "/admin/v1/reload", {})
    shown = page(role)
    shown.shows("It takes calls")
    for screen in (*SCREENS, f"call/{call_id}"):
        for width, dark in LOOKS:
            shown.tab.size(width, dark)
            shown.go(screen)
            wait_for("the screen", lambda: shown.value(
                "document.querySelector('table, ol.ladder, ul') !== null"))
            assert shown.tab.faults() == [], (screen, width, dark)
            over = shown.value("document.documentElement.scrollWidth - innerWidth")
            assert over <= 0, (screen, width, over)
    assert shown.value("wrong") == []
    assert shown.value("document.getElementById('trouble').hidden")


def test_nothing_from_outside_is_html(page, agent):
    _, _, call_id = people(agent)
    agent.connect("<b>x</b>", token=token("<b>x</b>"))
    shown = page("operator")
    for screen in ("people", f"call/{call_id}", "log"):
        shown.go(screen)
    shown.go("people")
    shown.shows("<b>x</b>")
    assert shown.value("document.querySelectorAll('main b, main img').length") == 0
    assert shown.value("document.title") != "1"
    refused = shown.value("""(() => {
        try { document.body.innerHTML = '<i>x</i>'; return false; } catch (e) { return true; }
    })()""")
    assert refused, "Trusted Types let HTML pass"


LONG = "<img/src=x/onerror=document.title=1>a_name_that_breaks_nowhere"


def test_long_names_do_not_push_the_page_aside(page, agent):
    ann = agent.connect("ann", token=token("ann"))
    call_id = invite(ann, LONG, mode="advanced")
    shown = page("viewer")
    for width in (320, 720):
        shown.tab.size(width)
        for screen in ("now", "people", f"people/{quote(LONG, '')}", f"call/{call_id}"):
            shown.go(screen)
            shown.shows(LONG)
            over = shown.value("document.documentElement.scrollWidth - innerWidth")
            assert over <= 0, (screen, width, over)


def test_what_a_plugin_logs_neither_hides_nor_pushes_the_page_aside(page, agent):
    """Plugins log what callers say."""
    line = '  log.warn("photo\\u{202e}gnp.exe", { said = string.rep("W", 400) })\n'
    rewrite(agent, ACCEPT.replace("  local user", line + "  local user"))
    assert agent.tool("reload")[0] == 0
    ann = agent.connect("ann", token=token("ann"))
    invite(ann, "support", mode="advanced")
    shown = page("viewer")
    for width in (320, 1_280):
        shown.tab.size(width)
        shown.go("log")
        shown.shows("photo\\u{202e}gnp.exe")
        over = shown.value("document.documentElement.scrollWidth - innerWidth")
        assert over <= 0, (width, over)


def test_a_time_of_another_day_has_its_day(page):
    shown = page("viewer")
    shown.shows("It takes calls")
    shown.shows("Times are those of this browser")
    made = """import('/page.js').then(({ moment }) => {
        const midnight = new Date().setHours(0, 0, 0, 0);
        return [midnight - 1000, midnight, midnight + 86399000, midnight + 86400000]
            .map((at) => moment(at).textContent.length > 10);
    })"""
    assert shown.value(made) == [True, False, False, True]


def test_what_was_changed_and_logged_leads_to_calls_and_people(page, agent):
    ann = agent.connect("<ann>", token=token("<ann>"))
    call_id = invite(ann, "bob", mode="advanced")
    agent.admin("POST", f"/admin/v1/calls/{call_id}/end", {})
    agent.admin("POST", "/admin/v1/users/%3Cann%3E/disconnect", {})
    shown = page("viewer")
    shown.go("log")
    shown.shows("sessions ended by the operator")
    hrefs = "[...document.querySelectorAll('table:nth-of-type(1) td a')].map((a) => a.hash)"
    found = shown.value(hrefs)
    assert found.count(f"#/call/{call_id}") == 2 and found.count("#/people/%3Cann%3E") == 2
    assert shown.value("document.querySelectorAll('main ann').length") == 0


def test_an_address_that_nobody_wrote_shows_a_screen(page):
    shown = page("viewer")
    shown.shows("It takes calls")
    shown.go("people/%E0%A4%A")
    shown.shows("No device is there.")
    shown.go("now")
    shown.shows("It takes calls")
    assert shown.value("wrong") == []


def test_only_its_own_origin_is_asked(page, console):
    shown = page("operator")
    shown.shows("It takes calls")
    names = shown.value("performance.getEntriesByType('resource').map(e => e.name)")
    assert names and all(name.startswith(f"http://127.0.0.1:{console.port}/") for name in names)


def test_a_call_is_found_explained_and_ended_by_keyboard(page, agent):
    _, _, call_id = people(agent)
    shown = page("operator")
    shown.shows(call_id[:12])
    shown.tab_to(f"{call_id[:12]}…")
    shown.tab.key("Enter", 13)
    shown.shows("asked for call.invite")
    shown.shows("was told call.incoming")
    shown.tab_to("End the call")
    shown.tab.key("Enter", 13)
    shown.shows("Type")
    shown.tab.type("wrong")
    shown.tab.key("Enter", 13)
    shown.shows("Type")
    for _ in range(5):
        shown.tab.key("Backspace", 8)
    shown.tab.type(call_id[:8])
    shown.tab.key("Enter", 13)
    shown.shows("policy")
    shown.shows("ended")
    found = agent.admin("GET", f"/admin/v1/calls/{call_id}").body["call"]
    assert found["state"] == "ended" and found["end"]["detail"] == "operator"


def test_a_dialog_is_left_by_escape_and_changes_nothing(page, agent):
    _, _, call_id = people(agent)
    shown = page("operator")
    shown.go(f"call/{call_id}")
    shown.tab_to("End the call")
    shown.tab.key("Enter", 13)
    shown.shows("Type")
    shown.tab.key("Escape", 27)
    wait_for("no dialog", lambda: shown.value("document.querySelector('dialog') === null"))
    assert shown.focus() == "End the call"
    assert agent.admin("GET", f"/admin/v1/calls/{call_id}").body["call"]["state"] != "ended"


def test_the_ladder_hides_what_is_not_wanted(page, agent):
    _, _, call_id = people(agent)
    shown = page("viewer")
    shown.go(f"call/{call_id}")
    shown.shows("asked for call.invite")
    kinds = "[...document.querySelectorAll('ol.ladder li')].map(e => e.dataset.kind)"
    before = shown.value(kinds)
    assert before[0] == "request"
    shown.value("document.querySelectorAll('label.tick input')[0].click()")
    assert [kind for kind in before if kind != "push"] == shown.value(kinds)


def test_a_viewer_is_shown_nothing_that_is_refused(page, agent):
    _, _, call_id = people(agent)
    shown = page("viewer")
    harm = ("End the call", "Disconnect", "Take back", "Reload", "Go back", "Source", "Try",
            "Canary", "Promote", "Enable", "Send again", "Look the installation over",
            "Forget this person", "Take back all tokens")
    for screen in (*SCREENS, f"call/{call_id}"):
        shown.go(screen)
        wait_for("the screen", lambda: shown.value(
            "document.querySelector('table, ol.ladder, ul') !== null"))
        buttons = shown.value("[...document.querySelectorAll('main button')].map(e => e.innerText)")
        assert not set(buttons) & set(harm), (screen, buttons)
        assert HOSTILE not in shown.text
    assert shown.value("wrong") == []


def test_what_a_button_began_says_that_it_failed(page):
    shown = page("viewer")
    shown.value("void Promise.reject(new DOMException('left', 'AbortError'))")
    shown.value("void Promise.reject(Object.assign(new Error('it was refused'), { status: 409 }))")
    shown.shows("it was refused")
    assert shown.value("wrong") == ["Error: it was refused"]


def test_why_a_phone_did_not_ring(page, agent):
    people(agent)
    shown = page("viewer")
    shown.go("people/carl")
    shown.shows("Why did it not ring?")
    shown.value("document.querySelector('button.main').click()")
    shown.shows("no device was connected")
    # The ladder of the call says it too.
    shown.value("document.querySelector('td a.code').click()")
    shown.shows("no push to carl: neither a device nor a registration is there")


# Parts of an address mean something to a browser: two of these it would take out of a path.
NAMES = [".", "..", "a/b", "%2e%2e", "?", "#", "%", "a;b", "+", "\\"]


def fill_in(shown, field, text):
    """Writes into a field, and sends its form."""
    shown.value(f"((field) => {{ field.value = {json.dumps(text)}; field.dispatchEvent("
                "new Event('input')); field.form.requestSubmit() })"
                f"(document.querySelector({json.dumps(field)}))")


@pytest.mark.parametrize("make", [Browser, pytest.param(Firefox, marks=needs_firefox)])
def test_anybody_can_be_opened_whatever_the_name(tmp_path, agent, console, make):
    with contextlib.closing(make(tmp_path / "other")) as browser:
        shown = Page(browser, f"http://127.0.0.1:{console.port}/#token={console.operator}")
        shown.shows("It takes calls")
        for number, name in enumerate(NAMES):
            device = agent.connect(name, f"of-{number}", token=token(name))
            shown.go("people")
            fill_in(shown, "main [name=user]", name)
            shown.shows(f"of-{number}")
            assert shown.value("document.querySelector('h1').textContent") == name
            shown.value("document.querySelector('button.main').click()")
            shown.shows("Nobody called in that time.")
            shown.value("[...document.querySelectorAll('button')].find("
                        "(one) => one.innerText === 'Disconnect').click()")
            wait_for("a question", lambda: shown.value("document.querySelector('dialog') !== null"))
            fill_in(shown, "dialog input", f"of-{number}")
            assert device.closed() == 4001
        assert shown.value("wrong") == []


def test_a_person_is_forgotten_only_when_it_is_meant(page, agent):
    ann, _, call_id = people(agent)
    shown = page("operator")

    def press(name):
        shown.go("people/ann")
        shown.shows("Forget this person")
        shown.value("[...document.querySelectorAll('button')].find("
                    "(one) => one.innerText === 'Forget this person').click()")
        shown.shows("Type")
        shown.tab.type(name)
        shown.tab.key("Enter", 13)

    press("an")
    shown.shows("Type")
    shown.tab.key("Escape", 27)
    press("ann")
    shown.shows("end them first")
    ann.ok("call.end", call_id=call_id)
    for one in agent.admin("GET", "/admin/v1/calls?user=ann").body["items"]:
        agent.admin("POST", f"/admin/v1/calls/{one['call_id']}/end")
    shown.go("people")
    press("ann")
    shown.shows("Done.")
    shown.shows("No such calls")
    assert agent.admin("GET", "/admin/v1/history?user=ann").body["items"] == []
    assert shown.value("wrong") == []


def test_an_invitation_is_tried_and_a_change_replayed_before_it_counts(page, agent):
    people(agent)
    shown = page("operator")
    shown.go("policies")
    shown.shows("Try an invitation")
    shown.value("document.querySelector('input[name=to]').value = 'support'")
    press = "[...document.querySelectorAll('button')].find(e => e.innerText === '{}').{}"
    shown.value(press.format("Try", "click()"))
    shown.shows("accept")
    assert shown.value(press.format("Reload", "disabled"))
    (agent.folder / "plugins" / "support.lua").write_text(BUSY)
    shown.value(press.format("Replay yesterday and today", "click()"))
    shown.shows("1 would change")
    shown.shows("It would be")
    before = agent.admin("GET", "/admin/v1/status").body["generation"]
    # Somebody changes the file between the look and the word.
    (agent.folder / "plugins" / "support.lua").write_text(BUSY + "-- another\n")
    shown.value(press.format("Reload", "click()"))
    shown.tab.type("reload")
    shown.tab.key("Enter", 13)
    shown.shows("replay them again")
    assert agent.admin("GET", "/admin/v1/status").body["generation"] == before
    assert shown.value(press.format("Reload", "disabled"))
    shown.value(press.format("Replay yesterday and today", "click()"))
    wait_for("it is replayed", lambda: not shown.value(press.format("Reload", "disabled")))
    shown.value(press.format("Reload", "click()"))
    shown.tab.type("reload")
    shown.tab.key("Enter", 13)
    shown.shows("is in force")
    assert agent.admin("GET", "/admin/v1/status").body["generation"] != before


def test_a_canary_is_begun_seen_side_by_side_and_promoted(page, agent):
    people(agent)
    shown = page("operator")
    shown.go("policies")
    shown.shows("Try an invitation")
    press = "[...document.querySelectorAll('button')].find(e => e.innerText === '{}').{}"
    assert shown.value(press.format("Canary", "disabled"))
    (agent.folder / "plugins" / "support.lua").write_text(BUSY)
    shown.value(press.format("Replay yesterday and today", "click()"))
    shown.shows("would change")
    shown.value("document.querySelector('input[name=canary]').value = 'support*'")
    shown.value(press.format("Canary", "click()"))
    shown.tab.type("support*")
    shown.tab.key("Enter", 13)
    shown.shows("decides for support*")
    shown.shows("Side by side")
    found = agent.admin("GET", "/admin/v1/plugins").body["canary"]
    shown.value(press.format("Promote", "click()"))
    shown.tab.type(found["generation"][:12])
    shown.tab.key("Enter", 13)
    shown.shows("is in force")
    status = agent.admin("GET", "/admin/v1/status").body
    assert status["generation"] == found["generation"]
    assert shown.value("wrong") == []


def test_a_page_that_nobody_sees_asks_nothing(page, browser, agent):
    shown = page("viewer")
    shown.shows("It takes calls")
    browser.tab("about:blank")
    wait_for("hiding", lambda: shown.value("document.hidden"))
    count = "performance.getEntriesByType('resource').length"
    # What is under way ends.
    wait_for("rest", lambda: shown.value(count) == shown.value(
        f"new Promise(r => setTimeout(() => r({count}), 4000))"))
    browser.show(shown.tab)
    people(agent)
    shown.shows("support")


def test_it_comes_back_when_the_server_does(page, agent):
    shown = page("viewer")
    shown.shows("It takes calls")
    agent.crash()
    shown.shows("does not answer")
    # Whoever looks now must not read that all is well.
    shown.shows("what stands here is of")
    assert shown.value("document.getElementById('main').classList.contains('old')")
    verdict = ("[...document.querySelectorAll('.mark')].map("
               "(one) => getComputedStyle(one, '::before').content)")
    assert shown.value(verdict) == ['"Before: "']
    agent.start()
    shown.shows("It takes calls")
    wait_for("no trouble", lambda: shown.value("document.getElementById('trouble').hidden"))
    wait_for("a verdict of now", lambda: shown.value(verdict) == ["none"])


def test_a_bad_token_leads_to_the_door(browser, console):
    shown = Page(browser, f"http://127.0.0.1:{console.port}/#token=x.y.z")
    shown.shows("Sign in")
    shown.tab.type(console.viewer)
    shown.tab.key("Enter", 13)
    shown.shows("vera, viewer")


def test_files_have_tags_and_types(console):
    for path, kind in (("/", "text/html"), ("/console.css", "text/css"),
                       ("/main.js", "text/javascript")):
        reply = console.request("GET", path)
        assert reply.status == 200 and reply.headers["Content-Type"].startswith(kind)
        again = console.request("GET", path, headers={"If-None-Match": reply.headers["ETag"]})
        assert again.status == 304 and again.text == ""
    assert console.request("GET", "/../main.js").status == 404
    assert console.request("POST", "/").status == 405


def test_help_is_plain_and_complete(page, console):
    shown = page("viewer")
    shown.shows("It takes calls")
    shown.tab_to("Help")
    shown.tab.key("Enter", 13)
    shown.shows("The console")
    assert shown.value("document.scripts.length") == 0
    links = shown.value("[...document.querySelectorAll('a')].map(e => new URL(e.href).pathname)")
    assert "/help/Configuration" in links
    assert "/help/site/" in links
    # Pages are named as they name themselves, not as their files are.
    assert "Policies in operation" in shown.text and "PoliciesInOperation" not in shown.text
    # What is below that is on disk: see test_help.
    for path in {path for path in links if not path.startswith("/help/site/")}:
        assert console.request("GET", path).status == 200, path
    text = console.request("GET", "/help/Operating").text
    assert "<table>" in text and "<!--" not in text and "<doc:" not in text and "```" not in text
    if AXE:
        assert shown.tab.faults() == []
    shown.tab.size(320, dark=True)
    assert shown.value("document.documentElement.scrollWidth - innerWidth") <= 0


# callagent console

@contextlib.contextmanager
def proxy(agent, *options):
    """`callagent console` as somebody on the machine starts it, and the address that it prints."""
    process = subprocess.Popen(
        [os.environ["CALLAGENT"], "console", *options], cwd=agent.folder, text=True,
        env=agent.environment, stdout=subprocess.PIPE)
    try:
        line = process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#token=(\S+)", line)
        assert found, line
        made = Console(agent, int(found[1]))
        made.operator = made.viewer = found[2]
        yield made, line
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_it_needs_no_configuration(make_agent, browser):
    agent = make_agent(SUPPORT, {"support": ACCEPT}).start()
    with proxy(agent) as (console, line):
        assert console.get("/status").status == 401
        assert console.get("/status", token="x").status == 401
        assert console.get("/status", token=console.operator).body["you"]["role"] == "operator"
        assert console.get(
            "/status", token=console.operator, headers={"Host": "evil.example"}).status == 403
        shown = Page(browser, line)
        shown.shows("It takes calls")
        reply = console.request("POST", "/admin/v1/reload", {}, token=console.operator)
        assert reply.status == 200, reply.text
        lines = agent.admin("GET", "/admin/v1/audit").body["items"]
        assert lines[0]["who"].startswith("unix:") and lines[0]["role"] == "operator"
    with pytest.raises(OSError):
        console.get("/status")


def test_it_says_that_no_server_answers(make_agent):
    """Whoever opened its address would see nothing."""
    agent = make_agent()
    code, text = agent.tool("console")
    assert code == 3 and "nobody answers" in text and "'callagent run' starts" in text, text
    assert "http://" not in text


def test_it_says_that_a_server_is_gone(make_agent):
    agent = make_agent().start()
    agent.crash()
    code, text = agent.tool("console")
    assert code == 3 and "nobody answers" in text and "'callagent run' starts" in text, text
    assert "http://" not in text


def test_it_can_only_look(make_agent):
    agent = make_agent(SUPPORT, {"support": ACCEPT}).start()
    port = free_port()
    with proxy(agent, "--viewer", "--port", str(port)) as (console, _):
        assert console.port == port
        assert console.get("/status", token=console.viewer).body["you"]["role"] == "viewer"
        for headers in ({}, {"X-Role": "operator"}):
            assert console.request(
                "POST", "/admin/v1/reload", {}, token=console.viewer, headers=headers).status == 403
