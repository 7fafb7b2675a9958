"""Why a phone did not ring, or a call did not begin: what plugins and the operator's file did."""

import re
import resource

from websockets.exceptions import ConnectionClosed

from agent import wait_for
from calls import invite
from test_push import pushes, register, settled

GUARD = """plugin { guard = true }
on.invite(function(call) return call.extended_data.ticket end)
"""
BROKEN = 'on.invite(function(call) error "oops" end)\n'
DIAL = """on.dial(function(call)
  if call.caller.id == "dora" then return refuse "unpaid" end
end)
"""
EVERYBODY = 'answer_for = { "*" }\nplugins = { "p" }\n'


def verdict(agent, user):
    def items():
        reply = agent.admin("GET", f"/admin/v1/users/{user}/explain")
        assert reply.status == 200, reply.text
        return reply.body["items"]

    # A call that has just ended is on its way to the disk, where it is read.
    (item,) = wait_for(f"a call of {user}", items)
    return item["verdict"], item["text"]


def test_a_guard_that_failed_refused_while_the_phone_was_there(make_agent):
    agent = make_agent(EVERYBODY, {"p": GUARD}).start()
    agent.connect("bob")
    invite(agent.connect("ann"), "bob", mode="common")
    wait_for("the answer", lambda: "p" in verdict(agent, "bob")[1])
    word, text = verdict(agent, "bob")
    assert word == "refused", text
    assert text == "it was rejected, because the plugin p failed (error)"


def test_a_plugin_that_lets_nobodys_phone_ring_answers(make_agent):
    """An account without a device is `ringing` while its plugin waits, and nothing rang."""
    waits = 'on.invite(function() return accept { wait = "20s" } end)\n'
    agent = make_agent(EVERYBODY, {"p": waits}).start()
    invite(agent.connect("ann"), "desk", mode="advanced")
    said = ("answered", "the plugin p said accept")
    wait_for("the answer", lambda: verdict(agent, "desk") == said)


def test_a_plugin_that_rejected_is_named_with_its_own_reason(make_agent):
    """Callers get the text in the extended data, and nothing else of those is shown."""
    quiet = """on.invite(function()
  return reject("quiet hours", { extended_data = { pin = "4711" } })
end)
"""
    agent = make_agent(EVERYBODY, {"p": quiet}).start()
    invite(agent.connect("ann"), "bob", mode="common")
    said = ("refused", "the plugin p said reject declined: quiet hours")
    wait_for("the answer", lambda: verdict(agent, "bob") == said)
    code, text = agent.tool("explain", "bob")
    assert code == 0 and said[1] in text and "4711" not in text, text


def test_the_operators_default_rejected(make_agent):
    config = EVERYBODY + 'invite = { default = "reject" }\n'
    agent = make_agent(config, {"p": "on.invite(function() end)\n"}).start()
    agent.connect("bob")
    invite(agent.connect("ann"), "bob", mode="common")
    word, text = verdict(agent, "bob")
    assert word == "refused", text
    assert text == "no plugin decided, and the operator's file rejects then (invite)"


def test_a_plugin_failed_and_nobody_was_there(make_agent):
    agent = make_agent(EVERYBODY, {"p": BROKEN}).start()
    invite(agent.connect("ann"), "bob", mode="common")
    wait_for("the answer", lambda: "p" in verdict(agent, "bob")[1])
    word, text = verdict(agent, "bob")
    assert word == "unreachable"
    assert text == ("no device was connected, and there was no registration; "
                    "the plugin p failed (error)")


def test_a_plugin_failed_and_it_rang(make_agent):
    agent = make_agent(EVERYBODY, {"p": BROKEN}).start()
    bob = agent.connect("bob")
    call_id = invite(agent.connect("ann"), "bob", mode="common")
    bob.event("call.incoming")
    bob.ok("call.ringing", call_id=call_id)
    assert verdict(agent, "bob") == ("rang", "it rang on phone; the plugin p failed (error)")


