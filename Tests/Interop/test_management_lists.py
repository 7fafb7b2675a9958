"""Lists, streams and jobs of the management API."""

import json
import threading
import time

import pytest

from agent import job_end, wait_for
from calls import invite
from support import ACCEPT, BUSY, SUPPORT, call, rewrite


@pytest.fixture
def agent(make_agent):
    return make_agent(SUPPORT, {"support": ACCEPT}).start()


def ask(agent, path):
    reply = agent.admin("GET", "/admin/v1" + path)
    assert reply.status == 200, (path, reply.text)
    return reply.body


def every(agent, path):
    """All items of a list, page by page, and how many pages there were."""
    found, cursor, pages = [], None, 0
    while pages == 0 or cursor:
        more = "&" if "?" in path else "?"
        body = ask(agent, path + (f"{more}cursor={cursor}" if cursor else ""))
        found += body["items"]
        cursor = body["cursor"]
        pages += 1
    return found, pages


def job(agent, path, body=None):
    """Begins a job and waits for its end."""
    begun = agent.admin("POST", "/admin/v1" + path, body or {})
    return job_end(begun, lambda path: agent.admin("GET", "/admin/v1" + path))


def ring(agent, count):
    """So many calls that ring, the oldest first."""
    caller = agent.connect("ann")
    return [invite(caller, f"bob{number}", mode="common") for number in range(count)]


@pytest.mark.parametrize("path, good", [
    ("/calls", "0" * 32), ("/history", "0" * 32), ("/users", "bob"), ("/decisions", "0"),
    ("/log", "0"), ("/audit", "0"), ("/pushes", "0"), ("/generations", "0")])
def test_a_cursor_of_another_list_is_refused(agent, path, good):
    """Else the first page would be taken for the next one, again and again."""
    assert agent.admin("GET", f"/admin/v1{path}?limit=1&cursor={good}").status == 200
    for bad in ("-1", "a%20b", "null%2F%20"):
        reply = agent.admin("GET", f"/admin/v1{path}?limit=1&cursor={bad}")
        if path == "/users" and bad == "-1":
            continue  # somebody may be called so
        assert (reply.status, reply.body["error"]["detail"]) == (400, {"field": "cursor"}), bad


def test_live_calls_come_in_pages(agent):
    made = ring(agent, 7)
    found, pages = every(agent, "/calls?limit=3")
    assert [one["call_id"] for one in found] == made[::-1] and pages == 3
    found, pages = every(agent, "/calls?limit=7")
    assert len(found) == 7 and pages == 1
    found, _ = every(agent, "/calls?user=bob3")
    assert [one["call_id"] for one in found] == [made[3]]
    assert every(agent, "/calls?state=active")[0] == [] == every(agent, "/calls?mode=group")[0]
    assert len(every(agent, "/calls?state=ringing&mode=common")[0]) == 7
    # It may be a mode that the operator took away.
    assert every(agent, "/calls?mode=nonsense")[0] == []


def test_calls_go_on(agent):
    made = ring(agent, 1)
    after = ask(agent, "/calls")["after"]
    assert ask(agent, f"/calls?after={after}") == {"items": [], "after": after}
    answers = []
    waiting = threading.Thread(
        target=lambda: answers.append(ask(agent, f"/calls?after={after}&wait_ms=25000")))
    waiting.start()
    caller = agent.connect("carl")
    later = invite(caller, "dora", mode="common")
    waiting.join(20)
    (answer,) = answers
    assert [one["call_id"] for one in answer["items"]] == [later]
    assert answer["after"] > after and "reset" not in answer
    caller.ok("call.cancel", call_id=later, invitees=["dora"])
    news = ask(agent, f"/calls?after={answer['after']}&wait_ms=25000")
    assert {one["call_id"] for one in news["items"]} == {later}
    assert news["items"][-1]["state"] == "ended"
    assert made[0] not in json.dumps(news)
    begun = time.monotonic()
    ask(agent, f"/calls?after={news['after']}&wait_ms=300")
    assert time.monotonic() - begun > 0.25


