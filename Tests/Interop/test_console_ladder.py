"""The ladder of a call on the screen is what a scenario expects, and a replay is the tool's."""

import json
import pathlib
import re

import pytest

from agent import wait_for
from browser import needs_browser
from calls import invite
from console import ROLES, Console, agent, console, port, token
from support import ACCEPT, SUPPORT, call, rewrite
from test_console import Page, browser, page

pytestmark = needs_browser
SCENARIOS = pathlib.Path(__file__).parents[1] / "CallCoreTests" / "Scenarios"
WORD = r"[\w/]+"
# What this test can play of a scenario, and what each expectation says.
STEPS = {
    rf"(?P<who>{WORD}) invites (?P<whom>\w+(?:, \w+)*) as c1(?: mode (?P<mode>\w+))?": "invite",
    rf"(?P<who>{WORD}) (?P<op>accepts|rejects|ends|leaves|cancels) c1": "act"}
OPS = {"accepts": "accept", "rejects": "reject", "ends": "end", "leaves": "leave",
       "cancels": "cancel"}
EVENTS = ("incoming", "changed", "ended", "elsewhere", "cancelled", "created")
PLAYED = (
    "accept-here-reject-there", "advanced-cancel-all-after-an-accept", "direct-dial-withdrawn",
    "first-accept-wins", "group-last-one-leaves-while-others-ring",
    "managed-last-one-leaves-after-the-caller", "ringing-call-rejected",
    "caller-leaves-while-ringing")


class Scenario:
    """A `.call` file: its devices, its steps, and what everybody is told after each."""

    def __init__(self, name):
        lines = (SCENARIOS / f"{name}.call").read_text().splitlines()
        self.people, self.steps = [], []
        for line in lines:
            if line.startswith("with "):
                self.people = line.removeprefix("with ").split(", ")
            elif told := re.match(rf"    ({WORD}) +← (\w+) c1", line):
                if told[2] in EVENTS:
                    self.steps[-1][1].append((device(told[1]), f"call.{told[2]}"))
            elif line and not line.startswith((" ", "#")) and not line.endswith(" pass"):
                self.steps.append((line, []))

    def play(self, agent):
        """Plays it; returns the call's id."""
        devices = {one: agent.connect(*device(one).split("/"), token=token(one.split("/")[0]))
                   for one in self.people}
        call_id = None
        for line, told in self.steps:
            found, kind = next((found, kind) for pattern, kind in STEPS.items()
                               if (found := re.fullmatch(pattern, line)))
            who = devices[found["who"]]
            if kind == "invite":
                more = {"mode": found["mode"]} if found["mode"] else {}
                call_id = invite(who, *found["whom"].split(", "), **more)
            else:
                who.ask(f"call.{OPS[found['op']]}", call_id=call_id)
            for name, event in told:
                (one,) = [one for one in self.people if device(one) == name]
                devices[one].event(event)
        return call_id


def device(name):
    """As the console names it."""
    return name if "/" in name else f"{name}/phone"


LADDER = """[...document.querySelectorAll('ol.ladder li')].map((row) =>
    [row.dataset.kind, row.lastElementChild.innerText])"""


def by_device(events):
    """What each device is told, in its order; among devices there is none."""
    found = {}
    for name, event in events:
        found.setdefault(name, []).append(event)
    return found


def steps(shown):
    """After each request of the screen: what each device was told."""
    found = []
    for kind, text in shown.value(LADDER):
        if kind == "request":
            found.append([])
        elif kind == "told":
            found[-1].append(re.match(rf"({WORD}) was told (call\.\w+)", text).groups())
    return [by_device(one) for one in found]


def shows_steps(shown, expected):
    shown.shows("asked for call.invite")
    wait_for("the ladder", lambda: len(steps(shown)) == len(expected))
    assert steps(shown) == expected


@pytest.mark.parametrize("name", PLAYED)
def test_the_ladder_is_what_the_scenario_expects(page, agent, console, name):
    scenario = Scenario(name)
    call_id = scenario.play(agent)
    shown = page("viewer")
    shown.go(f"call/{call_id}")
    expected = [by_device(told) for _, told in scenario.steps]
    assert sum(map(len, expected)) >= 3
    shows_steps(shown, expected)
    # All in the order in which it happened, though much of it is of the same millisecond.
    entries = console.get(f"/calls/{call_id}/journal", token=console.viewer).body["items"]
    moments = [one["at"] for one in entries]
    assert moments == sorted(moments) and len(set(moments)) < len(moments)
    ladder = shown.value(LADDER)
    assert [kind for kind, _ in ladder] == [one["kind"] for one in entries]
    # What was written by then outlives a crash; that happens soon.
    file = agent.folder / "state" / "journal.jsonl"
    wait_for("the file", lambda: file.exists() and call_id in file.read_text())
    agent.crash()
    agent.start()
    again = page("viewer")
    again.go(f"call/{call_id}")
    shows_steps(again, expected)
    assert again.value(LADDER)[:len(ladder)] == ladder


@pytest.fixture
def delivering(make_agent, double, port):
    """A server with pushes and webhooks, whose phones are away."""
    config = (ROLES + double.push_config + double.hook_config("crm")
              + f'console = {{ listen = "127.0.0.1:{port}" }}\n')
    return make_agent(config, environment=double.environment).start()


