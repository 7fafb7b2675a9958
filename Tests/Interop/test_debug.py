"""`callagent debug`, by a client that nobody here wrote (debugpy), judged by the schema."""

import os
import subprocess

import pytest

from debugger import NAMES, Debugger, judge
from support import call, rewrite

DESK = """local seen = 0
local function sum(n)
  local total = 0
  for i = 1, n do
    total = total + i
  end
  return total
end
on.invite(function(call)
  seen = seen + 1
  local user = users.get(call.caller.id)
  kv.incr("asked", 1)
  local total = sum(3)
  log.info("asked", { total = total })
  if user.online then
    return accept {}
  end
  return reject "busy"
end)
test("it accepts", function(t)
  t.expect(t.invite { from = "ann", to = "support" }, accept {})
end)
test("it fails", function(t)
  t.expect(t.invite { from = "ann", to = "support" }, reject "busy")
end)
test("it never ends", function(t)
  while true do seen = seen + 1 end
end)
"""


@pytest.fixture
def desk(tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "callagent.lua").write_text('plugins = { "support" }\n')
    path = tmp_path / "plugins" / "support.lua"
    path.write_text(DESK)
    return path


def at(path, *lines, **more):
    return [({"path": str(path)}, [{"line": line, **more} for line in lines])]


def test_a_test_is_debugged_line_by_line(desk):
    with Debugger(desk.parent.parent) as editor:
        (points,) = editor.launch(
            plugin="plugins/support.lua", test="it accepts", stops=at(desk, 10, 6, 900))
        assert [p["verified"] for p in points] == [True, True, False]
        assert points[1]["line"] == 7 and points[1]["source"]["path"] == str(desk)
        assert editor.line() == 10 and editor.reason == "breakpoint"
        names = [t["name"] for t in editor.request("threads")["threads"]]
        assert names == ["support: test it accepts", "support: on.invite"]
        for line in (11, 12, 13):
            editor.go("next")
            assert editor.line() == line
        assert editor.scope("Locals") == {"call": "call", "user": "user ann"}
        assert editor.scope("Upvalues")["seen"] == "1"
        assert editor.scope("call")["callee"] == "user support"
        assert editor.scope("Waits") == {
            'users.get("ann")': "user ann", 'kv.incr("asked", 1)': "1"}
        editor.go("stepIn")
        assert [f["name"] for f in editor.stop()] == ["sum", "support: on.invite"]
        editor.go("stepOut")
        assert editor.line() == 7 and editor.reason == "breakpoint"
        editor.go("stepOut")
        assert editor.line() == 14 and editor.value("total * 2") == "12"
        editor.go("stepBack")
        assert editor.line() == 13
        editor.go("reverseContinue")
        assert editor.line() == 10 and editor.value("seen") == "0"
        editor.go("continue")
        assert editor.line() == 7
        editor.go("continue")
        assert editor.end() == ([0], 0)
        assert "support: log.info: asked { total = 6 }" in editor.output()
        assert "ok      support.lua:20: it accepts" in editor.output()


def test_a_failing_test_stops_where_it_fails(desk):
    with Debugger(desk.parent.parent) as editor:
        editor.launch(plugin="support", test="it fails")
        assert editor.line() == 24 and editor.reason == "exception"
        info = editor.request("exceptionInfo", threadId=editor.thread)
        assert info["breakMode"] == "unhandled" and "support.lua:24" in info["description"]
        editor.go("continue")
        assert editor.end() == ([1], 0)


