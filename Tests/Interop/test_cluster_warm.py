"""Nodes that wait have loaded the generation in force, or say why not and do not own."""

import json

from agent import wait_for
from calls import ended, invite
from cluster import answers, shown, stands_by, tool
from test_links import linked  # noqa: F401

DESK = 'plugins = { "desk" }\nanswer_for = { "desk" }\n'
BUSY = 'on.invite(function(call) return reject "busy" end)\n'
KEYED = """
local cfg = config {
  key = option.secret(nil, { required = true }),
}
""" + BUSY


def generations(node):
    return {one["name"]: one["generation"] for one in shown(node)["nodes"]}


def refusal(agent):
    alice = agent.connect("alice")
    invite(alice, "desk", mode="common")
    alice.event("call.changed")
    return ended(alice)[0]


def test_a_standby_loads_what_a_reload_puts_into_force(linked, nodes):  # noqa: F811
    (nodes[0].folder / "plugins" / "desk.lua").write_text(BUSY)
    owner, b, c = linked(config=DESK)
    first = json.loads(owner.tool("plugins", "--json")[1])["generation"]
    wait_for("all have it", lambda: generations(owner) == dict.fromkeys("abc", first))
    assert f", generation {first}" in tool(b)[1]
    (owner.folder / "plugins" / "desk.lua").write_text(BUSY.replace("busy", "declined"))
    assert owner.tool("reload")[0] == 0
    second = json.loads(owner.tool("plugins", "--json")[1])["generation"]
    assert second != first
    wait_for("all have it", lambda: generations(owner) == dict.fromkeys("abc", second))
    # Nothing is loaded at the takeover, and neither of them has the plugin's file.
    owner.crash()
    owns = wait_for("another owner", lambda: {"b": b, "c": c}.get(shown(b)["owner"]))
    owns.logs('"begins with the generation in force"')
    line = next(line for line in owns.log_text().splitlines() if "begins with" in line)
    assert json.loads(line)["loaded"] == "while it waited", line
    assert json.loads(line)["generation"] == second
    wait_for("it serves", lambda: answers(owns))
    assert refusal(owns) == "rejected"


def test_a_node_that_lacks_a_secret_says_so_and_does_not_own(nodes):
    first, second, third = nodes
    own = DESK + 'options["desk"] = { key = secret "env:DESK_KEY" }\n'
    first.environment["DESK_KEY"] = "known"
    text = (first.folder / "callagent.lua").read_text()
    first.configure(text[text.index("cluster"):] + own, {"desk": KEYED})
    first.start()
    second.launch()
    second.logs("may not own: the generation in force cannot be loaded")
    state = wait_for("it says so", lambda: (
        one := {node["name"]: node for node in shown(first)["nodes"]}["b"])["why_not"] and one)
    assert state["generation"] is None and state["eligible"], state
    assert "DESK_KEY" in state["why_not"], state
    alarm = f"node b may not own: {state['why_not']}"
    wait_for("the alarm", lambda: alarm in (
        first.admin("GET", "/admin/v1/status").body["alarms"]))
    code, said = tool(first, "hand-over", "b")
    assert code == 1 and said.startswith("callagent: cluster: b may not own: generation"), said
    code, said = first.tool("doctor")
    assert f"FAIL  {alarm}" in said, said
    # One that has it takes over although b waits longer.
    third.environment["DESK_KEY"] = "known"
    third.launch()
    wait_for("it is loaded", lambda: generations(first).get("c"))
    first.crash()
    wait_for("c serves", lambda: answers(third))
    assert shown(third)["owner"] == "c" and stands_by(second)
    assert refusal(third) == "busy"


def test_what_is_mended_is_noticed(nodes):
    first, second, _ = nodes
    own = DESK + 'options["desk"] = { key = secret "file:desk.key" }\n'
    text = (first.folder / "callagent.lua").read_text()
    (first.folder / "desk.key").write_text("known\n")
    first.configure(text[text.index("cluster"):] + own, {"desk": KEYED})
    first.start()
    second.launch()
    wait_for("it says so", lambda: {
        node["name"]: node["why_not"] for node in shown(first)["nodes"]}.get("b"))
    (second.folder / "desk.key").write_text("known\n")
    wait_for("it is loaded", lambda: generations(first)["b"] == generations(first)["a"])
    assert shown(first)["nodes"][1]["why_not"] is None
    first.crash()
    wait_for("b serves", lambda: answers(second))
    assert refusal(second) == "busy"
