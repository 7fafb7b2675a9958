"""A person is forgotten: what is kept names nobody in their place."""

import base64
import itertools
import json
import random
import re
import sqlite3
import urllib.parse

import pytest

from agent import free_port, job_end, wait_for
from calls import invite
from console import ROLES, Console, token
from support import ACCEPT, SUPPORT
from test_names import named
from test_push import register, settled

WHO = "carol.the-forgotten"
SUBSTITUTE = re.compile(r"deleted:[0-9]{16}")


def talk(agent, caller, callee, **data):
    """A call that is over; returns its id."""
    call_id = invite(caller, callee.user, mode="advanced", **data)
    callee.event("call.incoming")
    callee.ok("call.accept", call_id=call_id, extended_data="said by the callee")
    caller.ok("call.end", call_id=call_id)
    caller.forget()
    callee.forget()
    return call_id


def result(agent, reply):
    """What came of a job."""
    state = job_end(reply, lambda path: agent.admin("GET", "/admin/v1" + path))
    assert state["state"] == "done", state
    return state["result"]


def forget(agent, user=WHO):
    return result(agent, agent.admin("POST", f"/admin/v1/users/{user}/forget"))


def kept(agent):
    """All that the folder of a server that has ended keeps, as text, without the audit."""
    state = agent.folder / agent.state
    found = []
    for path in sorted(state.glob("*.jsonl*")):
        if path.name.startswith("audit"):
            continue
        for line in path.read_text().splitlines():
            read = json.loads(line)
            # Journals are packed, and so are copies of what plugins keep.
            packed = read.get("entries") or (read["data"] if "data" in read else "")
            found.append(line + base64.b64decode(packed).decode(errors="replace"))
    store = sqlite3.connect(state / "callagent.db")
    tables = [name for (name,) in store.execute(
        "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE TABLE%'")]
    assert "ended_call" in tables
    for table in tables:
        for row in store.execute(f"SELECT * FROM {table}"):
            found.append(table + " " + " ".join(
                one.decode(errors="replace") if isinstance(one, bytes) else str(one)
                for one in row))
    store.close()
    return found


def names(agent, *words):
    return [one for one in kept(agent) if any(word in one for word in words)]


def shown(agent, call_id):
    """All that the management API tells of a call, as text."""
    paths = [f"/calls/{call_id}", f"/calls/{call_id}/journal", f"/calls/{call_id}/explain",
             "/history", "/calls?after=0", "/pushes", f"/decisions?call_id={call_id}"]
    replies = [agent.admin("GET", "/admin/v1" + path) for path in paths]
    assert all(reply.status == 200 for reply in replies), [one.text for one in replies]
    return "\n".join(reply.text for reply in replies)


def test_nothing_that_is_kept_names_the_person(make_agent):
    agent = make_agent(SUPPORT, {"support": ACCEPT}).start()
    carol, bob = named(agent, WHO, "Carol Smith", "carols-phone"), agent.connect("bob")
    agent.admin("GET", "/admin/v1/calls?after=0")
    first = talk(agent, carol, bob, extended_data="said by Carol Smith")
    second = talk(agent, bob, carol)
    invite(carol, "support")
    carol.ok("call.end", call_id=carol.events("call.changed")["call.changed"]["call_id"])
    third = talk(agent, bob, agent.connect("dave"))
    missed = invite(bob, WHO, mode="advanced")
    bob.ok("call.cancel", call_id=missed)
    before = shown(agent, first)
    assert WHO in before and "carols-phone" in before and "said by Carol" in before
    done = forget(agent)
    assert done["calls"] == 4 and done["decisions"] > 0 and done["journals"] > 0, done
    assert carol.closed() == 4001
    for call_id in (first, second, missed):
        told = shown(agent, call_id)
        assert WHO not in told and "carols-phone" not in told and "Carol Smith" not in told
        (substitute,) = set(SUBSTITUTE.findall(told))
    assert len(set(SUBSTITUTE.findall(shown(agent, first)))) == 1
    history = agent.admin("GET", f"/admin/v1/history?user={substitute}").body["items"]
    assert {one["call_id"] for one in history} >= {first, second, missed}
    assert agent.admin("GET", f"/admin/v1/history?user={WHO}").body["items"] == []
    # What others said and did is theirs.
    listed = agent.post("call.list", "bob", {}).body["calls"]
    assert {first, second, third} <= {one["call_id"] for one in listed}
    assert listed[0]["call_id"] == missed and WHO not in json.dumps(listed)
    assert "said by the callee" in json.dumps(listed)
    assert "said by Carol" not in json.dumps(listed)
    # Who comes back is somebody new.
    again = agent.connect(WHO)
    assert again.ok("call.list")["calls"] == [] and "missed" not in again.hello
    assert agent.post("user.get", "bob", {"users": [WHO]}).body["users"] == []
    again.close()
    assert agent.stop() == 0
    assert names(agent, WHO, "Carol Smith", "carols-phone") == []
    assert names(agent, substitute)


