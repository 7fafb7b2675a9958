"""Lua answers calls: decisions, trouble, reload."""

import json
import signal
import time

import pytest

from agent import wait_for
from calls import changes, ended, invite, participant
from support import SUPPORT

ACCEPT = "-- Accepts at once.\non.invite(function(call) return accept {} end)\n"
REJECT = '-- Refuses.\non.invite(function(call) return reject "declined" end)\n'


def call_support(agent, **data):
    """alice calls `support`."""
    alice = agent.connect("alice")
    ok = alice.ok("call.invite", invitees=["support"], mode="advanced", **data)
    assert ok["errors"] == []
    return alice, ok["call_id"]


def test_an_account_without_devices_accepts(bot):
    alice, call = call_support(bot(ACCEPT))
    event = alice.event("call.changed")
    assert changes(event) == {"support": ("joined", None)}
    assert event["actor"] == {"policy": "support"}
    got = alice.ok("call.get", call_id=call)["call"]
    assert (got["state"], participant(got, "support")["device"]) == ("active", None)


def test_the_invitation_is_delivered_by_asking_the_plugins(bot):
    agent = bot(ACCEPT.replace("accept {}", 'accept { wait = "2s" }'))
    alice = agent.connect("alice")
    call = invite(alice, "support", mode="advanced")
    assert changes(alice.event("call.changed")) == {"support": ("ringing", None)}
    got = alice.ok("call.get", call_id=call)["call"]
    assert participant(got, "support")["state"] == "ringing"


def test_a_refused_call_is_over_with_the_reply_and_rings_nowhere(bot):
    agent = bot(REJECT)
    person, alice = agent.connect("support"), agent.connect("alice")

    def is_over_with_the_reply():
        call = alice.ok("call.invite", invitees=["support"], mode="common")["call"]
        assert changes(alice.event("call.changed")) == {"support": ("rejected", "declined")}
        assert ended(alice) == ("rejected", None)
        return call["state"] == "ended"

    # A slow machine may not decide at once every time.
    wait_for("a call that is decided at once", is_over_with_the_reply)
    person.quiet()


def test_a_refused_stranger_makes_nobody_busy(bot):
    plugin = """
    on.invite(function(call)
      if call.caller.id == "mallory" then return reject "declined" end
      if call.callee.calls > 0 then return reject "busy" end
      return accept {}
    end)
    """
    agent = bot(plugin)
    alice, mallory = agent.connect("alice"), agent.connect("mallory")
    data = {"invitees": ["support"], "mode": "advanced"}
    numbers, answers = [], []
    for _ in range(20):
        numbers += [mallory.post("call.invite", data) for _ in range(10)]
        call = invite(alice, "support", mode="advanced")
        answers.append(changes(alice.event("call.changed"))["support"])
        alice.ok("call.end", call_id=call)
        alice.event("call.ended")
    for number in numbers:
        mallory.reply(number)
    # Where a slow machine takes more than five milliseconds, the stranger's call counts.
    assert answers.count(("joined", None)) >= 10, answers


def test_greeting_data_reaches_the_caller(bot):
    plugin = ACCEPT.replace("accept {}", 'accept { extended_data = { text = "Hello " .. '
                                         'call.caller.id, n = 1 } }')
    alice, _ = call_support(bot(plugin))
    (change,) = alice.event("call.changed")["changes"]
    assert json.loads(change["extended_data"]) == {"text": "Hello alice", "n": 1}


def test_a_wait_lets_a_person_take_it_first(bot):
    agent = bot(ACCEPT.replace("accept {}", 'accept { wait = "3s" }'))
    person = agent.connect("support", "desk")
    alice, call = call_support(agent)
    person.event("call.incoming")
    assert changes(alice.event("call.changed")) == {"support": ("ringing", None)}
    person.ok("call.accept", call_id=call)
    event = alice.event("call.changed")
    assert event["actor"] == {"user": "support", "device": "desk"}
    alice.quiet()


def test_at_the_end_of_the_wait_the_plugin_accepts(bot):
    agent = bot(ACCEPT.replace("accept {}", 'accept { wait = "1s" }'))
    alice, call = call_support(agent)
    assert changes(alice.event("call.changed")) == {"support": ("ringing", None)}
    event = alice.event("call.changed")
    assert changes(event) == {"support": ("joined", None)}
    got = alice.ok("call.get", call_id=call)["call"]
    assert 900 <= got["answered_at"] - got["created_at"] < 2_500


def test_busy_with_the_data_that_clients_know(bot):
    alice, call = call_support(bot(REJECT.replace("declined", "busy")),
                               extended_data='{"type":"video_call"}')
    event = alice.event("call.changed")
    assert changes(event) == {"support": ("rejected", "busy")}
    assert json.loads(event["changes"][0]["extended_data"]) == {
        "type": "video_call", "reason": "busy", "callID": call}


