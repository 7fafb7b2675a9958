"""`call.transfer` and `call.remove`: over WebSocket, HTTP and the tool, by plugins, after kills."""

import json

from agent import wait_for
from calls import changes, ended, invite, participant
from support import call as call_bot


def in_a_call(agent, mode="advanced"):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode=mode)
    bob.event("call.incoming")
    bob.ok("call.accept", call_id=call)
    for device in (alice, bob):
        assert changes(device.event("call.changed")) == {"bob": ("joined", None)}
        if mode == "direct":
            assert device.event("call.media_phase")["media"] == "establishing"
    return alice, bob, call


def test_somebody_else_takes_the_place(agent):
    alice, bob, call = in_a_call(agent, "direct")
    carol = agent.connect("carol")
    reply = alice.ok("call.transfer", call_id=call, to="carol", extended_data="ask her")
    assert participant(reply["call"], "carol")["state"] == "inviting"
    incoming = carol.event("call.incoming")
    assert incoming["inviter"] == "alice"
    assert incoming["transfer"] == {"by": "alice", "extended_data": "ask her"}
    for device in (alice, bob):
        assert changes(device.event("call.changed")) == {"carol": ("inviting", None)}
    alice.refused("call.transfer", "wrong_state", call_id=call, to="dave")
    carol.ok("call.accept", call_id=call)
    both = {"carol": ("joined", None), "alice": ("left", "transferred")}
    for device in (bob, carol):
        assert changes(device.event("call.changed")) == both
        assert device.event("call.media_phase")["media"] == "establishing"
    assert alice.event("call.transferred")["to"] == "carol"
    carol.ok("call.end", call_id=call)
    for device in (bob, carol):
        assert ended(device) == ("not_connected", None)
    alice.quiet()


def test_a_transfer_outlives_a_kill(agent):
    alice, bob, call = in_a_call(agent)
    alice.ok("call.transfer", call_id=call, to="carol", extended_data="x")
    agent.crash()
    agent.start()
    carol = agent.connect("carol")
    assert carol.event("call.incoming")["transfer"] == {"by": "alice", "extended_data": "x"}
    alice = agent.connect("alice")
    alice.refused("call.transfer", "wrong_state", call_id=call, to="dave")
    carol.ok("call.accept", call_id=call)
    assert alice.event("call.transferred")["to"] == "carol"
    got = carol.ok("call.get", call_id=call)["call"]
    assert participant(got, "alice")["reason"] == "transferred"


def test_an_ordinary_invitation_has_no_transfer(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    invite(alice, "bob", mode="direct")
    assert "transfer" not in bob.event("call.incoming")


def test_over_http_and_with_the_tool(agent):
    alice, bob, call = in_a_call(agent)
    reply = agent.post("call.transfer", "alice", {"call_id": call, "to": "alice"})
    assert reply.status >= 400 and reply.body["code"] == "self_call"
    assert agent.post("call.transfer", "alice", {"call_id": call}).body["code"] == "bad_request"
    to_carol = ("ask", "call.transfer", f"call_id={call}", "to=carol")
    code, output = agent.tool(*to_carol, "--as", "alice")
    assert code == 0, output
    assert participant(json.loads(output)["call"], "carol")["state"] == "inviting"
    accepted = agent.post("call.accept", "carol", {"call_id": call})
    assert participant(accepted.body["call"], "alice")["reason"] == "transferred"
    code, output = agent.tool("ask", "call.remove", f"call_id={call}", "users=carol", "--as", "bob")
    assert code == 1 and "not_inviter" in output, output
    code, output = agent.tool("ask", "call.transfer", f"call_id={call}", "too=carol", "--as", "bob")
    assert code == 2 and "to=" in output, output


def test_the_caller_removes(agent):
    alice, bob, call = in_a_call(agent)
    reply = agent.post("call.remove", "alice", {"call_id": call, "users": ["bob", "eve"]})
    assert reply.body["errors"] == [{"user": "eve", "code": "not_invited"}]
    assert changes(alice.event("call.changed")) == {"bob": ("left", "kicked")}
    assert bob.event("call.removed")["by"] == "alice"
    bob.refused("call.join", "not_invited", call_id=call)
    agent.crash()
    agent.start()
    bob = agent.connect("bob")
    bob.refused("call.join", "not_invited", call_id=call)
    alice = agent.connect("alice")
    alice.refused("call.remove", "bad_request", call_id=call, users=[])
    alice.ok("call.add", call_id=call, invitees=["bob"])
    bob.event("call.incoming")
    bob.ok("call.accept", call_id=call)


HANDS_ON = """on.invite(function(call)
  if call.callee.id ~= "support" then return ring {} end
  if call.transferred_by then
    return reject("busy", { extended_data = { by = call.transferred_by.id } })
  end
  return accept {}
end)
on.accepted(function(call, callee)
  if callee.id ~= "support" then return end
  local done, err = call:transfer("carol", { extended_data = { why = "a person is better" } })
  if not done then log.warn(err) end
end)
"""


def test_a_bot_hands_on_to_a_person(bot):
    agent = bot(HANDS_ON)
    carol = agent.connect("carol")
    call, _ = call_bot(agent, "ann")
    incoming = carol.event("call.incoming")
    assert incoming["transfer"]["by"] == "support"
    assert json.loads(incoming["transfer"]["extended_data"]) == {"why": "a person is better"}
    carol.ok("call.accept", call_id=call)
    got = carol.ok("call.get", call_id=call)["call"]
    assert participant(got, "support")["reason"] == "transferred"


def test_a_plugin_sees_who_transfers(bot):
    agent = bot(HANDS_ON)
    alice, bob, call = in_a_call(agent)
    alice.ok("call.transfer", call_id=call, to="support")
    def reason():
        one = participant(alice.ok("call.get", call_id=call)["call"], "support")
        return one["reason"] == "busy" and json.loads(one["extended_data"]) == {"by": "alice"}
    wait_for("the plugin's answer", reason)
    assert participant(alice.ok("call.get", call_id=call)["call"], "alice")["state"] == "joined"