def test_numbers_of_another_process_are_none(agent):
    ring(agent, 1)
    after = ask(agent, "/calls")["after"]
    for path in ("/calls", "/log", "/decisions"):
        for number in (1, after + 10**12):
            assert ask(agent, f"{path}?after={number}&wait_ms=20000")["reset"] is True, path
    agent.stop()
    agent.start()
    assert ask(agent, f"/calls?after={after}&wait_ms=20000")["reset"] is True


def test_waits_are_clamped_and_checked(agent):
    for query in ("wait_ms=-1", "wait_ms=x", "after=-1", "limit=0"):
        assert agent.admin("GET", f"/admin/v1/calls?{query}").status == 400, query
    assert len(ask(agent, "/log?limit=100000")["items"]) <= 500


def test_history_is_searched(agent):
    made = ring(agent, 5)
    caller = agent.connect("carl")
    support = invite(caller, "support", mode="advanced")
    wait_for("the answer", lambda: ask(agent, f"/calls/{support}")["call"]["state"] == "active")
    for one in made[:4]:
        assert agent.admin("POST", f"/admin/v1/calls/{one}/end", {"reason": "test"}).status == 200
    caller.ok("call.end", call_id=support)
    wait_for("history", lambda: len(every(agent, "/history")[0]) == 5)
    found, pages = every(agent, "/history?limit=2")
    assert [one["call_id"] for one in found] == [support, *made[3::-1]] and pages == 3
    assert [one["call_id"] for one in every(agent, "/history?user=bob2")[0]] == [made[2]]
    assert [one["call_id"] for one in every(agent, "/history?peer=support")[0]] == [support]
    assert len(every(agent, "/history?user=ann&peer=bob1")[0]) == 1
    assert len(every(agent, "/history?reason=policy")[0]) == 4
    assert len(every(agent, "/history?mode=common")[0]) == 4
    assert [one["call_id"] for one in every(agent, "/history?plugin=support")[0]] == [support]
    now = int(time.time() * 1_000)
    assert every(agent, f"/history?since_at={now + 60_000}")[0] == []
    assert len(every(agent, f"/history?until_at={now + 60_000}")[0]) == 5
    assert every(agent, "/history?longer_ms=3600000")[0] == []
    assert len(every(agent, "/history?shorter_ms=3600000")[0]) == 5
    assert agent.admin("GET", "/admin/v1/history?reason=nonsense").status == 400
    assert ask(agent, f"/calls/{made[0]}")["call"]["state"] == "ended"
    assert agent.admin("GET", "/admin/v1/calls/" + "0b" * 16).status == 404


def test_users_and_their_devices(agent):
    made = ring(agent, 2)
    phone = agent.connect("bob0", device="desk")
    found, _ = every(agent, "/users?limit=1")
    assert [one["user"] for one in found] == ["ann", "bob0", "bob1"]
    assert [one["user"] for one in every(agent, "/users?prefix=bob")[0]] == ["bob0", "bob1"]
    assert [one["user"] for one in every(agent, "/users?online=false")[0]] == ["bob1"]
    bob = ask(agent, "/users/bob0")
    assert bob["online"] is True and bob["calls"] == [made[0]]
    (device,) = bob["devices"]
    assert device["device"] == "desk" and device["connected"] is True
    assert len(device["session"]) < 10 and device["session"].endswith("…")
    assert device["address"] == "127.0.0.1" and device["sent"] >= 1
    assert "websockets" in device["agent"]
    assert ask(agent, "/users/nobody")["devices"] == []
    reply = agent.admin("POST", "/admin/v1/users/bob0/disconnect", {"device": "other"})
    assert reply.status == 404
    reply = agent.admin("POST", "/admin/v1/users/bob0/disconnect", {"device": "desk"})
    assert reply.body == {"closed": 1}
    assert phone.closed() is not None
    assert ask(agent, "/users/bob0")["devices"] == []
    assert agent.connect("bob0", device="desk").hello["calls"][0]["call_id"] == made[0]


def test_registrations_are_shown_shortened(agent):
    bob = agent.connect("bob")
    bob.ok("device.push_register", provider="fcm", token="a-very-long-token-of-a-phone")
    (found,) = ask(agent, "/users/bob")["registrations"]
    assert found["provider"] == "fcm" and found["token"] == "a-very…"


