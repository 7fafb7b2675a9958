"""The console for everybody, and its help: what a screen opens, and every page of documentation."""

import contextlib
import json
import os
from urllib.parse import quote

import pytest

from agent import wait_for
from browser import AXE, LOOKS, PATIENCE, Browser, needs_browser
from console import agent, console, port, token
from support import BUSY
from test_console import Page, browser, page, people
from test_help import SITE, serve, site

pytestmark = [
    needs_browser, pytest.mark.skipif(AXE is None, reason="no axe: see run.sh")]
FULL = bool(os.environ.get("CALLAGENT_FULL"))
SEEN = """[...document.querySelectorAll('[hidden]')].filter((one) => one.checkVisibility())
    .map((one) => one.outerHTML.slice(0, 80))"""
PRESS = "[...document.querySelectorAll('button')].find((one) => one.innerText === '{}').click()"


def unfit(tab, screen):
    """What of it keeps anybody out, however wide it is, light and dark."""
    found = {}
    for width, dark in LOOKS:
        tab.size(width, dark)
        # Colours on their way from one theme to the other are nobody's choice.
        wait_for("rest", lambda: tab.evaluate(
            "document.getAnimations().every((one) => one.playState !== 'running')"))
        over = tab.evaluate("document.documentElement.scrollWidth - innerWidth")
        faults = tab.faults() + ([["too wide", over]] if over > 0 else [])
        if seen := tab.evaluate(SEEN):
            faults.append(["is hidden, and seen", seen])
        if faults:
            found[screen, width, "dark" if dark else "light"] = faults
    return found


def fit(tab, screen):
    assert unfit(tab, screen) == {}


def press(shown, name):
    wait_for(f"the button {name}", lambda: shown.value(
        f"[...document.querySelectorAll('button')].some((one) => one.innerText === '{name}')"))
    shown.value(PRESS.format(name))


def test_the_door_is_fit(browser, console):
    shown = Page(browser, f"http://127.0.0.1:{console.port}/#token=x.y.z")
    shown.shows("Sign in")
    fit(shown.tab, "the door")


def test_what_a_screen_opens_is_fit(page, agent):
    _, _, call_id = people(agent)
    (agent.folder / "plugins" / "support.lua").write_text(BUSY)
    agent.admin("POST", "/admin/v1/reload", {})
    # What is replayed below is what becomes a canary: not what is in force already.
    with open(agent.folder / "plugins" / "support.lua", "a") as file:
        file.write("-- and one more line\n")
    shown = page("operator")
    shown.go("policies")
    shown.shows("Try an invitation")
    for name, words in (("Source", "callagent.lua of"), ("plugins/support.lua", "support.lua of"),
                        ("Run its tests and mark lines that did not run", "passed,"),
                        ("Differences", "From this one to the one in force"),
                        ("Replay yesterday and today", "asked again")):
        press(shown, name)
        shown.shows(words)
        fit(shown.tab, name)
    shown.value("document.querySelector('input[name=to]').value = 'support'")
    shown.value("document.querySelector('details').open = true")
    press(shown, "Try")
    shown.shows("reject")
    fit(shown.tab, "Try")
    press(shown, "Reload")
    shown.shows("Type")
    fit(shown.tab, "the dialog")
    shown.tab.key("Escape", 27)
    shown.value("document.querySelector('input[name=canary]').value = 'support*'")
    press(shown, "Canary")
    shown.tab.type("support*")
    shown.tab.key("Enter", 13)
    shown.shows("Side by side")
    fit(shown.tab, "a canary")
    shown.go("health")
    press(shown, "Look the installation over")
    shown.shows("Calls can work.")
    fit(shown.tab, "the whole doctor")
    shown.go("people/carl")
    press(shown, "Why did it not ring?")
    shown.shows("no device was connected")
    fit(shown.tab, "why")
    shown.go(f"call/{call_id}")
    press(shown, "End the call")
    shown.shows("Type")
    fit(shown.tab, "the end of a call")
    assert shown.value("wrong") == []


def test_trouble_is_fit(page, agent):
    shown = page("viewer")
    shown.shows("It takes calls")
    agent.crash()
    shown.shows("does not answer")
    fit(shown.tab, "without its server")


# Its help

def paths_of_help(shown):
    return shown.value("[...document.querySelectorAll('a')].map((one) =>"
                       " new URL(one.href).pathname)")


def test_pages_of_help_are_fit(page, console):
    shown = page("viewer")
    begin = f"http://127.0.0.1:{console.port}"
    seen, wanted = set(), {"/help/Operating"}
    while wanted - seen:
        path = sorted(wanted - seen)[0]
        shown.tab.command("Page.navigate", url=begin + path)
        wait_for(path, lambda path=path: shown.value(
            f"location.pathname === '{path}' && document.querySelector('h1') !== null"))
        if FULL or len(seen) % 4 == 0:
            fit(shown.tab, path)
        seen.add(path)
        wanted |= {one for one in paths_of_help(shown)
                   if one.startswith("/help/") and not one.startswith("/help/site/")}
    assert {"/help/Operating", "/help/Configuration", "/help/Webhooks"} <= seen


def pages(site):
    """The pages that people wrote, and one of each kind of what was made of the sources; without
    CALLAGENT_FULL some of them."""
    kinds = {}
    for path in sorted((site / "data" / "documentation").rglob("*.json")):
        about = json.loads(path.read_text())["metadata"]
        page = str(path.relative_to(site / "data").with_suffix(""))
        written = about["role"] != "symbol"
        kinds.setdefault(page if written else about["symbolKind"], page)
    found = sorted(kinds.values())
    return found if FULL else found[::len(found) // 2]


def test_pages_of_the_site_are_fit(serve, site, tmp_path):
    console = serve(site)
    found = {}
    with contextlib.closing(Browser(tmp_path / "profile")) as browser:
        tab = browser.tab(f"http://127.0.0.1:{console.port}/help/site/documentation/")
        wanted = pages(site)
        assert len(wanted) > (60 if FULL else 1)
        for path in wanted:
            address = f"/help/site/{quote(path)}/"
            tab.command("Page.navigate", url=f"http://127.0.0.1:{console.port}{address}")
            wait_for(address, lambda address=address: tab.evaluate(
                f"location.pathname === '{address}' && document.querySelector('h1') !== null"),
                patience=PATIENCE, pause=0.05)
            found |= unfit(tab, address)
    assert found == {}
