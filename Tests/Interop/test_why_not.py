"""Why a phone did not ring, or a call did not begin: what plugins and the operator's file did."""

import re

from agent import wait_for
from calls import invite

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
