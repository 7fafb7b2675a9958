"""The journal of a call, and why a phone did not ring."""

import json
import re
import time
from urllib.parse import quote

from agent import wait_for
from calls import invite
from console import ROLES, token
from double import token as device_token
from support import BUSY, SUPPORT, call


def journal(agent, call_id):
    reply = agent.admin("GET", f"/admin/v1/calls/{call_id}/journal")
    assert reply.status == 200, reply.text
    return reply.body["items"]


def kinds(entries):
    return [one["kind"] for one in entries]


def why(agent, user):
    """The verdicts about the calls to a user, the newest first."""
    reply = agent.admin("GET", f"/admin/v1/users/{user}/explain")
    assert reply.status == 200, reply.text
    return reply.body


def verdict(agent, user):
    (item,) = why(agent, user)["items"]
    return item["verdict"], item["text"]


def test_a_call_is_told_in_its_order(make_agent):
    agent = make_agent().start()
    bob = agent.connect("bob")
    ann = agent.connect("ann")
    call_id = invite(ann, "bob", mode="advanced")
    bob.event("call.incoming")
    bob.ok("call.ringing", call_id=call_id)
    bob.ack()
    bob.ok("call.accept", call_id=call_id)
    ann.ok("call.end", call_id=call_id)
    entries = journal(agent, call_id)
    assert [one["n"] for one in entries] == list(range(1, len(entries) + 1))
    assert [one["op"] for one in entries if one["kind"] == "request"] == [
        "call.invite", "call.ringing", "call.accept", "call.end"]
    told = [(one["user"], one["event"]) for one in entries if one["kind"] == "told"]
    assert told[0] == ("bob", "call.incoming")
    assert ("ann", "call.changed") in told and ("bob", "call.ended") in told
    changes = [one for one in entries if one["kind"] == "change"]
    assert [one["revision"] for one in changes] == [1, 2, 3, 4]
    assert changes[0]["actor"] == "ann" and changes[1]["actor"] == "bob"
    assert changes[1]["changes"] == [{"user": "bob", "state": "ringing", "reason": None}]
    assert changes[3]["state"] == "ended" and changes[3]["end"]["by"] == "ann"
    (acknowledged,) = [one for one in entries if one["kind"] == "acknowledged"]
    assert acknowledged["user"] == "bob" and acknowledged["device"] == "phone"
    # Asked, changed, told, acknowledged: one after the other.
    assert kinds(entries)[:3] == ["request", "change", "told"]
    after = agent.admin("GET", f"/admin/v1/calls/{call_id}/journal?after=3").body
    assert after["items"][0]["n"] == 4 and after["after"] == len(entries)


def test_plugins_and_refusals_are_entered(make_agent):
    agent = make_agent(SUPPORT, {"support": BUSY}).start()
    call_id, _ = call(agent, "ann")
    entries = journal(agent, call_id)
    (asked,) = [one for one in entries if one["kind"] == "asked"]
    assert (asked["hook"], asked["user"]) == ("invite", "support")
    (answered,) = [one for one in entries if one["kind"] == "answered"]
    assert answered["plugin"] == "support" and answered["decision"] == "reject"
    assert answered["detail"] == "busy" and answered["failure"] is None
    assert answered["generation"] and answered["cpu_us"] >= 0
    order = kinds(entries)
    assert order.index("asked") < order.index("answered")
    ann = agent.connect("ann", device="other")
    answer = ann.ask("call.accept", call_id=call_id)["error"]["code"]
    (refused,) = [one for one in journal(agent, call_id) if one.get("code")]
    assert refused["code"] == answer and refused["op"] == "call.accept"
    assert (refused["user"], refused["device"]) == ("ann", "other")
    # A stranger leaves no mark.
    agent.connect("mallory").ask("call.accept", call_id=call_id)
    assert "mallory" not in json.dumps(journal(agent, call_id))