def test_busy_without_a_type_leaves_it_out(bot):
    alice, call = call_support(bot(REJECT.replace("declined", "busy")))
    (change,) = alice.event("call.changed")["changes"]
    assert json.loads(change["extended_data"]) == {"reason": "busy", "callID": call}


def test_a_plugin_knows_a_group(bot):
    """Also when all others have refused."""
    agent = bot("on.invite(function(call) return reject(tostring(call.group)) end)\n")
    alice, bob = agent.connect("alice"), agent.connect("bob")

    def is_group(call):
        def answer():
            support = participant(alice.ok("call.get", call_id=call)["call"], "support")
            return support["extended_data"]

        return json.loads(wait_for("the refusal", answer))["reason"]

    assert is_group(invite(alice, "support", mode="advanced")) == "false"
    assert is_group(invite(alice, "support", "bob", mode="advanced")) == "true"
    bob.forget()
    call = invite(alice, "bob", mode="advanced")
    bob.ok("call.reject", call_id=call)
    alice.ok("call.add", call_id=call, invitees=["support"])
    assert is_group(call) == "true"


def test_own_text_as_a_reason(bot):
    alice, _ = call_support(bot(REJECT.replace("declined", "gone fishing")))
    event = alice.event("call.changed")
    assert changes(event) == {"support": ("rejected", "declined")}
    assert json.loads(event["changes"][0]["extended_data"]) == {"reason": "gone fishing"}


def test_ring_lets_the_devices_ring(bot):
    agent = bot("on.invite(function(call) return ring {} end)\n")
    person = agent.connect("support")
    alice, call = call_support(agent)
    person.event("call.incoming")
    person.ok("call.accept", call_id=call)
    assert changes(alice.event("call.changed")) == {"support": ("joined", None)}


def test_no_answer_is_the_default_and_the_devices_ring(bot):
    agent = bot("on.invite(function(call) end)\n")
    person = agent.connect("support")
    call_support(agent)
    person.event("call.incoming")


def test_the_operators_default_may_be_reject(bot):
    agent = bot("on.invite(function(call) end)\n", SUPPORT + 'invite = { default = "reject" }\n')
    alice, _ = call_support(agent)
    event = alice.event("call.changed")
    assert changes(event) == {"support": ("rejected", "declined")}
    assert event["actor"] == {"policy": "default"}


def test_a_rejected_invitation_was_never_shown(bot):
    agent = bot(REJECT)
    person = agent.connect("support")
    call_support(agent)[0].event("call.changed")
    person.quiet()


def test_other_accounts_are_not_asked(bot):
    agent = bot(REJECT)
    alice, bob = agent.connect("alice"), agent.connect("bob")
    invite(alice, "bob")
    bob.event("call.incoming")


def test_the_first_plugin_in_the_list_wins(make_agent):
    config = 'answer_for = { "*" }\nplugins = { "silent", "yes", "no" }\n'
    plugins = {"silent": "on.invite(function() end)\n", "yes": ACCEPT, "no": REJECT}
    alice, _ = call_support(make_agent(config, plugins).start())
    assert alice.event("call.changed")["actor"] == {"policy": "yes"}


def test_a_second_caller_is_refused_while_the_first_is_served(bot):
    agent = bot("on.invite(function(call)\n"
                '  if call.callee.calls > 0 then return reject "busy" end\n'
                "  return accept {}\nend)\n")
    alice, first = call_support(agent)
    assert changes(alice.event("call.changed")) == {"support": ("joined", None)}
    carol = agent.connect("carol")
    second = invite(carol, "support", mode="advanced")
    assert changes(carol.event("call.changed")) == {"support": ("rejected", "busy")}
    alice.ok("call.leave", call_id=first)
    wait_for("the end", lambda: alice.ok("call.get", call_id=first)["call"]["state"] == "ended")
    assert answer(agent, "dave") == ("joined", None)
    assert carol.ok("call.get", call_id=second)["call"]["state"] == "ringing"


@pytest.mark.patient
def test_a_caller_who_vanishes_frees_the_account_after_35_seconds(bot):
    agent = bot("on.invite(function(call)\n"
                '  if call.callee.calls > 0 then return reject "busy" end\n'
                "  return accept {}\nend)\n")
    alice, _ = call_support(agent)
    assert changes(alice.event("call.changed")) == {"support": ("joined", None)}
    alice.vanish()
    assert answer(agent, "bob") == ("rejected", "busy")
    begin = time.monotonic()
    wait_for("the account to be free", patience=45, pause=1,
             condition=lambda: answer(agent, "bob") == ("joined", None))
    assert time.monotonic() - begin > 25