def test_pushes_and_events_are_hidden_and_shown_again(delivering, browser, port):
    reply = delivering.request(
        "POST", "/v1/device/push_register", json.dumps({"provider": "fcm", "token": "of-bob"}),
        {"Authorization": f"Bearer {token('bob')}", "X-Device": "phone"})
    assert reply.status == 200, reply.text
    ann = delivering.connect("ann", token=token("ann"))
    call_id = invite(ann, "bob", mode="advanced")
    ann.ok("call.end", call_id=call_id)
    shown = Page(browser, f"http://127.0.0.1:{port}/#token={token('vera', 'viewer')}")
    shown.go(f"call/{call_id}")
    kinds = "[...document.querySelectorAll('ol.ladder li')].map((row) => row.dataset.kind)"
    wait_for("what was delivered", lambda: {"push", "webhook"} <= set(shown.value(kinds)))
    whole = shown.value(kinds)
    # Which event it was: else its lines are all alike.
    shown.shows("event call.created to crm delivered")
    assert "event call.created to crm delivered" in delivering.tool("explain", call_id)[1]
    tick = ("[...document.querySelectorAll('label.tick')]"
            ".find((one) => one.innerText === '{}').querySelector('input').click()")
    shown.value(tick.format("Pushes"))
    assert shown.value(kinds) == [kind for kind in whole if kind != "push"]
    shown.value(tick.format("Webhooks"))
    assert shown.value(kinds) == [kind for kind in whole if kind not in ("push", "webhook")]
    for name in ("Pushes", "Webhooks"):
        shown.value(tick.format(name))
    assert shown.value(kinds) == whole


# Replay

CHANGED = """on.invite(function(call)
  if call.caller.id == "ben" then return reject "busy" end
  return accept {}
end)
"""
DIFFERENCES = """[...document.querySelectorAll('table')]
    .find((one) => one.caption.innerText === 'Differences side by side')?.tBodies[0]
    && [...[...document.querySelectorAll('table')]
        .find((one) => one.caption.innerText === 'Differences side by side').tBodies[0].rows]
        .map((row) => [row.cells[0].querySelector('a').title, row.cells[1].innerText,
            row.cells[2].innerText, row.cells[3].innerText])"""


def tool_differences(agent):
    """What `callagent replay` says: call, account, what was and what would be."""
    _, output = agent.tool("replay")
    found = re.findall(
        r"([0-9a-f]{32})[^\n]*?(\w+)[^\n]*\n\s+- ([^\n]*)\n\s+\+ ([^\n]*)", output)
    return output, {call_id: (before, after) for call_id, _, before, after in found}


def test_what_is_not_taken_is_not_shown_as_well(delivering, double, browser, port):
    double.plan("crm", {"status": 500})
    call_id = invite(delivering.connect("ann", token=token("ann")), "bob", mode="advanced")
    shown = Page(browser, f"http://127.0.0.1:{port}/#token={token('vera', 'viewer')}")
    shown.go(f"call/{call_id}")
    shown.shows("event call.created to crm not taken yet: status 500")
    assert shown.value("[...document.querySelectorAll('li.webhook span.good')].length") == 0
    assert "to crm not taken yet: status 500" in delivering.tool("explain", call_id)[1]
    shown.go("deliveries")
    shown.shows("takes none")
    assert "keeps up" not in shown.text


def test_a_replay_shows_what_the_tool_shows(make_agent, browser, port):
    agent = make_agent(SUPPORT + f'console = {{ listen = "127.0.0.1:{port}" }}\n' + ROLES,
                       {"support": ACCEPT}).start()
    ids = {}
    for name in ("ann", "ben", "cid", "ben"):
        caller = agent.connect(name, token=token(name), device=f"phone-{len(ids)}")
        ids.setdefault(name, []).append(invite(caller, "support", mode="advanced"))
        caller.event("call.changed")
    rewrite(agent, CHANGED)
    output, wanted = tool_differences(agent)
    assert set(wanted) == set(ids["ben"]), output
    shown = Page(browser, f"http://127.0.0.1:{port}/#token={token('olga', 'operator')}")
    shown.go("policies")
    shown.shows("Replay yesterday and today")
    before = agent.admin("GET", "/admin/v1/status").body["generation"]
    press = "[...document.querySelectorAll('button')].find(e => e.innerText === '{}').click()"
    shown.value(press.format("Replay yesterday and today"))
    rows = wait_for("differences", lambda: shown.value(DIFFERENCES))
    assert {row[0]: (row[2], row[3]) for row in rows} == wanted
    # It is shown, and nothing of it is in force before somebody says so.
    assert agent.admin("GET", "/admin/v1/status").body["generation"] == before
    caller = agent.connect("ben", token=token("ben"), device="another")
    invite(caller, "support", mode="advanced")
    assert caller.event("call.changed")["changes"][0]["state"] == "joined"
    shown.value(press.format("Reload"))
    shown.tab.type("reload")
    shown.tab.key("Enter", 13)
    shown.shows("is in force")
    invite(caller, "support", mode="advanced")
    assert caller.event("call.changed")["changes"][0]["reason"] == "busy"