def test_no_copy_of_a_plugins_state_names_the_person(make_agent):
    keeps = ACCEPT.replace("return accept", "state.last = call.caller.id\n  return accept")
    agent = make_agent(SUPPORT, {"support": keeps}).start()
    for user in (WHO, "bob", "dave"):
        device = agent.connect(user)
        call_id = invite(device, "support", mode="advanced")
        device.event("call.changed")
        device.ok("call.end", call_id=call_id)
        device.close()
    path = agent.folder / agent.state / "states.jsonl"
    wait_for("both copies", lambda: path.exists() and path.read_text().count("\n") == 2)
    assert forget(agent)["states"] == 1
    assert agent.stop() == 0
    assert names(agent, WHO) == []
    assert [one for one in names(agent, '"state":"') if "bob" in one]


def test_what_comes_late_of_a_push_names_nobody(pusher, double):
    agent = pusher()
    register(agent, WHO, "phone", "fcm", "carol-1")
    double.plan("carol-1", {"delay": 3.0})
    alice = agent.connect("alice")
    call = invite(alice, WHO, mode="advanced")
    wait_for("the push", lambda: any(one["subject"] == "carol-1" for one in double.seen()))
    alice.ok("call.cancel", call_id=call)
    forget(agent)
    # That of the invitation, and that of its end.
    assert agent.metrics()["callagent_pushes"] == 2, "nothing has come of them yet"
    settled(agent, sent=2)
    said = wait_for("the outcome", lambda: "fcm" in (
        text := agent.tool("explain", call, "--json")[1]) and text)
    assert WHO not in said and SUBSTITUTE.search(said), said
    assert WHO not in agent.admin("GET", "/admin/v1/pushes").text
    assert agent.stop() == 0
    assert WHO not in kept(agent)


def test_registrations_and_what_was_pushed_go(pusher, double):
    agent = pusher()
    register(agent, WHO, "carols-phone", "fcm", "carols-token")
    register(agent, "bob", "phone", "fcm", "bobs-token")
    ann = agent.connect("ann")
    for sent, user in ((1, WHO), (3, "bob")):
        call_id = invite(ann, user, mode="advanced")
        settled(agent, sent=sent)
        ann.ok("call.cancel", call_id=call_id)
        settled(agent, sent=sent + 1)
        ann.forget()
    assert WHO in agent.admin("GET", "/admin/v1/pushes").text
    forget(agent)
    pushes = agent.admin("GET", "/admin/v1/pushes").text
    assert WHO not in pushes and "bob" in pushes
    assert agent.admin("GET", f"/admin/v1/users/{WHO}").body["registrations"] == []
    assert len(agent.admin("GET", "/admin/v1/users/bob").body["registrations"]) == 1
    double.seen()
    ann.ok("call.cancel", call_id=invite(ann, WHO, mode="advanced"))
    ann.close()
    assert agent.stop() == 0
    assert double.seen() == [], "nobody is woken who was forgotten"
    assert names(agent, "carols-token", "carols-phone") == []


def test_webhooks_that_were_sent_are_kept_no_more(make_agent, double):
    agent = make_agent(
        double.hook_config("crm"), environment=double.environment).start()
    carol, bob = agent.connect(WHO), agent.connect("bob")
    first = talk(agent, carol, bob)
    other = talk(agent, bob, agent.connect("dave"))
    wait_for("8 events", lambda: agent.metrics()["callagent_webhooks_delivered_total"] == 8)
    assert forget(agent)["webhooks"] == 4
    for call_id, count in ((first, 0), (other, 4)):
        path = f"/admin/v1/webhooks?state=delivered&call_id={call_id}"
        assert len(agent.admin("GET", path).body["items"]) == count