# Trouble: the caller always gets an answer, and nobody else notices

TROUBLE = {
    "an error": "error 'oops'",
    "an endless loop": "while true do end",
    "an endless loop under pcall": "while true do pcall(function() while true do end end) end",
    "a slow pattern": "return (('a'):rep(26) .. 'b'):find(('a?'):rep(26) .. ('a'):rep(26) .. 'c')",
    "a bomb of strings": "local s = 'x' while true do s = s .. s end",
    "a bomb of tables": "local t = {} while true do t[#t + 1] = {} end",
    "endless recursion": "local function f() return 1 + f() end f()",
    "a bad answer": "return 42",
    "an answer of another hook": "return drop 'x'",
}


@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_costs_one_decision(bot, name):
    """The invitation rings at the person behind the account: the default, also after trouble."""
    agent = bot("on.invite(function(call)\n"
                f"  if call.extended_raw == 'trouble' then {TROUBLE[name]} end\n"
                "  return accept {}\nend)\n")
    person, alice, bob, carol = (
        agent.connect(user) for user in ("support", "alice", "bob", "carol"))
    troubled = invite(alice, "support", mode="advanced", extended_data="trouble")
    invite(bob, "carol")
    carol.event("call.incoming", timeout=1)
    assert person.event("call.incoming")["call_id"] == troubled
    assert answer(agent, "dave") == ("joined", None)


# Reload


def rewrite(agent, text):
    (agent.folder / "plugins" / "support.lua").write_text(text)


def answer(agent, user):
    """How `support` answers a call of this user."""
    caller = agent.connect(user)
    invite(caller, "support", mode="advanced")
    return changes(caller.event("call.changed"))["support"]


def test_reload_returns_when_the_next_call_gets_the_new_answer(bot):
    agent = bot(ACCEPT)
    assert answer(agent, "ann") == ("joined", None)
    rewrite(agent, REJECT)
    assert answer(agent, "ben") == ("joined", None)
    code, output = agent.tool("reload")
    assert code == 0, output
    assert answer(agent, "cid") == ("rejected", "declined")


def test_a_broken_reload_changes_nothing_and_names_the_line(bot):
    agent = bot(ACCEPT)
    for broken in ("-- one\non.invte(f)\n", "return (\n", "error 'no'\n", "while true do end\n"):
        rewrite(agent, broken)
        code, output = agent.tool("reload")
        assert code != 0 and "support.lua:" in output, output
        assert answer(agent, "ann") == ("joined", None)
    rewrite(agent, REJECT)
    assert agent.tool("reload")[0] == 0
    assert answer(agent, "ben") == ("rejected", "declined")


def test_check_tells_of_pending_timers_that_the_new_files_lack(bot):
    agent = bot('timer("remind", function() end)\ntimer("stays", function() end)\n'
                'on.invite(function(call)\n  later("1h", "remind") later("2h", "remind")\n'
                '  later("1h", "stays")\n  return accept {}\nend)\n')
    alice, _ = call_support(agent)
    alice.event("call.changed")
    code, said = agent.tool("check")
    assert (code, "is not declared any more" in said) == (0, False), said
    agent.configure(SUPPORT, {"support": 'timer("stays", function() end)\n' + ACCEPT})
    lost = "support: timer 'remind' is not declared any more: 2 pending will be dropped\n"
    code, said = agent.tool("check")
    assert (code, said.startswith(lost)) == (0, True), said
    agent.stop()
    code, said = agent.tool("check")
    assert (code, said.startswith(lost)) == (0, True), said


def test_sighup_reloads(bot):
    agent = bot(ACCEPT)
    rewrite(agent, REJECT)
    agent.signal(signal.SIGHUP)
    wait_for("the new answer", lambda: answer(agent, "ann") == ("rejected", "declined"))


def test_a_broken_sighup_is_logged_and_changes_nothing(bot):
    agent = bot(ACCEPT)
    rewrite(agent, "-- one\nreturn (\n")
    agent.signal(signal.SIGHUP)
    agent.logs("support.lua:")
    assert answer(agent, "ann") == ("joined", None)


def test_a_reload_of_what_needs_a_restart_says_so(bot):
    agent = bot(ACCEPT)
    agent.configure(SUPPORT + 'listen = "127.0.0.1:1"\n')
    code, output = agent.tool("reload")
    assert code == 1 and "a change of listen needs a restart" in output, output
    lines = {"state_dir": 'state_dir = "elsewhere"', "admin": 'admin = "elsewhere.sock"'}
    for name, line in lines.items():
        agent.configure(SUPPORT + line + "\n")
        agent.signal(signal.SIGHUP)
        agent.logs(f"a change of {name} needs a restart")
    assert answer(agent, "ann") == ("joined", None)