def test_decisions_are_filtered(agent):
    call_id, _ = call(agent, "ann")
    other, _ = call(agent, "carl")
    wait_for("decisions", lambda: len(ask(agent, "/decisions")["items"]) == 2)
    assert [one["call"] for one in every(agent, "/decisions?limit=1")[0]] == [other, call_id]
    for query, count in (
            (f"call_id={call_id}", 1), ("plugin=support", 2), ("plugin=x", 0), ("hook=invite", 2),
            ("hook=dial", 0), ("action=accept", 2), ("action=reject", 0), ("kind=error", 0),
            ("slower_ms=60000", 0), ("slower_ms=0", 2), ("user=support", 2)):
        assert len(ask(agent, f"/decisions?{query}")["items"]) == count, query


def test_the_log_is_read(agent):
    body = ask(agent, "/log")
    assert any(line["message"] == "ready" for line in body["items"])
    numbers = [line["n"] for line in every(agent, "/log?limit=1")[0]]
    assert numbers == sorted(numbers, reverse=True) and len(numbers) == len(set(numbers))
    assert all(line["level"] == "warn" for line in every(agent, "/log?level=warn")[0])
    after = body["after"]
    agent.admin("POST", "/admin/v1/reload", {})
    news = wait_for("news", lambda: ask(agent, f"/log?after={after}&wait_ms=20000")["items"])
    assert "reload" in json.dumps(news)
    assert ask(agent, f"/log?plugin=none&after={after}")["items"] == []


def test_generations_are_kept_and_compared(agent):
    old = ask(agent, "/generations")["items"][0]["generation"]
    rewrite(agent, BUSY)
    assert agent.admin("POST", "/admin/v1/reload", {}).status == 200
    marks = ask(agent, "/generations")["items"]
    assert [one["active"] for one in marks] == [True, False] and marks[1]["generation"] == old
    new = marks[0]["generation"]
    text = ask(agent, f"/generations/{old}/files/plugins%2Fsupport.lua")
    assert text["text"] == ACCEPT and text["path"] == "plugins/support.lua"
    assert ask(agent, f"/generations/{new}/files/plugins%2Fsupport.lua")["text"] == BUSY
    for path in (f"{old}/files/plugins%2Fother.lua", "nonsense/files/plugins%2Fsupport.lua",
                 f"{old}/files/..%2F..%2Fetc%2Fpasswd"):
        assert agent.admin("GET", f"/admin/v1/generations/{path}").status == 404, path
    (file,) = ask(agent, f"/generations/{old}/diff/{new}")["files"]
    assert file["path"] == "plugins/support.lua" and file["state"] == "changed"
    changed = [(line["op"], line["text"]) for line in file["lines"] if line["op"] in "+-"]
    assert changed == [("-", "  return accept {}"), ("+", '  return reject "busy"')]
    assert ask(agent, f"/generations/{old}/diff/{old}")["files"] == []


def test_an_invitation_is_tried_and_nothing_happens(agent):
    before = ask(agent, "/status")
    done = job(agent, "/try", {"invite": {"from": "ann", "to": "support"}})
    assert done["state"] == "done" and "accept" in done["result"]["answers"][0]
    done = job(agent, "/try", {
        "invite": {"from": "ann", "to": "support"}, "files": {"plugins/support.lua": BUSY}})
    assert "reject" in done["result"]["answers"][0], done
    done = job(agent, "/try", {
        "invite": {"from": "ann", "to": "support"}, "files": {"plugins/support.lua": "on."}})
    assert done["state"] == "failed" and "support.lua:1" in done["error"]
    after = ask(agent, "/status")
    assert after["generation"] == before["generation"] and after["live_calls"] == 0
    assert agent.admin("POST", "/admin/v1/try", {}).status == 400
    assert agent.admin("POST", "/admin/v1/try", {"invite": "x"}).status == 400
    call(agent, "ann")


@pytest.mark.parametrize("path", ["plugin/support.lua", "../support.lua", "plugins/other.lua", ""])
def test_a_text_that_nothing_would_read_is_refused(agent, path):
    """Its answer would be that of the file in force."""
    tried = {"invite": {"from": "ann", "to": "support"}}
    for what, body in (("try", tried), ("test", {})):
        reply = agent.admin("POST", f"/admin/v1/{what}", {**body, "files": {path: "error()"}})
        assert reply.status == 400 and f"'{path}'" in reply.text, reply.text
        assert "plugins/support.lua" in reply.text
    # Another operator's file may name another plugin.
    files = {"callagent.lua": 'answer_for = { "support" }\nplugins = { "other" }\n',
             "plugins/other.lua": 'on.invite(function() return reject "busy" end)'}
    assert "busy" in job(agent, "/try", {**tried, "files": files})["result"]["answers"][0]