def test_an_id_of_nothing_but_signs_is_forgotten_too(make_agent, double):
    """An id may have quotes and backslashes, which are written in another way in every place."""
    who = '"x\\\\"%2F\\\'$&<y>'
    agent = make_agent(
        SUPPORT + double.hook_config("crm"), {"support": ACCEPT},
        environment=double.environment).start()
    signs, bob = agent.connect(who), agent.connect("bob")
    first = talk(agent, bob, signs)
    invite(signs, "support")
    signs.ok("call.end", call_id=signs.events("call.changed")["call.changed"]["call_id"])
    wait_for("the events", lambda: agent.metrics()["callagent_webhooks_delivered_total"] >= 6)
    wait_for("all of them", lambda: agent.admin(
        "GET", "/admin/v1/status").body["figures"]["webhooks_open"] == 0)
    done = forget(agent, urllib.parse.quote(who, safe=""))
    assert done["calls"] == 2 and done["webhooks"] >= 6 and done["decisions"] > 0, done
    told = [json.loads(line) for line in shown(agent, first).splitlines()]
    assert who not in texts(told) and SUBSTITUTE.search(json.dumps(told))
    agent.stop()
    for line in kept(agent):
        assert who not in line and json.dumps(who)[1:-1] not in line, line


def texts(value):
    """All texts in a JSON value."""
    if isinstance(value, dict):
        return [one for pair in value.items() for part in pair for one in texts(part)]
    if isinstance(value, list):
        return [one for part in value for one in texts(part)]
    return [value] if isinstance(value, str) else []


def test_a_live_call_is_in_the_way(agent):
    carol, bob, dave = agent.connect(WHO), agent.connect("bob"), agent.connect("dave")
    call_id = invite(bob, WHO, "dave", mode="group")
    dave.event("call.incoming")
    dave.ok("call.accept", call_id=call_id)
    carol.ok("call.reject", call_id=call_id)  # in it no more, and it names her
    reply = agent.admin("POST", f"/admin/v1/users/{WHO}/forget")
    assert reply.status == 409 and call_id in reply.text, reply.text
    assert agent.tool("forget", WHO, "--yes")[0] == 1
    assert agent.admin("GET", f"/admin/v1/users/{WHO}").body["online"] is True
    assert agent.admin("POST", f"/admin/v1/calls/{call_id}/end").status == 200
    assert forget(agent)["calls"] == 1
    assert WHO not in shown(agent, call_id)


def test_the_tool_asks_whether_it_is_meant(agent):
    talk(agent, agent.connect(WHO), agent.connect("bob"))
    code, output = agent.tool("forget", WHO)
    assert code == 2 and "--yes" in output, output
    assert agent.admin("GET", f"/admin/v1/history?user={WHO}").body["items"] != []
    code, output = agent.tool("forget", WHO, "--yes")
    assert code == 0 and output.startswith(f"{WHO} is forgotten (calls 1, "), output
    assert agent.admin("GET", f"/admin/v1/history?user={WHO}").body["items"] == []
    # Nobody can be told from a person who was never there.
    assert agent.tool("forget", "nobody", "--yes")[0] == 0


@pytest.mark.parametrize("user", ["group:sales", "deleted:0123456789012345"])
def test_only_people_are_forgotten(agent, user):
    assert agent.admin("POST", f"/admin/v1/users/{user}/forget").status == 400
    assert agent.admin("GET", f"/admin/v1/users/{WHO}/forget").status == 405


def test_a_viewer_forgets_nobody(make_agent):
    port = free_port()
    agent = make_agent(ROLES + f'console = {{ listen = "127.0.0.1:{port}" }}\n').start()
    console = Console(agent, port)
    path = f"/admin/v1/users/{WHO}/forget"
    assert console.request("POST", path, {}, token("vera", "viewer")).status == 403
    assert console.request("POST", path, {}).status == 401
    assert console.request("POST", path, {}, console.operator).status == 202
    audit = wait_for("the audit", lambda: [
        one for one in agent.admin("GET", "/admin/v1/audit").body["items"] if one["path"] == path])
    assert ("olga", 202) in [(one["who"], one["status"]) for one in audit]


def test_revocations_stay(make_agent):
    agent = make_agent(ROLES).start()
    old = token(WHO)
    agent.connect(WHO, token=old)
    assert agent.admin("POST", "/admin/v1/revoke", {"user": WHO}).status == 200
    forget(agent)
    headers = {"Authorization": f"Bearer {old}", "Content-Type": "application/json"}
    assert agent.request("POST", "/v1/call/list", "{}", headers).status == 401


def test_a_key_of_before_is_another_request(agent):
    carol, bob = agent.connect(WHO), agent.connect("bob")
    before = agent.post("call.invite", WHO, {"invitees": ["bob"]}, key="k").body["call_id"]
    assert agent.post("call.invite", WHO, {"invitees": ["bob"]}, key="k").body["call_id"] == before
    bob.event("call.incoming")
    carol.ok("call.cancel", call_id=before)
    forget(agent)
    after = agent.post("call.invite", WHO, {"invitees": ["bob"]}, key="k").body["call_id"]
    assert after != before