def test_reload_without_a_server_says_so(make_agent):
    agent = make_agent()
    code, output = agent.tool("reload")
    assert code != 0 and len(output.strip().splitlines()) <= 2, output


def test_a_call_in_progress_survives_reloads(bot):
    agent = bot(ACCEPT)
    alice, call = call_support(agent)
    alice.event("call.changed")
    for text in (REJECT, ACCEPT, REJECT):
        rewrite(agent, text)
        assert agent.tool("reload")[0] == 0
    assert alice.ok("call.get", call_id=call)["call"]["state"] == "active"
    alice.quiet()


def test_a_plugin_ends_a_call_with_a_code(bot):
    """Also in a mode that has no call.end, while another invitee still rings. The report of what
    led to it runs to its end (rule 85)."""
    agent = bot(ACCEPT + """
on.accepted(function(call)
  log.info("finished " .. tostring(call:finish "over_limit"))
  sleep "1ms"
  log.info "went on"
end)
""")
    alice, carol = agent.connect("alice"), agent.connect("carol")
    alice.ok("call.invite", invitees=["support", "carol"])
    alice.event("call.changed")
    # A slow machine may not have decided at once.
    if participant(carol.event("call.incoming")["call"], "support")["state"] != "joined":
        carol.event("call.changed")
    for device in (alice, carol):
        assert ended(device) == ("policy", "over_limit")
    agent.logs("finished true")
    agent.logs("went on")


def test_plugins_are_listed_with_their_hooks(bot):
    agent = bot(ACCEPT)
    answer(agent, "ann")
    code, output = agent.tool("plugins")
    assert code == 0 and "support" in output and "invite" in output, output


def test_hooks_are_listed_by_the_names_that_plugins_use(bot):
    agent = bot("on.plugin_error(function() end)\non.extended_data(function() end)\n")
    code, output = agent.tool("plugins")
    assert code == 0 and "plugin_error" in output and "extended_data" in output, output


def test_after_a_crash_the_plugin_is_asked_again(bot):
    agent = bot(ACCEPT.replace("accept {}", 'accept { wait = "4s" }'))
    alice, call = call_support(agent)
    assert changes(alice.event("call.changed")) == {"support": ("ringing", None)}
    agent.crash()
    agent.start()
    alice = agent.connect("alice")
    event = alice.event("call.changed", timeout=10)
    assert (event["call_id"], changes(event)) == (call, {"support": ("joined", None)})


def test_a_question_under_way_is_asked_again_after_a_crash(bot):
    config = SUPPORT + 'invite = { default = "reject", decide_in = "8s" }\n'
    agent = bot('on.invite(function(call) sleep "1s" return accept {} end)\n', config)
    alice = agent.connect("alice")
    call = invite(alice, "support", mode="advanced")
    agent.crash()
    agent.start()
    alice = agent.connect("alice")
    event = alice.event("call.changed", timeout=10)
    assert (event["call_id"], changes(event)) == (call, {"support": ("joined", None)})
    assert event["actor"] == {"policy": "support"}
    alice.quiet()


def test_a_value_that_was_kept_is_there_after_a_crash(bot):
    agent = bot("on.invite(function(call)\n"
                "  return accept { extended_data = { n = kv.incr('calls', 1) } }\nend)\n")
    for number in range(1, 4):
        alice, _ = call_support(agent)
        (change,) = alice.event("call.changed")["changes"]
        assert json.loads(change["extended_data"]) == {"n": number}
        agent.crash()
        agent.start()


def test_a_plugin_cannot_write_the_fields_of_the_host(bot):
    agent = bot(ACCEPT + "on.accepted(function(call) log.info('taken', "
                         "{ call = 'mine', level = 'error', room = 7 }) end)\n")
    _, call = call_support(agent)
    line = wait_for("the line", lambda: next(
        (line for line in agent.log_text().splitlines() if '"taken"' in line), None))
    pairs = json.loads(line, object_pairs_hook=list)
    fields = dict(pairs)
    assert len(fields) == len(pairs), "a name occurs twice"
    assert (fields["call"], fields["level"]) == (call, "info")
    assert (fields["call_"], fields["level_"], fields["room"]) == ("mine", "error", "7")


def test_reports_are_told(bot):
    agent = bot(ACCEPT + "on.accepted(function(call, who) log.info('taken by ' .. who.id) end)\n"
                         "on.ended(function(call) log.info('over ' .. call.id) end)\n")
    alice, call = call_support(agent)
    alice.event("call.changed")
    alice.ok("call.end", call_id=call)
    agent.logs("taken by support")
    agent.logs(f"over {call}")