def test_timers_and_signals(make_agent):
    agent = make_agent().start()
    bob, ann = agent.connect("bob"), agent.connect("ann")
    call_id = invite(ann, "bob", mode="common", timeout_ms=1_000)
    bob.event("call.incoming")
    bob.event("call.timed_out")
    entries = journal(agent, call_id)
    assert [one["name"] for one in entries if one["kind"] == "timer"] == ["ring"]
    other = invite(ann, "bob", mode="advanced")
    bob.event("call.incoming")
    bob.ok("call.accept", call_id=other)
    for number in range(5):
        ann.ok("call.signal", call_id=other, data={"n": number})
    wait_for("signals", lambda: journal(agent, other)[-1].get("text") == "5 signals")
    assert "call.signal" not in json.dumps(journal(agent, other))
    # Who asks for what came behind misses nothing: the count stands in the next entry's place.
    path = f"/admin/v1/calls/{other}/journal"
    after = agent.admin("GET", path).body["after"]
    ann.ok("call.signal", call_id=other, data={})
    ann.ok("call.leave", call_id=other)
    found = agent.admin("GET", f"{path}?after={after}").body["items"]
    assert [one["op"] for one in found if one["kind"] == "request"] == ["call.leave"]
    assert found[-1]["text"] == "6 signals"


def test_a_long_call_keeps_its_beginning_and_its_end(make_agent):
    agent = make_agent("limits = { requests_per_second = 1000000 }\n").start()
    bob, ann = agent.connect("bob"), agent.connect("ann")
    call_id = invite(ann, "bob", mode="direct")
    bob.event("call.incoming")
    bob.ok("call.accept", call_id=call_id)
    for number in range(400):
        ann.ok("call.items", call_id=call_id, put={"n": str(number)})
    entries = journal(agent, call_id)
    assert len(entries) <= 501
    assert entries[0]["kind"] == "request" and entries[0]["op"] == "call.invite"
    notes = [one for one in entries if one["kind"] == "note"]
    assert len(notes) == 1 and "left out" in notes[0]["text"]
    assert entries[-1]["n"] > 1_000


def test_it_survives_a_crash_and_a_small_memory(make_agent):
    agent = make_agent("journal = { calls = 0 }\n").start()
    ann = agent.connect("ann")
    ended = invite(ann, "bob", mode="common")
    ann.ok("call.cancel", call_id=ended, invitees=["bob"])
    # It is in memory no more, and the file has it.
    entries = journal(agent, ended)
    assert kinds(entries)[0] == "request" and entries[-1]["kind"] in ("change", "told", "push")
    live = invite(ann, "carl", mode="common")
    wait_for("the file", lambda: live in (agent.folder / "state" / "journal.jsonl").read_text())
    before = journal(agent, live)
    agent.crash()
    agent.start()
    again = agent.connect("ann")
    again.ok("call.cancel", call_id=live, invitees=["carl"])
    after = journal(agent, live)
    assert [one["kind"] for one in after][:2] == kinds(before)[:2]
    assert after[-1]["n"] > before[-1]["n"] and [one for one in after if one.get("end")]
    assert [one["n"] for one in after] == list(range(1, len(after) + 1))
    # What was entered last before a crash may be missing: that is said once, in its place.
    (note,) = [one for one in after if one["kind"] == "note"]
    assert "after a crash its last second is missing" in note["text"]
    assert before[-1]["at"] <= note["at"] <= after[-1]["at"]
    assert "started; after a crash" in agent.tool("explain", live)[1]


def test_without_a_file_nothing_is_written(make_agent):
    agent = make_agent("journal = { calls = 1, file = false }\n").start()
    ann = agent.connect("ann")
    first, second = (invite(ann, "bob", mode="common") for _ in range(2))
    for one in (first, second):
        ann.ok("call.cancel", call_id=one, invitees=["bob"])
    assert journal(agent, second)
    assert agent.admin("GET", f"/admin/v1/calls/{first}/journal").status == 404
    agent.stop()
    assert not (agent.folder / "state" / "journal.jsonl").exists()


# Why did my phone not ring?

def test_it_rang(make_agent):
    agent = make_agent().start()
    bob = agent.connect("bob")
    call_id = invite(agent.connect("ann"), "bob", mode="common")
    bob.event("call.incoming")
    bob.ok("call.ringing", call_id=call_id)
    assert verdict(agent, "bob") == ("rang", "it rang on phone")


def test_nobody_was_connected_and_there_was_no_registration(make_agent):
    agent = make_agent().start()
    invite(agent.connect("ann"), "bob", mode="common")
    word, text = verdict(agent, "bob")
    assert word == "unreachable" and "no device" in text and "no registration" in text


