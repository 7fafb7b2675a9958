"""New plugins for some accounts: who is met, what stays, and how it ends."""

import json
import signal

import pytest

from agent import wait_for
from calls import invite
from cluster import answers, stands_by

DESKS = 'answer_for = { "desk-*" }\nplugins = { "desk" }\n'
OLD = """plugin { state_version = 1 }
on.invite(function(call)
  state.n = (state.n or 0) + 1
  return accept { extended_data = { by = "old", n = state.n } }
end)
on.ended(function() log.info "the old one hears the end" end)
"""
NEW = OLD.replace('by = "old"', 'by = "new"').replace(
    "state_version = 1 }", "state_version = 2 }\nmigrate(function(old) return old end)")
RINGS = """on.invite(function(call) return ring {} end)
on.ended(function() log.info "the new one hears the end" end)
"""
FAILS = "on.invite(function(call) error 'worse' end)\n"


@pytest.fixture
def desks(make_agent):
    """A server whose plugin answers for all desks."""
    return make_agent(DESKS, {"desk": OLD}).start()


def rewrite(agent, text):
    (agent.folder / "plugins" / "desk.lua").write_text(text)


def tool(agent, *words):
    code, output = agent.tool(*words)
    assert code == 0, output
    return output


def answer(agent, desk, caller="ann"):
    """What the plugin of this desk said."""
    device = agent.connect(caller)
    invite(device, desk, mode="advanced")
    told = device.event("call.changed")
    return json.loads(told["changes"][0]["extended_data"])


def plugins(agent):
    return json.loads(agent.tool("plugins", "--json")[1])


def begin(agent, *words, text=NEW):
    rewrite(agent, text)
    return tool(agent, "reload", "--canary", *words)


def test_it_decides_for_its_accounts_until_it_is_promoted(desks):
    for caller in ("a", "b"):
        assert answer(desks, "desk-2", caller)["by"] == "old"
    output = begin(desks, "desk-1*")
    assert "decides for desk-1*" in output, output
    assert answer(desks, "desk-1", "c") == {"by": "new", "n": 3}
    assert answer(desks, "desk-12", "d") == {"by": "new", "n": 4}
    assert answer(desks, "desk-2", "e") == {"by": "old", "n": 3}
    shown = tool(desks, "plugins")
    lines = [line.split() for line in shown.splitlines()]
    assert ["asked", "1", "2"] in lines and ["accept", "1", "2"] in lines, shown
    output = tool(desks, "reload", "--promote")
    assert "'state' is dropped" in output and "is in force" in output, output
    assert answer(desks, "desk-2", "f") == {"by": "new", "n": 4}
    assert plugins(desks)["canary"] is None
    metrics = desks.metrics()
    # What both have counted; the two that were asked before, and the one after.
    assert metrics['callagent_hook_answered_total{hook="invite",plugin="desk"}'] == 6
    assert metrics["callagent_policy_canary"] == 0


def test_it_is_taken_back(desks):
    before = plugins(desks)["generation"]
    begin(desks, "desk-1")
    name = plugins(desks)["canary"]["generation"]
    assert answer(desks, "desk-1", "a")["by"] == "new"
    output = tool(desks, "reload", "--abort")
    assert name in output and before in output, output
    assert answer(desks, "desk-1", "b")["by"] == "old"
    code, output = desks.tool("reload", "--abort")
    assert code == 1 and "there is no canary" in output, output
    code, output = desks.tool("reload", "--promote")
    assert code == 1 and "there is no canary" in output, output
    # The files on disk were taken back: a start does not take them.
    desks.stop()
    desks.start()
    assert answer(desks, "desk-1", "c")["by"] == "old"


def test_a_reload_or_rollback_does_not_end_it(desks):
    begin(desks, "desk-1")
    for words in (("reload",), ("rollback",)):
        code, output = desks.tool(*words)
        assert code == 1 and "--promote" in output and "--abort" in output, output
    desks.signal(signal.SIGHUP)
    desks.logs("reload failed")
    assert answer(desks, "desk-1", "a")["by"] == "new"
    assert answer(desks, "desk-2", "b")["by"] == "old"


def test_what_cannot_begin_changes_nothing(desks):
    code, output = desks.tool("reload", "--canary", "desk-1")
    assert code == 1 and "in force for all" in output, output
    rewrite(desks, OLD.replace("state_version = 1", "state_version = 2"))
    assert answer(desks, "desk-1", "a")["by"] == "old"
    code, output = desks.tool("reload", "--canary", "desk-1")
    assert code == 1 and "without migrate" in output, output
    for words in (("--canary", "a*b"), ("--canary", "101%"), ("--salt", "x"),
                  ("--abort-on-failure", "2"), ("--canary", "a", "--abort"),
                  ("--canary", "a", "--abort-on-failure", "0")):
        assert desks.tool("reload", *words)[0] == 2, words
    refused = desks.admin("POST", "/admin/v1/reload", {"canary": "0%"})
    assert refused.status == 400 and "canary" in refused.text, refused.text
    assert plugins(desks)["canary"] is None


