"""What the plugins decided: explain, trace, replay, shadow, and what a reload says of it."""

import json

import pytest

from agent import wait_for
from calls import invite
from preload import preload
from support import ACCEPT, BUSY, SUPPORT, call, rewrite

TESTED = ACCEPT + """test("it accepts", function(t)
  t.expect(t.invite { from = "ann", to = "support" }, accept {})
end)
"""


def test_a_decision_is_explained_while_it_runs_and_after(bot):
    agent = bot(ACCEPT)
    call_id, _ = call(agent, "ann")
    code, live = agent.tool("explain", call_id)
    assert code == 0, live
    for words in ("on.invite for support", "ann → support", "users.get ann", "kv.incr asked → 1",
                  "→ accept", "by support"):
        assert words in live, live
    stored = json.loads(agent.tool("explain", call_id, "--json")[1])["stored"]
    assert stored == {"owner": "", "epoch": 0, "revision": 2}
    agent.stop()
    code, after = agent.tool("explain", call_id)
    # The devices have gone since; all else is as it was.
    assert code == 0 and set(live.splitlines()) <= set(after.splitlines()), after
    code, raw = agent.tool("explain", call_id, "--json")
    (entry,) = json.loads(raw)["decisions"]
    assert entry["call"] == call_id and entry["input"]["seen"][0]["request"] == "users.get ann"
    assert agent.tool("explain", "0" * 32)[0] == 3, "nobody can be asked about another call"


def test_the_console_is_told_of_decisions_that_the_process_remembers_no_more(make_agent):
    """It keeps its newest thousand in memory; the files have the others."""
    config = """answer_for = { "desk" }
plugins = { "no" }
limits = { requests_per_second = 10000, invitations_per_minute = 100000 }
"""
    agent = make_agent(config, {"no": 'on.invite(function() return reject "busy" end)\n'}).start()
    ann = agent.connect("ann")
    first = invite(ann, "desk", mode="advanced")
    for _ in range(1_000):
        invite(ann, "desk", mode="advanced")
    found = agent.admin("GET", f"/admin/v1/calls/{first}/explain").body
    (entry,) = found["decisions"]
    assert entry["decision"]["action"] == "reject" and "input" not in entry
    assert "kept_since_at" not in found and "gaps" not in found


def test_a_failure_is_explained_with_file_and_line(bot):
    agent = bot("on.invite(function(call)\n  error 'oops'\nend)\n")
    person = agent.connect("support")
    call_id = invite(agent.connect("ann"), "support", mode="advanced")
    person.event("call.incoming")
    code, output = agent.tool("explain", call_id)
    assert code == 0 and "failed (error)" in output and "support.lua:2: oops" in output, output
    assert "→ default" in output


def test_decisions_are_followed_live(bot):
    agent = bot(ACCEPT)
    output = open(agent.folder / "trace.out", "w+b")
    trace = agent.begin_tool("trace", "--user", "ann", "--count", "2", output=output)

    def seen():
        output.seek(0)
        return output.read().decode()

    # The trace begins some time after its process did.
    wait_for("a first line", lambda: call(agent, "ann") and seen(), pause=0.2)
    call(agent, "ben")
    call(agent, "ann")
    assert trace.wait(10) == 0
    assert "ann → support" in seen() and "→ accept" in seen() and "ben" not in seen(), seen()


def test_a_reload_says_what_would_have_been_decided(bot):
    agent = bot(ACCEPT)
    ids = [call(agent, user)[0] for user in ("ann", "ben", "cid")]
    code, output = agent.tool("reload")
    assert code == 0 and "3 recorded decisions asked again: none would change" in output, output
    assert "is in force" in output
    rewrite(agent, BUSY)
    code, replayed = agent.tool("replay")
    assert code == 1 and "3 would change" in replayed, replayed
    code, output = agent.tool("reload")
    assert code == 0 and "3 would change" in output, output
    for call_id in ids:
        assert call_id in output and call_id in replayed
    assert "- accept, by support" in output and "+ reject busy, by support" in output