def test_a_device_never_acknowledged(make_agent):
    agent = make_agent().start()
    bob = agent.connect("bob", device="old-phone")
    invite(agent.connect("ann"), "bob", mode="common")
    bob.event("call.incoming")
    word, text = verdict(agent, "bob")
    assert word == "silent" and "old-phone" in text and "never acknowledged" in text


def test_a_provider_refused_the_push(pusher, double):
    agent = pusher()
    double.plan("d1", {"status": 410, "reason": "Unregistered"})
    reply = agent.post(
        "device.push_register", "bob", {"provider": "apns", "token": device_token("d1")},
        device="phone-1")
    assert reply.status == 200, reply.text
    invite(agent.connect("ann"), "bob", mode="advanced")
    wait_for("its end", lambda: agent.admin("GET", "/admin/v1/pushes?state=failed").body["items"])
    word, text = verdict(agent, "bob")
    assert word == "push_failed" and "apns" in text and "refused" in text, text
    (push,) = agent.admin("GET", "/admin/v1/pushes").body["items"]
    assert push["state"] == "failed" and push["attempts"] == 1 and push["user"] == "bob"
    path = "/admin/v1/pushes/" + quote(push["push"], safe="") + "/retry"
    assert agent.admin("POST", path).status == 200


def test_a_plugin_refused(make_agent):
    agent = make_agent(SUPPORT, {"support": BUSY}).start()
    call(agent, "ann")
    word, text = verdict(agent, "support")
    assert word == "refused" and "the plugin support said reject busy" in text


def test_a_rate(make_agent):
    config = ROLES + "limits = { invitations_per_minute = 1 }\n"
    agent = make_agent(config).start()
    ann = agent.connect("ann", token=token("ann"))
    invite(ann, "carl", mode="common")
    ann.refused("call.invite", "rate_limited", invitees=["bob"], mode="common")
    found = why(agent, "bob")
    assert found["items"] == []
    (refused,) = found["refused"]
    assert refused["caller"] == "ann" and refused["code"] == "rate_limited"
    code, text = agent.tool("explain", "bob")
    assert code == 0 and "rate_limited" in text


def test_the_caller_gave_up_first(make_agent):
    agent = make_agent().start()
    bob, ann = agent.connect("bob"), agent.connect("ann")
    call_id = invite(ann, "bob", mode="common")
    bob.event("call.incoming")
    ann.ok("call.cancel", call_id=call_id, invitees=["bob"])
    word, text = verdict(agent, "bob")
    assert word == "cancelled" and "gave up" in text and "phone" in text


def test_a_key_was_revoked(make_agent):
    agent = make_agent(ROLES).start()
    bob = agent.connect("bob", token=token("bob", iat=int(time.time()) - 10))
    assert agent.admin("POST", "/admin/v1/revoke", {"user": "bob"}).status == 200
    assert bob.closed() is not None
    ann = agent.connect("ann", token=token("ann"))
    wait_for("the absence of bob", lambda: not agent.admin(
        "GET", "/admin/v1/users/bob").body["online"])
    invite(ann, "bob", mode="common")
    found = why(agent, "bob")
    assert found["items"][0]["verdict"] == "revoked" and "revoked" in found["items"][0]["text"]
    assert any(one["why"] == "revoked" for one in found["connections"])


def test_busy_by_another_call(make_agent):
    agent = make_agent().start()
    bob = agent.connect("bob")
    first = invite(agent.connect("ann"), "bob", mode="managed")
    bob.event("call.incoming")
    bob.ok("call.accept", call_id=first)
    agent.connect("carl").ok("call.invite", invitees=["bob"], mode="managed")
    found = why(agent, "bob")["items"]
    assert found[0]["verdict"] == "busy" and first in found[0]["text"]


def test_the_tool_shows_a_ladder(make_agent):
    agent = make_agent().start()
    bob, ann = agent.connect("bob"), agent.connect("ann")
    call_id = invite(ann, "bob", mode="common")
    bob.event("call.incoming")
    code, text = agent.tool("explain", call_id)
    assert code == 0, text
    lines = text.splitlines()
    assert re.match(r"\s*0\.0\S* → ann/phone call\.invite", lines[0]), text
    assert any("← call.incoming to bob/phone" in line for line in lines)
    code, text = agent.tool("explain", "bob", "--since", "1h")
    assert code == 0 and "ann called" in text and call_id in text
    assert agent.tool("explain", call_id, "--since", "1h")[0] == 2
    assert "nobody called" in agent.tool("explain", "dora")[1]