@pytest.mark.parametrize("end", ["stop", "crash"])
def test_a_restart_goes_on_with_both(desks, end):
    before = invite(desks.connect("zoe"), "desk-1", mode="advanced")
    begin(desks, "desk-1", text=RINGS)
    during = invite(desks.connect("ann"), "desk-1", mode="advanced")
    tool(desks, "reload", "--canary", "desk-2")
    found = plugins(desks)
    getattr(desks, end)()
    desks.start()
    desks.logs("canary goes on")
    again = plugins(desks)
    assert again["generation"] == found["generation"]
    for member in ("generation", "for", "salt", "since_at"):
        assert again["canary"][member] == found["canary"][member]
    # Whom it is for now, and whom it was for when each call began.
    assert answer(desks, "desk-1", "ben")["by"] == "old"
    desks.connect("ann").ok("call.cancel", call_id=during)
    desks.logs("the new one hears the end")
    assert "the old one hears the end" not in desks.log_text()
    desks.connect("zoe").ok("call.end", call_id=before)
    desks.logs("the old one hears the end")
    assert desks.log_text().count("the new one hears the end") == 1
    tool(desks, "reload", "--promote")
    desks.crash()
    desks.start()
    assert plugins(desks)["canary"] is None
    assert plugins(desks)["generation"] == found["canary"]["generation"]


@pytest.mark.parametrize("end", [None, "crash"])
def test_who_leaves_a_call_and_comes_back_keeps_his_generation(desks, end):
    ann = desks.connect("ann")
    call = invite(ann, "desk-1", mode="advanced")
    assert json.loads(ann.event("call.changed")["changes"][0]["extended_data"])["by"] == "old"
    ann.ok("call.remove", call_id=call, users=["desk-1"])
    assert ann.event("call.changed")["changes"][0]["state"] == "left"
    begin(desks, "desk-1")
    if end:
        desks.crash()
        desks.start()
        ann = desks.connect("ann")
    ann.ok("call.add", call_id=call, invitees=["desk-1"])
    told = ann.event("call.changed")["changes"][0]
    while told["state"] != "joined":
        told = ann.event("call.changed")["changes"][0]
    assert json.loads(told["extended_data"])["by"] == "old"
    assert answer(desks, "desk-1", "ben")["by"] == "new"


def test_a_start_from_the_disk_ends_it(desks):
    begin(desks, "desk-1")
    desks.stop()
    desks.start("--from-disk")
    assert plugins(desks)["canary"] is None
    assert answer(desks, "desk-2", "ann")["by"] == "new"


def test_a_share_has_the_same_accounts_with_the_same_salt(desks):
    def met():
        callers = iter(f"caller-{number}" for number in range(30))
        return {desk for desk in map("desk-{}".format, range(30))
                if answer(desks, desk, next(callers))["by"] == "new"}

    begin(desks, "40%", "--salt", "spring")
    first = met()
    assert 3 < len(first) < 25, first
    tool(desks, "reload", "--abort")
    begin(desks, "60%", "--salt", "spring", text=NEW + "-- another\n")
    assert met() > first
    found = plugins(desks)["canary"]
    assert (found["for"], found["salt"]) == ("60%", "spring")
    tool(desks, "reload", "--canary", "10%")
    found = plugins(desks)["canary"]
    assert (found["for"], found["salt"]) == ("10%", found["generation"])


def test_one_that_fails_goes_back_by_itself(desks):
    begin(desks, "desk-1", text=FAILS)
    callers = [desks.connect(f"caller-{number}") for number in range(20)]
    for caller in callers:
        invite(caller, "desk-1", mode="advanced")
    desks.logs("canary taken back")
    assert answer(desks, "desk-1", "ann")["by"] == "old"
    assert desks.metrics()['callagent_reloads_total{result="rolled_back"}'] == 1


def test_few_accounts_only_raise_an_alarm(desks):
    begin(desks, "desk-1", text=FAILS)
    caller = desks.connect("ann")
    for _ in range(3):
        invite(caller, "desk-1", mode="advanced")
    wait_for("an alarm", lambda: any(
        "too few" in alarm for alarm in desks.admin("GET", "/admin/v1/status").body["alarms"]))
    assert plugins(desks)["canary"] is not None
    tool(desks, "reload", "--abort")
    assert desks.admin("GET", "/admin/v1/status").body["alarms"] == []
    begin(desks, "desk-1", "--abort-on-failure", "2", text=FAILS + "-- again\n")
    for _ in range(2):
        invite(caller, "desk-1", mode="advanced")
    desks.logs("canary taken back")
    assert plugins(desks)["canary"] is None