def test_decisions_are_replayed_without_a_server(bot):
    agent = bot(ACCEPT)
    call(agent, "ann")
    rewrite(agent, BUSY)
    assert agent.tool("reload")[0] == 0
    call(agent, "ben")
    agent.stop()
    code, output = agent.tool("replay")
    assert code == 1 and "2 recorded decisions asked again: 1 would change" in output
    assert agent.tool("replay") == (code, output), "the same again"
    assert agent.tool("replay", "--since", "1h") == (code, output), "all of it is of this hour"
    assert "2 recorded" not in agent.tool("replay", "--since", "1ms")[1]
    code, output = agent.tool("replay", "--against", "nonsense")
    assert code == 1 and "no kept generation 'nonsense'; kept are: " in output, output
    now, before = output.split("kept are: ")[1].split()[:2]
    code, output = agent.tool("replay", "--against", now)
    assert code == 0 and "2 recorded decisions asked again: none would change" in output, output
    code, output = agent.tool("replay", "--against", before)
    assert code == 1 and "2 recorded decisions asked again: 2 would change" in output, output


def test_a_replay_needs_no_secrets(bot):
    agent = bot(ACCEPT)
    call(agent, "ann")
    kept = agent.tool("replay", "--against", "nonsense")[1].split("kept are: ")[1].split()[0]
    agent.stop()
    file = agent.folder / "callagent.lua"
    file.write_text(file.read_text() + '''
auth = { { alg = "HS256", key = secret "file:gone.key" } }
''')
    for words in (["replay"], ["replay", "--against", kept]):
        code, output = agent.tool(*words)
        assert code == 0 and "1 recorded decision asked again: none would change" in output, output


def test_a_shadow_is_asked_without_effect(bot):
    agent = bot(ACCEPT)
    rewrite(agent, BUSY)
    code, output = agent.tool("reload", "--shadow")
    assert code == 0 and "is asked as a shadow" in output, output
    call_id, answer = call(agent, "ann")
    assert answer == ("joined", None)

    def explained():
        output = agent.tool("explain", call_id)[1]
        return "reject busy, by support instead of accept, by support" in output

    wait_for("the shadow's word", explained)
    code, output = agent.tool("plugins", "--json")
    shadow = json.loads(output)["shadow"]
    assert (shadow["asked"], shadow["changed"], shadow["skipped"]) == (1, 1, 0)
    code, output = agent.tool("reload", "--end-shadow")
    assert code == 0 and "1 would change" in output, output
    assert agent.tool("reload", "--end-shadow")[0] == 1
    agent.tool("reload", "--shadow")
    code, output = agent.tool("reload", "--end-shadow")
    assert code == 0 and "nothing was asked meanwhile" in output, output
    assert call(agent, "ben")[1] == ("joined", None)


def test_a_reload_with_tests_refuses_what_fails_them(make_agent):
    agent = make_agent(SUPPORT + 'test_on_reload = true\n', {"support": TESTED}).start()
    code, output = agent.tool("reload")
    assert code == 0 and "1 tests of plugins passed" in output, output
    rewrite(agent, TESTED.replace("return accept {}", 'return reject "busy"', 1))
    code, output = agent.tool("reload")
    assert code == 1 and "support.lua:" in output, output
    assert call(agent, "ann")[1] == ("joined", None)


def test_changed_files_are_taken_by_themselves(make_agent):
    agent = make_agent(SUPPORT + 'watch = true\n', {"support": ACCEPT}).start()
    assert call(agent, "ann")[1] == ("joined", None)
    # As editors do it: a new file in the place of the old one.
    fresh = agent.folder / "plugins" / ".support.lua.swp"
    fresh.write_text(BUSY)
    fresh.rename(agent.folder / "plugins" / "support.lua")
    wait_for("the new answer", lambda: call(agent, "ben")[1] == ("rejected", "busy"), pause=0.1)
    rewrite(agent, "return (\n")
    agent.logs("reload failed: nothing has changed")
    assert call(agent, "cid")[1] == ("rejected", "busy")
    rewrite(agent, ACCEPT)
    wait_for("the old answer", lambda: call(agent, "dan")[1] == ("joined", None), pause=0.1)


def test_the_folders_of_a_plugin_are_watched(make_agent):
    agent = make_agent('answer_for = { "support" }\nplugins = { "deep" }\nwatch = true\n')
    folder = agent.folder / "plugins" / "deep"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "init.lua").write_text(
        'local answer = require "a.b.answer"\non.invite(function() return answer() end)\n')
    module = folder / "a" / "b" / "answer.lua"
    module.write_text('return function() return reject "busy" end\n')
    agent.start()
    assert call(agent, "ann")[1] == ("rejected", "busy")
    module.write_text("return function() return accept {} end\n")
    wait_for("the new answer", lambda: call(agent, "ben")[1] == ("joined", None), pause=0.1)


