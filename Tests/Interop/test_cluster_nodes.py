"""Commands about the nodes themselves, asked at any of them, and records that several have."""

import json
import threading

from agent import wait_for
from calls import invite
from cluster import answers, owns, shown
from link import RawLink, counted, word
from test_links import linked  # noqa: F401

DESK = 'plugins = { "desk" }\nanswer_for = { "desk" }\n'
ASKS = """
on.invite(function(call)
  if call.callee.id == "desk" then return reject "busy" end
end)
"""


def test_status_and_doctor_of_one_node_and_of_all(linked, nodes):  # noqa: F811
    owner, b, c = linked()
    c.connect("carl")
    wait_for("all have loaded the generation", lambda: len({
        node["generation"] for node in shown(owner)["nodes"]}) == 1)
    for node in nodes:
        code, said = node.tool("status", "--all")
        assert code == 0, said
        lines = said.splitlines()
        assert lines[0].startswith("a: owner, version ") and "live calls" in lines[0], said
        assert lines[1].startswith("b: front, version ") and "0 connections" in lines[1], said
        assert lines[2].startswith("c: front, ") and "1 connections" in lines[2], said
        code, said = node.tool("status", "--node", "c")
        assert (code, said.splitlines()) == (0, lines[2:]), said
        code, said = node.tool("doctor", "--node", "b")
        assert code == 0 and "b: ok    node b runs" in said, said
        assert "serves clients for a" in said, said
        assert "a: ok    this process runs" in node.tool("doctor", "--all")[1]
    code, said = b.tool("status", "--node", "x")
    assert code == 1 and "there is no node 'x'" in said, said
    code, said = b.tool("status", "--node", "b", "--all")
    assert code == 2 and "--all goes without --node" in said, said


def test_a_node_that_is_missing_is_named(linked):  # noqa: F811
    owner, b, c = linked()
    wait_for("all are seen", lambda: len(json.loads(
        b.tool("status", "--all", "--json")[1])["items"]) == 3)
    c.crash()
    missing = "c: cannot be asked: node c "
    wait_for("it is missed", lambda: missing in b.tool("status", "--all")[1])
    code, said = b.tool("status", "--all")
    assert code == 1 and "a: owner" in said and "b: front" in said, said
    # About itself a node answers also where nobody owns.
    owner.crash()
    wait_for("no owner", lambda: not answers(owner) and b.admin(
        "GET", "/admin/v1/calls").status == 503 or owns(b))
    reply = b.admin("GET", "/admin/v1/status?node=b")
    assert (reply.status, reply.body["node"]) == (200, "b"), reply.text


def test_the_management_api_names_a_node(linked):  # noqa: F811
    owner, b, c = linked()
    reply = b.admin("GET", "/admin/v1/log?node=c&level=info")
    assert reply.status == 200, reply.text
    assert any(line["message"] == "linked" for line in reply.body["items"]), reply.text
    assert c.admin("GET", "/admin/v1/config?node=b").status == 200
    after = reply.body["after"]
    newest = max(line["n"] for line in reply.body["items"])
    later = b.admin("GET", f"/admin/v1/log?node=c&after={after}").body["items"]
    assert all(line["n"] > newest for line in later), later
    refused = b.admin("GET", f"/admin/v1/log?node=*&after={after}")
    assert refused.status == 400 and "after is of one node" in refused.text
    everywhere = c.admin("GET", "/admin/v1/log?node=*&limit=3").body["items"]
    assert [(one["node"], one["status"]) for one in everywhere] == [
        ("a", 200), ("b", 200), ("c", 200)]
    viewer = b.admin("GET", "/admin/v1/status?node=c", headers={"X-Role": "viewer"})
    assert viewer.body["you"]["role"] == "viewer"
    # Calls are the owner's, and nothing else is.
    assert b.admin("GET", "/admin/v1/calls?node=c").status == 400
    assert owner.admin("POST", "/admin/v1/reload", {"node": "c"}).status == 400


def test_a_single_server_is_all_of_its_nodes(make_agent):
    alone = make_agent().start()
    code, said = alone.tool("status", "--all")
    assert code == 0 and ": alone, version" in said, said
    code, said = alone.tool("status", "--node", "x")
    assert code == 1 and "this server is alone" in said, said


def test_what_became_of_a_call_is_joined_from_all_who_owned(linked, nodes):  # noqa: F811
    for node in nodes:
        (node.folder / "plugins" / "desk.lua").write_text(ASKS)
    owner, b, c = linked(config=DESK)
    alice = owner.connect("alice")
    call = invite(alice, "bob", mode="common", timeout_ms=600_000)
    wait_for("it is written", lambda: "invite" in owner.tool("explain", call)[1])
    assert owner.stop() == 0
    new = wait_for("another owner", lambda: next(filter(owns, (b, c)), None))
    owner.launch()
    wait_for("a is linked", lambda: "a" in next(
        one["links"] for one in shown(new)["nodes"] if one["name"] == new.folder.name))
    bob = new.connect("bob")
    bob.ok("call.reject", call_id=call)
    wait_for("it has ended", lambda: json.loads(
        new.tool("get", call, "--json")[1])["call"]["state"] == "ended")
    other = next(node for node in (b, c) if node is not new)
    told = json.loads(other.tool("explain", call, "--all", "--json")[1])
    operations = [entry.get("op") for entry in told["journal"] if entry["kind"] == "request"]
    assert operations == ["call.invite", "call.reject"], told
    assert "missing" not in told
    # One that could say more is named when it is not there.
    owner.crash()
    wait_for("it is missed", lambda: "a: cannot be asked" in (
        other.tool("explain", call, "--all")[1]))
    assert json.loads(other.tool("explain", call, "--all", "--json")[1])["missing"] == ["a"]


def test_only_the_owner_asks_a_node_and_gets_its_own_answers(linked):  # noqa: F811
    owner, b, _ = linked()
    raw = RawLink(owner.place, node="d")
    # An answer to nothing changes nothing.
    raw.say("reports", word(1) + word(200) + word(0) + counted('{"a": 1}'))
    assert b.admin("GET", "/admin/v1/status?node=b").body["node"] == "b"
    raw.say("inquires", word(1) + counted("x") + counted("operator") + counted(b"")
            + counted("GET") + counted("/admin/v1/log?node=b") + word(0) + counted(""))
    assert raw.is_ended()
    # A node that is asked and goes is missed, and nobody waits for it.
    raw = RawLink(owner.place, node="d")
    reply = []
    asking = threading.Thread(
        target=lambda: reply.append(owner.admin("GET", "/admin/v1/status?node=d")))
    asking.start()
    assert raw.hear("inquires")
    raw.close()
    asking.join(10)
    assert reply[0].status == 503 and "the link to node d is gone" in reply[0].text