def test_a_journal_in_memory_goes_too(make_agent):
    agent = make_agent('journal = { file = false }\n').start()
    call_id = talk(agent, agent.connect(WHO), agent.connect("bob"))
    forget(agent)
    assert WHO not in shown(agent, call_id)


def test_a_server_in_memory_forgets_too(make_agent):
    agent = make_agent('admin = "admin.sock"\n', state=":memory:").start()
    call_id = talk(agent, agent.connect(WHO), agent.connect("bob"))
    assert WHO in agent.tool("get", call_id)[1] and WHO in agent.tool("explain", call_id)[1]
    code, output = agent.tool("forget", WHO, "--yes")
    assert code == 0, output
    for command in ("get", "explain"):
        code, output = agent.tool(command, call_id)
        assert code == 0 and WHO not in output and SUBSTITUTE.search(output), output


def test_killed_in_the_middle_it_is_made_up(make_agent):
    """Whatever was done by then: from the answer on it is done."""
    agent = make_agent(SUPPORT, {"support": ACCEPT}).start()
    carol, bob = agent.connect(WHO), agent.connect("bob")
    for _ in range(120):
        talk(agent, carol, bob)
    carol.close()
    bob.close()
    reply = agent.admin("POST", f"/admin/v1/users/{WHO}/forget")
    assert reply.status == 202
    dice = random.Random(5)
    for _ in range(3):
        for _ in range(dice.randrange(4)):
            agent.admin("GET", "/admin/v1/status")
        agent.crash()
        agent.start()
    wait_for("an end", lambda: agent.admin(
        "GET", f"/admin/v1/history?user={WHO}").body["items"] == [])
    wait_for("no job", lambda: not pending(agent))
    history = []
    cursor = ""
    while cursor is not None:
        page = agent.admin("GET", f"/admin/v1/history?limit=100{cursor}").body
        history += page["items"]
        cursor = page["cursor"] and f"&cursor={page['cursor']}"
    assert len(history) == 120
    assert len(set(SUBSTITUTE.findall(json.dumps(history)))) == 1, "one substitute for all"
    assert agent.stop() == 0
    assert names(agent, WHO) == []


def large(agent, size):
    """Decisions of before, so many bytes of them, every third of which names the person."""
    path = agent.folder / agent.state / "decisions.jsonl"
    number = itertools.count()
    with open(path, "a") as file:
        while file.tell() < size:
            place = next(number)
            file.write(json.dumps({
                "at": 1_790_000_000_000 + place, "call": f"{place:032x}", "event": "invite",
                "user": f"dave-{place}" if place % 3 else WHO, "generation": "g", "took_ms": 1,
                "asked": [], "decision": {"action": "default"}}) + "\n")
    return path


def test_large_files_hold_up_nobody_and_a_crash_loses_nothing(make_agent):
    """While they are written again other decisions are; killed then, the old file is there."""
    agent = make_agent(SUPPORT, {"support": ACCEPT}).start()
    talk(agent, agent.connect(WHO), agent.connect("bob"))
    assert agent.stop() == 0
    path = large(agent, 30 << 20)
    before = path.stat().st_size
    new = path.with_name("decisions.jsonl.new")
    agent.start()
    ben = agent.connect("ben")
    assert agent.admin("POST", f"/admin/v1/users/{WHO}/forget").status == 202
    wait_for("a piece", lambda: new.exists() and new.stat().st_size > 0, pause=0.001)
    call_id = invite(ben, "support")
    wait_for("its decision", lambda: path.stat().st_size > before, pause=0.001)
    assert new.exists(), "the decision waited until the file was written again"
    agent.crash()
    with open(path) as file:
        assert sum(1 for line in file if WHO in line) > 10_000
    agent.start()
    wait_for("no job", lambda: not pending(agent), patience=120)
    assert agent.stop() == 0
    assert not new.exists() and names(agent, WHO) == []
    lines = path.read_text().splitlines()
    assert [json.loads(one)["call"] for one in lines].count(call_id) >= 1
    assert sum(1 for one in lines if SUBSTITUTE.search(one)) > 10_000


def pending(agent):
    """Whether somebody is still being forgotten."""
    store = sqlite3.connect(f"file:{agent.folder / agent.state}/callagent.db?mode=ro", uri=True)
    try:
        (count,) = store.execute(
            "SELECT count(*) FROM plugin_value WHERE plugin = '@forget'").fetchone()
        return count > 0
    finally:
        store.close()