def test_a_plugin_that_never_ends_does_not_hold_anybody(agent):
    endless = 'on.invite(function() while true do end end)'
    done = job(agent, "/try", {
        "invite": {"from": "ann", "to": "support"}, "files": {"plugins/support.lua": endless}})
    assert done["state"] in ("done", "failed")
    assert "time" in json.dumps(done) or "budget" in json.dumps(done), done


def test_a_job_of_many_slow_tests_ends_when_nobody_wants_it(agent):
    """Those of others wait behind it."""
    slow = "for n = 1, 5000 do test('t' .. n, function() while true do end end) end\n"
    files = {"plugins/slow.lua": slow, "callagent.lua": (
        'answer_for = { "support" }\nplugins = { "support", "slow" }\n')}
    begun = agent.admin("POST", "/admin/v1/test", {"files": files})
    path = f"/admin/v1/jobs/{begun.body['job']}"
    wait_for("the first plugin", lambda: agent.admin("GET", path).body["progress"] > 0)
    assert agent.admin("DELETE", path).status == 200
    ended = job_end(begun, lambda path: agent.admin("GET", "/admin/v1" + path))
    assert ended["state"] == "cancelled"
    assert job(agent, "/test", {})["state"] == "done"


def test_what_was_decided_is_asked_again(agent):
    call_id, _ = call(agent, "ann")
    assert job(agent, "/replay")["result"]["changed"] == 0
    rewrite(agent, BUSY)
    found = job(agent, "/replay")["result"]
    assert found["asked"] == 1 and found["changed"] == 1
    assert found["changes"][0]["call"] == call_id
    # Nothing of it is in force.
    assert call(agent, "carl")[1][0] == "joined"
    name = ask(agent, "/generations")["items"][0]["generation"]
    assert job(agent, "/replay", {"against": name})["result"]["changed"] == 2
    assert job(agent, "/replay", {"until_at": 1})["result"]["asked"] == 0
    assert agent.admin("POST", "/admin/v1/replay", {"against": "nonsense"}).status == 404


def test_tests_of_plugins_run(agent):
    tested = ACCEPT + 'test("accepts", function(t) t.invite {} t.expect_accept() end)\n'
    done = job(agent, "/test", {"files": {"plugins/support.lua": tested}})
    assert done["state"] == "done", done
    assert done["result"]["tests"][0]["text"].startswith("support.lua:")
    assert done["result"]["coverage"]


def test_the_installation_is_looked_over(agent):
    quick = ask(agent, "/doctor")
    assert quick["healthy"] is True and quick["findings"]
    done = job(agent, "/doctor")
    assert len(done["result"]["findings"]) > len(quick["findings"])


def test_jobs_queue_wait_and_are_cancelled(agent):
    endless = 'on.invite(function() while true do end end)'
    body = {"invite": {"from": "ann", "to": "support"}, "files": {"plugins/support.lua": endless}}
    replies = [agent.admin("POST", "/admin/v1/try", body) for _ in range(40)]
    statuses = [reply.status for reply in replies]
    assert statuses[:17] == [202] * 17 and 429 in statuses
    refused = next(reply for reply in replies if reply.status == 429)
    assert refused.body["status"] == 429
    numbers = [reply.body["job"] for reply in replies if reply.status == 202]
    for number in numbers:
        assert agent.admin("DELETE", f"/admin/v1/jobs/{number}").status == 200
    wait_for("the end of all", lambda: all(
        ask(agent, f"/jobs/{number}")["state"] in ("cancelled", "done", "failed")
        for number in numbers))
    assert ask(agent, f"/jobs/{numbers[-1]}")["state"] == "cancelled"
    assert agent.admin("DELETE", "/admin/v1/jobs/999999").status == 404
    assert job(agent, "/test")["state"] == "done"
