"""Modes and groups of the operator on the real server: what clients are told, and what is kept."""

import json

from calls import changes, invite, participant, states
from test_admission import KEYS, token

MODES = """
modes = {
  clinic = { like = "managed", ring_time = "30s", add = false, transfer = "everybody" },
  taxi = { like = "advanced", invitees = 12, participants = 13, first_accept_wins = true },
}
groups = { staff = { "ann", "bob", "cid" } }
"""


def test_a_client_learns_what_each_mode_allows(make_agent):
    agent = make_agent(MODES).start()
    alice = agent.connect("alice")
    modes = {mode["name"]: mode for mode in alice.hello["modes"]}
    assert list(modes)[:7] == [
        "common", "advanced", "managed", "direct", "ringing", "group", "handshake"]
    assert modes["clinic"]["add"] == "nobody" and modes["clinic"]["transfer"] == "everybody"
    assert modes["taxi"]["invitees"] == 12
    call = invite(alice, "zoe", mode="clinic")
    shown = alice.ok("call.get", call_id=call)["call"]
    assert (shown["mode"], shown["timeout_ms"]) == ("clinic", 30_000)
    assert alice.refused("call.invite", "bad_request", invitees=["bob"], mode="klinic")


def test_a_group_rings_and_the_first_has_the_call(make_agent):
    agent = make_agent(MODES).start()
    ann, bob, cid = (agent.connect(name) for name in ("ann", "bob", "cid"))
    zoe = agent.connect("zoe")
    call = invite(zoe, "group:staff", mode="taxi")
    for one in (ann, bob, cid):
        told = one.event("call.incoming")["call"]
        assert (told["call_id"], told["receiver"]) == (call, "group:staff")
    bob.ok("call.accept", call_id=call)
    assert changes(zoe.event("call.changed"))["ann"] == ("cancelled", "taken")
    assert ann.event("call.cancelled")["reason"] == "taken"
    assert cid.event("call.cancelled")["reason"] == "taken"
    ok = zoe.ok("call.invite", invitees=["group:nobody", "dan"], mode="taxi")
    assert ok["errors"] == [{"user": "group:nobody", "code": "unknown_user"}]


def test_a_group_counts_as_one_of_those_invited_in_a_minute(make_agent):
    agent = make_agent(KEYS + "limits = { invitations_per_minute = 2 }\n" + MODES).start()
    zoe = agent.connect("zoe", token=token(sub="zoe"))
    for _ in range(2):
        zoe.ok("call.invite", invitees=["group:staff"], mode="taxi")
    zoe.refused("call.invite", "rate_limited", invitees=["group:staff"], mode="taxi")


def test_a_live_call_keeps_its_mode_over_reload_and_crash(make_agent):
    agent = make_agent(MODES).start()
    bob, zoe = agent.connect("bob"), agent.connect("zoe")
    call = invite(zoe, "bob", mode="clinic")
    bob.event("call.incoming")
    bob.ok("call.accept", call_id=call)
    agent.configure("")
    code, said = agent.tool("reload")
    assert code == 0, said
    zoe.refused("call.add", "wrong_mode", call_id=call, invitees=["ann"])
    zoe.refused("call.invite", "bad_request", invitees=["ann"], mode="clinic")
    agent.crash()
    agent.start()
    bob, zoe = agent.connect("bob"), agent.connect("zoe")
    assert zoe.ok("call.get", call_id=call)["call"]["mode"] == "clinic"
    zoe.refused("call.add", "wrong_mode", call_id=call, invitees=["ann"])
    found = json.loads(agent.admin("GET", "/admin/v1/calls?mode=clinic").text)["items"]
    assert [one["call_id"] for one in found] == [call]


def test_the_table_of_modes_has_the_operators_own(make_agent):
    agent = make_agent(MODES)
    code, shown = agent.tool("modes")
    assert code == 0 and "clinic" in shown and "taxi" in shown and "first_accept_wins" in shown


