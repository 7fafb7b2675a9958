"""Which nodes reach each other, and what a person is told of it."""

import urllib.request

from agent import free_port, wait_for
from calls import invite
from cluster import answers, owns, shown, tool
from test_links import linked  # noqa: F401


def seen_by(node):
    return {one["name"]: one["seen_by"] for one in shown(node)["nodes"]}


def why_not(node, name):
    return next(one["why_not"] for one in shown(node)["nodes"] if one["name"] == name)


def figures(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
        lines = (line for line in reply.read().decode().splitlines() if line[0] != "#")
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_all_nodes_see_each_other_and_again_after_a_hand_over(linked, nodes):  # noqa: F811
    a, b, _ = linked()
    everybody = {"a": ["b", "c"], "b": ["a", "c"], "c": ["a", "b"]}
    wait_for("they see each other", lambda: seen_by(a) == everybody)
    assert "  seen by: b, c\n" in tool(a)[1]
    assert wait_for("the owner has read it", lambda: a.metrics()["callagent_cluster_seen_by"] == 2)
    assert a.metrics()["callagent_cluster_nodes_unseen"] == 0
    code, said = tool(a, "hand-over", "b")
    assert code == 0, said
    wait_for("they see each other again", lambda: seen_by(a) == everybody)
    for node in nodes:
        wait_for("every node serves", lambda one=node: answers(one))
        assert "link given up" not in node.log_text()
    b.crash()
    wait_for("the others see each other", lambda: seen_by(a) == {
        "a": ["c"], "b": ["a", "c"], "c": ["a"]} or seen_by(a) == {
        "a": ["c"], "b": [], "c": ["a"]})


def test_a_node_that_nobody_sees_says_so_and_takes_over_after_the_others(
        linked, nodes):  # noqa: F811
    place = free_port()
    a, b, c = linked(through=True)
    # It is a front end from now on, at which the figures can be read.
    text = (a.folder / "callagent.lua").read_text()
    code, said = tool(c, "hand-over", "b")
    assert code == 0, said
    a.stop()
    a.configure(text + f'metrics = "127.0.0.1:{place}"\n')
    a.launch()
    wait_for("it serves", lambda: answers(a))
    wait_for("all see it", lambda: seen_by(c)["a"] == ["b", "c"])
    a.way.swallows = True
    wait_for("nobody sees it", lambda: seen_by(c)["a"] == [])
    why = wait_for("the table says so", lambda: why_not(c, "a"))
    assert why == "beside the owner no node sees it, and c is seen", why
    assert f"  may not own: {why}" in tool(b)[1] and "  seen by: nobody" in tool(b)[1]
    code, said = tool(b, "hand-over", "a")
    assert code != 0 and f"a may not own: {why}" in said, said
    said = b.tool("doctor")[1]
    assert f"node a would not take over: {why}" in said, said
    wait_for("its figure", lambda: figures(place)["callagent_cluster_unseen"] == 1)
    assert figures(place)["callagent_cluster_seen_by"] == 0
    wait_for("the owner's figure", lambda: b.metrics()["callagent_cluster_nodes_unseen"] == 1)
    wait_for("its log", lambda: "no node sees this one" in a.log_text())
    # It has its link, so it serves; and what is asked there is kept.
    assert answers(a)
    phone = c.connect("alice")
    call = invite(phone, "bob")
    b.crash()
    wait_for("the other one owns", lambda: owns(c))
    assert c.get(f"/v1/call/{call}", user="alice").status == 200
    wait_for("the node serves there too", lambda: answers(a))
    # When nobody else is left, it takes over all the same.
    c.crash()
    wait_for("it owns", lambda: owns(a))
    assert a.get(f"/v1/call/{call}", user="alice").status == 200