def test_a_call_that_on_dial_refused_is_told_on_both_sides(make_agent):
    agent = make_agent(EVERYBODY, {"p": DIAL}).start()
    dora = agent.connect("dora")
    dora.refused("call.invite", "refused", invitees=["bob"], mode="common")
    found = agent.admin("GET", "/admin/v1/users/bob/explain").body
    (refused,) = found["refused"]
    assert refused["caller"] == "dora" and refused["invitees"] == ["bob"]
    assert refused["text"] == "p refused the call: unpaid"
    code, text = agent.tool("explain", "bob")
    assert code == 0 and "dora was refused, refused: p refused the call: unpaid" in text
    # Who could not call is asked about as often as who was not called.
    assert agent.admin("GET", "/admin/v1/users/dora/explain").body["tried"] == [refused]
    code, text = agent.tool("explain", "dora")
    assert code == 0
    assert "dora could not call bob, refused: p refused the call: unpaid" in text


def test_nobody_called_since_a_moment(make_agent):
    agent = make_agent().start()
    code, text = agent.tool("explain", "dora")
    assert code == 0
    assert re.search(r"^nobody called dora since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$", text, re.M)


def fill_disk(agent, device):
    """From now on the log of the store may not grow; what held before. `device` hears of it."""
    log = agent.folder / "state" / "callagent.db-wal"
    before = resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE)
    most = log.stat().st_size + 30_000
    resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        while "ok" in device.ask("call.invite", invitees=["bob"], mode="advanced"):
            pass
    except ConnectionClosed:
        pass
    agent.logs("store failed")
    return before


def test_a_store_that_was_away_is_why_nobody_could_call(make_agent):
    """No request gets as far as its user then: devices are sent away and may not come back."""
    agent = make_agent().start()
    before = fill_disk(agent, agent.connect("dora"))
    # Who had begun to call is named.
    code, text = agent.tool("explain", "dora")
    assert code == 0 and "dora could not call bob, unavailable: the store is away" in text, text
    # While it lasts, somebody asks already.
    code, text = agent.tool("explain", "anna")
    assert code == 0, text
    day = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
    assert re.search(f"^{day}  nobody could call, until now: the store failed: .+$", text, re.M)
    assert agent.post("call.invite", "anna", {"invitees": ["bob"]}).status == 503
    code, text = agent.tool("explain", "anna")
    assert "anna could not call bob, unavailable: the store is away" in text, text
    resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, before)
    wait_for("readiness", agent.is_ready)
    invite(agent.connect("eve"), "bob", mode="advanced")
    code, text = agent.tool("explain", "anna")
    ended = f"^{day}  nobody could call, until {day}: the store failed: .+$"
    assert code == 0 and len(re.findall(ended, text, re.M)) == 1, text
    assert "nobody called anna since" in text
    found = agent.admin("GET", "/admin/v1/users/anna/explain").body
    (away,) = found["outages"]
    assert away["at"] < away["until_at"]


def test_what_another_process_refused_is_not_denied(make_agent):
    agent = make_agent().start()
    agent.connect("dora").refused("call.invite", "self_call", invitees=["dora"])
    agent.stop()
    agent.start()
    code, text = agent.tool("explain", "dora")
    assert code == 0 and "dora could not call" not in text
    assert re.search(
        r"^refusals and devices before \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC are not known: "
        "the server began then$", text, re.M), text
    code, text = agent.tool("explain", "dora", "--since", "0s")
    assert code == 0 and "are not known" not in text


def test_a_provider_in_trouble_while_it_rings_in_vain_is_a_failure(pusher, double):
    """Nobody is woken meanwhile: the alert has to see it, and `explain` to say so."""
    agent = pusher()
    register(agent, "bob", "phone", "fcm", "bob-1")
    away = {"status": 503, "reason": "UNAVAILABLE", "headers": {"retry-after": "60"}}
    double.plan("bob-1", away)
    alice = agent.connect("alice")
    invite(alice, "bob", mode="advanced", timeout_ms=1_000)
    pushes(double, 1)
    settled(agent, failed=1)
    assert agent.metrics()["callagent_pushes_withdrawn_total"] == 0
    word, text = verdict(agent, "bob")
    assert word == "push_failed", text
    assert text.startswith("the push by fcm could not be sent: unavailable: "), text