@pytest.mark.parametrize("has_pushes", [False, True])
def test_explain_says_that_nobody_had_a_device(make_agent, pusher, has_pushes):
    agent = pusher() if has_pushes else make_agent().start()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = alice.ok("call.invite", invitees=["bob", "carol"])["call_id"]
    bob.event("call.incoming")
    words = "carol had neither a device nor a registration for pushes"
    wait_for("the reason", lambda: words in agent.tool("explain", call)[1])
    assert "bob had neither" not in agent.tool("explain", call)[1]
    second = alice.ok("call.invite", invitees=["bob"])["call_id"]
    assert "neither" not in agent.tool("explain", second)[1]


def test_a_call_that_nobody_knows(bot):
    agent = bot(ACCEPT)
    code, output = agent.tool("explain", "0" * 32)
    assert code == 1 and "nobody knows a call " + "0" * 32 in output, output
    known = invite(agent.connect("ann"), "bob")
    code, output = agent.tool("explain", known)
    assert code == 0 and f"no plugin was asked about {known}\n" in output, output


def test_what_is_no_longer_kept_is_said(bot):
    agent = bot(BUSY, SUPPORT + 'decision_log = { size = "64KB", files = 2 }\n')
    ann = agent.connect("ann")
    old = invite(ann, "support", mode="advanced")
    files = agent.folder / "state"
    wait_for("the decision", lambda: "on.invite" in agent.tool("explain", old)[1])

    def is_gone():
        for _ in range(20):
            invite(ann, "support", mode="advanced", extended_data="x" * 2_000)
        return not any(old in path.read_text() for path in files.glob("decisions.jsonl*"))

    wait_for("its end in the files", is_gone)
    agent.stop()
    agent.start()
    code, output = agent.tool("explain", old)
    assert code == 0 and "no plugin was asked" not in output, output
    assert "decisions older than 20" in output and "are not kept" in output, output


def test_what_memory_no_longer_keeps_is_said(make_agent):
    agent = make_agent(SUPPORT + 'admin = "admin.sock"\n', {"support": BUSY}, state=":memory:")
    agent.start()
    ann = agent.connect("ann")
    old = invite(ann, "support", mode="advanced")
    for _ in range(1_000):
        new = invite(ann, "support", mode="advanced")
    wait_for("its end", lambda: "on.invite" not in agent.tool("explain", old)[1])
    code, output = agent.tool("explain", old)
    assert code == 0 and "are not kept" in output, output
    assert "are not kept" not in agent.tool("explain", new)[1]


# A disk that takes no line of the decision log, and takes everything else.
FULL = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
ssize_t write(int file, const void *bytes, size_t count) {
  static ssize_t (*real)(int, const void *, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "write");
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  if (strstr(path, "/decisions.jsonl") && access("full", F_OK) == 0) {
    errno = ENOSPC;
    return -1;
  }
  return real(file, bytes, count);
}
"""


def test_decisions_that_the_disk_did_not_take_are_not_denied(make_agent):
    agent = make_agent(SUPPORT, {"support": ACCEPT})
    preload(agent, FULL)
    agent.start()

    def explained(call_id):
        code, text = agent.tool("explain", call_id)
        assert code == 0, text
        return text

    def invited(name, words):
        call_id, _ = call(agent, name)
        wait_for("the decision", lambda: words in explained(call_id))
        return call_id

    lost = "of the decision log was lost between "
    before = invited("ann", "on.invite for support")
    assert agent.tool("end", before)[0] == 0
    full = agent.folder / "full"
    full.touch()
    within = invited("bea", lost)
    # As long as the process knows them they are shown.
    assert "on.invite for support" in explained(within)
    full.unlink()
    after = invited("cleo", "on.invite for support")
    for call_id, is_concerned in ((before, False), (within, True), (after, False)):
        assert (lost in explained(call_id)) == is_concerned, call_id
    agent.stop()
    agent.start()
    text = explained(within)
    assert f"a line {lost}" in text
    assert f"whether a plugin was asked about {within} is not known" in text
    assert "no plugin was asked" not in text
    for call_id in (before, after):
        text = explained(call_id)
        assert lost not in text and "on.invite for support" in text


def test_a_process_that_ends_says_what_it_could_not_write(make_agent):
    agent = make_agent(SUPPORT, {"support": ACCEPT})
    preload(agent, FULL)
    agent.start()
    (agent.folder / "full").touch()
    call_id, _ = call(agent, "ann")
    agent.logs("cannot write the decision log")
    (agent.folder / "full").unlink()
    agent.stop()
    agent.start()
    code, text = agent.tool("explain", call_id)
    assert code == 0 and "a line of the decision log was lost between " in text, text