def test_a_decision_of_then_is_debugged_in_the_generation_of_then(bot):
    agent = bot(DESK)
    call_id, answer = call(agent, "ann")
    assert answer[0] == "joined"
    path = agent.folder / "plugins" / "support.lua"
    rewrite(agent, "\n\n" + DESK.replace("accept {}\n  end", 'reject "late"\n  end'))
    assert agent.tool("reload")[0] == 0
    agent.stop()
    before = {p: p.stat().st_mtime_ns for p in agent.folder.rglob("*") if p.is_file()}
    with Debugger(agent.folder, call_id) as editor:
        (points,) = editor.launch(stopOnEntry=True, stops=at(path, 13))
        assert not points[0]["verified"] and "not the one that runs" in points[0]["message"]
        (frame,) = editor.stop()
        assert editor.reason == "entry" and frame["line"] == 10
        reference = frame["source"]["sourceReference"]
        text = editor.request("source", sourceReference=reference)["content"]
        assert text == DESK
        points = editor.request("setBreakpoints", source=frame["source"],
                                breakpoints=[{"line": 15}])["breakpoints"]
        assert points[0]["verified"]
        editor.go("continue")
        assert editor.line() == 15
        assert editor.scope("Waits") == {
            'users.get("ann")': "user ann", 'kv.incr("asked", 1)': "1"}
        assert editor.value("user.online") == "true"
        assert editor.value("call.id") == f'"{call_id}"'
        editor.go("stepBack")
        assert editor.line() == 14
        editor.go("continue")
        assert editor.line() == 15
        editor.go("continue")
        assert editor.end() == ([0], 0)
        assert "not recorded" not in editor.output(), "the plugin keeps nothing in state"
        assert '"action":"accept"' in editor.output()
    # The files on disk decide otherwise on the same.
    record = (agent.folder / agent.state / "decisions.jsonl").read_text().splitlines()[0]
    with Debugger(agent.folder) as editor:
        editor.launch(record=record, edit=True, stops=at(path, 18))
        assert editor.line() == 18
        editor.go("continue")
        assert editor.end() == ([0], 0)
        assert "it was decided otherwise then" in editor.output()
    after = {p: p.stat().st_mtime_ns for p in agent.folder.rglob("*") if p.is_file()}
    written = {p.name for p in after if after[p] != before.get(p)}
    assert not {n for n in written if not n.startswith("callagent.db-")}, written


COUNTING = """local function next_one()
  state.n = (state.n or 0) + 1
  return state.n
end
on.invite(function(call)
  local turn = next_one()
  if turn > 1 then return reject "busy" end
  return accept {}
end)
"""


def test_a_decision_is_debugged_with_the_state_of_then(bot):
    agent = bot(COUNTING)
    calls = [call(agent, user) for user in ("ann", "ben", "cid")]
    assert [answer[0] for _, answer in calls] == ["joined", "rejected", "rejected"]
    agent.stop()
    path = agent.folder / "plugins" / "support.lua"
    folder = agent.folder / agent.state
    for place, (call_id, answer) in enumerate(calls):
        with Debugger(agent.folder, call_id) as editor:
            editor.launch(stops=at(path, 6))
            assert editor.line() == 6
            assert editor.scope("state") == ({} if place == 0 else {"n": str(place)})
            editor.go("continue")
            # It is the decision of then: nothing differs.
            assert editor.end() == ([0], 0), editor.output()
            word = "accept" if answer[0] == "joined" else "reject"
            assert f'"action":"{word}"' in editor.output()
            assert "not recorded" not in editor.output()
    # Of the one before the last change there is a copy, once; without it the debugger says so.
    names = (folder / "states.jsonl").read_text().splitlines()
    assert len(names) == 2, names
    (folder / "states.jsonl").unlink()
    with Debugger(agent.folder, calls[2][0]) as editor:
        editor.launch(stops=at(path, 6))
        assert editor.line() == 6
        assert editor.scope("state (not recorded)") == {}
        editor.go("continue")
        assert editor.end() == ([1], 0)
        assert "state not recorded: that of 'support' begins as the files" in editor.output()
    with Debugger(agent.folder, calls[0][0]) as editor:
        editor.launch()
        assert editor.end() == ([0], 0), "it had no state"


def test_what_cannot_be_debugged_is_said(desk):
    folder = desk.parent.parent
    wrong = [
        ({}, "launch needs one of"),
        ({"plugin": "nobody"}, "no plugin 'nobody'"),
        ({"plugin": "support", "test": "it"}, "means none or several tests"),
        ({"plugin": "support", "call": "0" * 32}, "launch needs one of"),
        ({"call": "xyz"}, "32 lower-case hex digits"),
        ({"call": "0" * 32}, "no decision about"),
        ({"record": "{}"}, "no line of decisions.jsonl"),
        ({"plugin": 7}, "'plugin' is a text"),
        ({"plugin": "support", "test": "it fails", "limits": {"members": 0}}, "limits.members"),
        ({"call": "0" * 32, "config": "none.lua"}, "none.lua"),
    ]
    for arguments, words in wrong:
        with Debugger(folder) as editor:
            message = editor.refusal("launch", **arguments)
            assert words in message, (arguments, message)
            assert "'launch' comes first" in editor.refusal("configurationDone")
            assert "nothing runs" in editor.refusal("pause", threadId=1)
            editor.request("disconnect")
    desk.write_text("on.invte(function() end)")
    with Debugger(folder) as editor:
        message = editor.refusal("launch", plugin="plugins/support.lua", test="x")
        assert "support.lua:1: unknown event 'on.invte'" in message