def test_who_knows_a_bug_of_both_takes_no_canary_back(make_agent):
    """Also where the operator says after how many failures it goes back."""
    bug = """on.invite(function(call)
  if call.extended_raw == "bug" then error "old" end
  if call.extended_raw == "new" and NEW then error "new" end
  return ring {}
end)
"""
    old, new = bug.replace("NEW", "false"), bug.replace("NEW", "true")
    agent = make_agent(DESKS, {"desk": old}).start()
    begin(agent, "desk-1", "--abort-on-failure", "2", text=new)
    mallory = agent.connect("mallory")

    def asked():
        return plugins(agent)["canary"]["own"]["asked"]

    for count in range(1, 6):
        invite(mallory, "desk-1", mode="advanced", extended_data="bug")
        wait_for("a decision", lambda: asked() == count)
    assert plugins(agent)["canary"]["failures"] == 0
    for name in ("ann", "ben"):
        invite(agent.connect(name), "desk-1", mode="advanced", extended_data="new")
    agent.logs("canary taken back")
    assert plugins(agent)["canary"] is None


def test_who_knows_how_to_make_old_plugins_late_takes_no_canary_back(make_agent):
    late = """on.invite(function(call)
  if call.extended_data then sleep "10s" end
end)
"""
    agent = make_agent(DESKS + 'invite = { decide_in = "500ms" }\n', {"desk": late}).start()
    begin(agent, "desk-*", text=late + "-- the same\n")
    for number in range(17):
        invite(agent.connect(f"quiet-{number}"), "desk-1", mode="advanced")
    three = [agent.connect(f"mallory-{number}") for number in range(3)]
    # Soon after each other: who fails five times is passed over, but is asked already by then.
    for _ in range(8):
        for one in three:
            invite(one, "desk-1", mode="advanced", extended_data='{"slow":1}')

    def is_over():
        canary = plugins(agent)["canary"]
        return canary is None or canary["own"]["asked"] >= 17 + 3 * 8

    wait_for("all of them late", is_over)
    invite(agent.connect("zoe"), "desk-1", mode="advanced")
    found = plugins(agent)["canary"]
    assert found is not None, "three accounts took it back"
    assert found["accounts"] == 21 and found["failing"] == 0, found
    assert found["failures"] == 0, "the generation before is as late"


def test_who_may_and_who_is_noted(desks):
    rewrite(desks, NEW)
    for path in ("reload", "promote", "abort"):
        refused = desks.admin("POST", f"/admin/v1/{path}", headers={"X-Role": "viewer"})
        assert refused.status == 403, refused.text
    tool(desks, "reload", "--canary", "desk-1")
    tool(desks, "reload", "--promote")
    noted = desks.admin("GET", "/admin/v1/audit").body["items"]
    paths = [(one["path"], one["status"]) for one in noted]
    assert ("/admin/v1/promote", 200) in paths and ("/admin/v1/reload", 200) in paths, noted
    assert "desk-1" in json.dumps(noted)


def test_what_waits_for_the_promotion_is_said(desks):
    config = (desks.folder / "callagent.lua").read_text()
    (desks.folder / "callagent.lua").write_text(
        config + 'invite = { default = "reject" }\nlimits.invitees = 3\n')
    output = begin(desks, "desk-1 other")
    assert "invite: as before for everybody" in output, output
    assert "server's part" in output, output
    assert desks.connect("a").hello["limits"]["invitees"] != 3
    tool(desks, "reload", "--promote")
    assert desks.connect("b").hello["limits"]["invitees"] == 3


def test_it_may_answer_for_other_accounts(desks):
    (desks.folder / "callagent.lua").write_text(
        (desks.folder / "callagent.lua").read_text().replace(
            '"desk-*"', '"desk-*", "new-*"'))
    begin(desks, "new-1")
    assert answer(desks, "new-1", "a")["by"] == "new"
    person = desks.connect("new-2")
    invite(desks.connect("b"), "new-2", mode="advanced")
    person.event("call.incoming")


def test_another_node_goes_on_with_both(nodes):
    first, second, _ = nodes
    own = (first.folder / "callagent.lua").read_text().split("\n", 2)[2]
    first.configure(own + DESKS, {"desk": OLD})
    first.start()
    second.launch()
    wait_for("standing by", lambda: stands_by(second))
    rewrite(first, NEW)
    begun = first.admin("POST", "/admin/v1/reload", {"canary": "desk-1", "abort_on_failure": 3})
    assert begun.status == 200, begun.text
    first.crash()
    wait_for("the other node serves", lambda: answers(second))
    assert answer(second, "desk-1", "ann")["by"] == "new"
    assert answer(second, "desk-2", "ben")["by"] == "old"
    found = second.admin("GET", "/admin/v1/plugins").body["canary"]
    assert found["generation"] == begun.body["generation"] and found["abort_on_failure"] == 3
    promoted = second.admin("POST", "/admin/v1/promote")
    assert promoted.status == 200, promoted.text
    assert answer(second, "desk-2", "cid")["by"] == "new"