def test_a_hunt_goes_on_after_a_crash(make_agent):
    agent = make_agent(
        'answer_for = { "sales" }\nplugins = { "hunt" }\n'
        'options["hunt"] = { group = "staff", each = "10s" }\n' + MODES).start()
    ann, bob = agent.connect("ann"), agent.connect("bob")
    zoe = agent.connect("zoe")
    call = invite(zoe, "sales", mode="direct")
    ann.event("call.incoming")
    agent.crash()
    agent.start()
    ann, bob, zoe = (agent.connect(name) for name in ("ann", "bob", "zoe"))
    ann.ok("call.reject", call_id=call)
    assert bob.event("call.incoming", timeout=20)["call"]["call_id"] == call
    bob.ok("call.accept", call_id=call)
    found = zoe.ok("call.get", call_id=call)["call"]
    assert states(found)["bob"] == "joined" and "cid" not in states(found)


def test_who_waits_in_the_queue_is_told_and_handed_on(make_agent):
    agent = make_agent(
        'answer_for = { "sales" }\nplugins = { "queue" }\n'
        'options["queue"] = { group = "staff", say_every = "1s" }\n' + MODES).start()
    zoe = agent.connect("zoe")
    call = invite(zoe, "sales", mode="advanced")
    assert changes(zoe.event("call.changed", timeout=20))["sales"] == ("joined", None)
    told = zoe.event("call.signal", timeout=20)["data"]
    assert told["position"] == 1 and told["waiting_ms"] >= 0
    bob = agent.connect("bob")
    assert bob.event("call.incoming", timeout=20)["call"]["call_id"] == call
    bob.ok("call.accept", call_id=call)
    found = zoe.ok("call.get", call_id=call)["call"]
    assert participant(found, "sales")["reason"] == "transferred"
    assert states(found)["bob"] == "joined"


def test_who_calls_many_queues_keeps_nobody_from_waiting(make_agent):
    agent = make_agent(
        'answer_for = { "desk-*" }\nplugins = { "queue" }\n'
        'options["queue"] = { group = "staff" }\n'
        'limits.requests_per_second = 10000\n' + MODES).start()
    mallory = agent.connect(f"mallory-{'x' * 50}")
    # Until the plugin's `state` is full, and on until the plugin is passed over for the caller.
    calls = [
        invite(mallory, f"desk-{number}-{'x' * 40}", mode="advanced") for number in range(400)]
    for call in calls:
        mallory.ask("call.end", call_id=call)
    zoe = agent.connect("zoe")
    invite(zoe, "desk-1", mode="advanced")
    assert changes(zoe.event("call.changed", timeout=20))["desk-1"] == ("joined", None)


def test_a_plugin_decides_who_comes_into_a_lobby(make_agent):
    agent = make_agent('plugins = { "door" }\n' + MODES, {"door": """
on.join(function(call, user)
  if user.id == "eve" then error "broken" end
  return user.id == "ann" and admit or refuse "not_on_the_list"
end)
"""}).start()
    zoe, ann, dan, eve = (agent.connect(name) for name in ("zoe", "ann", "dan", "eve"))
    call = invite(zoe, "bob", mode="advanced")
    ann.ok("call.join", call_id=call)
    error = dan.refused("call.join", "refused", call_id=call)
    assert error["detail"]["code"] == "not_on_the_list"
    eve.refused("call.join", "refused", call_id=call)
    assert states(zoe.ok("call.get", call_id=call)["call"]).keys() == {"zoe", "bob", "ann"}


def test_of_a_group_of_a_thousand_a_plugin_chooses(make_agent):
    people = ", ".join(f'"staff-{number}"' for number in range(1_000))
    agent = make_agent(
        f'plugins = {{ "chooser" }}\ngroups = {{ staff = {{ {people} }} }}\n', {"chooser": """
on.dial(function(call)
  if call.receiver == "group:staff" then return allow { invitees = { users.group("staff")[7] } } end
end)
"""}).start()
    zoe, seventh = agent.connect("zoe"), agent.connect("staff-6")
    call = invite(zoe, "group:staff", mode="advanced")
    told = seventh.event("call.incoming")["call"]
    assert (told["call_id"], told["receiver"]) == (call, "group:staff")
    assert states(told).keys() == {"zoe", "staff-6"}