def test_a_loop_is_paused_and_ended(desk):
    with Debugger(desk.parent.parent) as editor:
        editor.launch(plugin="plugins/support.lua", test="it never ends")
        editor.request("pause", threadId=1)
        assert editor.line() == 27 and editor.reason == "pause"
        editor.go("continue")
        editor.request("terminate")
        assert editor.end() == ([1], 0)


def test_it_is_spoken_with_as_nvim_dap_does(desk):
    """What that client sends, with its odd words: numbers from 0, lines twice, launch with its own
    names, and threads taken for standing until it is told otherwise."""
    source = {"name": desk.name, "path": str(desk)}
    with Debugger(desk.parent.parent) as editor:
        editor.request(
            "launch", type="callagent", request="launch", name="test of this plugin",
            plugin=str(desk), test="it accepts", stopOnEntry=True)
        editor.await_event("initialized")
        points = editor.request(
            "setBreakpoints", source=source, sourceModified=False, lines=[4, 7],
            breakpoints=[{"line": 4, "condition": "n == 3", "hitCondition": ">= 1"},
                         {"line": 7, "logMessage": "total {total} of {call.callee.id}"}])
        assert [point["verified"] for point in points["breakpoints"]] == [True, True]
        editor.request("setExceptionBreakpoints", filters=["uncaught"])
        editor.request("configurationDone")
        assert editor.line() == 21 and editor.reason == "entry"
        began = editor.thread
        editor.go("continue")
        assert editor.line() == 4 and editor.frames[0]["name"] == "sum"
        # The scope shows the call of the handler, so expressions know it as well.
        assert editor.value("call.callee.id") == '"support"'
        stood, before = editor.thread, len(editor.events)
        assert stood != began
        editor.request("restart", arguments={"plugin": str(desk), "test": "it accepts"})
        assert editor.line() == 21 and editor.reason == "entry" and editor.thread == began
        # Else the client takes the new run's first stop for one too many and goes on at once.
        told = [(e.event, dict(e.body)) for e in editor.events[before:] if e.event != "output"]
        assert told[:2] == [
            ("continued", {"threadId": stood, "allThreadsContinued": True}),
            ("thread", {"reason": "started", "threadId": stood})]
        assert told[2][0] == "stopped"
        editor.go("continue")
        assert editor.line() == 4
        editor.request("terminate", restart=False)
        assert editor.end() == ([1], 0)


def test_an_editor_that_is_gone_leaves_nothing_running(desk):
    with Debugger(desk.parent.parent) as editor:
        editor.launch(plugin="plugins/support.lua", test="it never ends")
        editor.process.stdin.close()
        assert editor.process.wait(60) == 0


def talk(data, *arguments):
    done = subprocess.run(
        [os.environ["CALLAGENT"], "debug", *arguments], input=data, capture_output=True,
        timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr.decode()


def frame(body):
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.parametrize("data, code, words", [
    (b"nonsense\r\n\r\n", 1, b"Content-Length: N"),
    (b"Content-Length: -1\r\n\r\n", 1, b"Content-Length: N"),
    (b"x" * 20_000, 1, b"over 8192 bytes"),
    (frame(b"\xff{"), 0, b"no JSON"),
    (frame(b"[" * 1_500), 0, b"no JSON"),
    (frame(b"x" * 3_000), 0, b"over the limit"),
    (frame(b"{}"), 0, b"a request is expected"),
    (b"Content-Length: 100\r\n\r\nhalf", 0, b""),
    (frame(b'{"type":"request","seq":1e99,"command":"initialize"}'), 0, b"command and a number"),
])
def test_bytes_that_are_no_message_are_answered(data, code, words):
    got, out, err = talk(data, "--max-message", "2KB")
    assert (got, err) == (code, ""), err
    assert words in out


def test_the_command_line_is_checked():
    code, out, err = talk(b"", "xyz")
    assert code == 2 and out == b"" and "no call id" in err
    assert talk(b"", "--decision", "0")[0] == 2


def test_the_judge_sees_mistakes():
    """A judge that lets everything pass would be none."""
    good = {"type": "event", "seq": 1, "event": "stopped", "body": {"reason": "step"}}
    judge(good)
    assert "StackTraceResponse" in NAMES
    for bad in ({**good, "body": {}}, {**good, "seq": "1"}, {**good, "event": "stoped"}):
        with pytest.raises(Exception):
            judge(bad)
