"""What clients of front ends see when another node owns."""

import signal

from agent import wait_for
from calls import invite
from cluster import answers, shown, tool
from crowd import Crowd, room_for
from test_cluster_faults import FULL
from test_links import arrival, linked, links_of  # noqa: F401

REMINDS = """
timer("remind", function() log.info("it is time") end)
on.invite(function() later("1s", "remind") end)
"""


def test_a_takeover_keeps_clients_in_no_call_and_their_numbers(linked):
    owner, b, c = linked()
    idle = {node: node.connect("carl", f"at-{node.folder.name}") for node in (b, c)}
    talking = {node: node.connect(f"dora-{node.folder.name}") for node in (b, c)}
    # They have been told of a call that is over.
    caller = b.connect("eve")
    over = invite(caller, "carl")
    for phone in idle.values():
        phone.event("call.incoming")
    caller.ok("call.cancel", call_id=over)
    for phone in idle.values():
        phone.event("call.cancelled")
    live = {node: invite(phone, "fred", timeout_ms=600_000) for node, phone in talking.items()}
    owner.crash()
    new = serving_owner(b)
    other = c if new is b else b
    kept = idle[other]
    wait_for("the other one has a link to it", lambda: answers(other))
    # In a call: sent away, and the next node has the call.
    assert talking[other].closed() == 4001
    assert talking[new].closed() == 4001
    again = other.connect(f"dora-{other.folder.name}")
    assert [one["call_id"] for one in again.hello["calls"]] == [live[other]]
    assert not again.hello["resumed"]
    # In no call: connected still, under the same session and the next number, also at the node that
    # owns now.
    call = invite(again, "carl")
    for phone in idle.values():
        assert phone.ok("ping") == {}
        assert phone.event("call.incoming")["call_id"] == call
    # It counts no link to itself.
    wait_for("the links", lambda: links_of(new) == [other.folder.name])
    kept.vanish()
    back = other.connect("carl", kept.name, resume=kept.resume)
    assert back.hello["resumed"], "the session that the owner before had named"


def test_clients_that_a_new_owner_kept_leave_with_it(linked):
    owner, b, c = linked()
    idle = b.connect("carl")
    assert tool(c, "hand-over", "b")[0] == 0
    wait_for("b serves", lambda: shown(b)["owner"] == "b" and answers(b))
    assert idle.ok("ping") == {}
    # Whoever comes now is the server's own, and both are one user.
    call = invite(b.connect("dora"), "carl")
    assert idle.event("call.incoming")["call_id"] == call
    idle.ok("call.reject", call_id=call)
    # Another one takes over: the process begins anew, and says so to all.
    assert tool(c, "hand-over", "c")[0] == 0
    assert idle.closed() == 4001
    wait_for("c serves", lambda: shown(c)["owner"] == "c" and answers(c))
    back = arrival(b, "carl")
    assert back or wait_for("b serves for c", lambda: arrival(b, "carl"))
    # It ends in good order with one of them.
    assert tool(c, "hand-over", "b")[0] == 0
    wait_for("b serves", lambda: shown(b)["owner"] == "b" and answers(b))
    assert b.stop() == 0


def test_a_takeover_closes_those_who_talk_and_nobody_else(linked):
    """10,000 that do nothing and 500 in a call in full measure: at most 6 % of them all."""
    wanted, talkers = (10_000, 500) if FULL else (600, 30)
    count = room_for(wanted)
    owner, b, c = linked(config="limits = { connections_per_address = 100000 }\n")
    crowds = [Crowd(b.port), Crowd(c.port)]
    for place, crowd in enumerate(crowds):
        crowd.come(range(place, count, 2), patience=120)
    talking = [(b, c)[number % 2].connect(f"talker-{number}") for number in range(talkers)]
    for phone in talking:
        invite(phone, "fred", timeout_ms=600_000)
    owner.crash()
    new = serving_owner(b)
    wait_for("all serve", lambda: answers(new) and answers(c if new is b else b))
    assert {phone.closed() for phone in talking} == {4001}
    again = [(b, c)[number % 2].connect(f"talker-{number}") for number in range(talkers)]
    assert all(len(phone.hello["calls"]) == 1 for phone in again)
    closed = talkers + sum(len(crowd.gone()) for crowd in crowds)
    share = closed / (count + talkers)
    print(f"{closed} of {count + talkers} clients were closed: {share:.1%}")
    for crowd in crowds:
        crowd.vanish()
    assert share <= 0.06


def test_an_owner_that_is_stopped_is_followed_and_hears_no_more(linked):
    owner, b, c = linked()
    alice = b.connect("alice")
    call = invite(alice, "bob", mode="common", timeout_ms=600_000)
    owner.signal(signal.SIGSTOP)
    assert alice.closed() == 4001
    new = serving_owner(b)
    other = c if new is b else b
    wait_for("a link to it", lambda: answers(other))
    bob = other.connect("bob")
    bob.ok("call.reject", call_id=call)
    owner.signal(signal.SIGCONT)
    # At first it does not know that another one owns, and refuses.
    carl = wait_for("it serves as a front end", lambda: arrival(owner, "carl"))
    assert carl.hello["calls"] == []
    over = bob.ok("call.get", call_id=call)["call"]
    assert over["end"]["reason"] == "rejected"


def test_what_an_owner_was_asked_while_it_was_stopped_is_not_answered_from_before(linked):
    """Its calls are those of another node: it says nothing of them, not even to who only reads."""
    owner, b, _ = linked()
    alice = owner.connect("alice")
    call = invite(alice, "bob", mode="common", timeout_ms=600_000)
    owner.signal(signal.SIGSTOP)
    new = serving_owner(b)
    bob = wait_for("it serves", lambda: arrival(new, "bob"))
    bob.ok("call.reject", call_id=call)
    asked = alice.post("call.get", {"call_id": call})
    owner.signal(signal.SIGCONT)
    assert alice.closed() == 4001
    reply = alice.replies.get(asked)
    assert reply is None or reply.get("error", {}).get("code") == "unavailable", reply


def test_a_timer_that_another_node_has_fired_is_not_fired_again(linked, nodes):
    """When it goes on it is late for it, and does not know yet that it owns no more."""
    for node in nodes:
        (node.folder / "plugins" / "desk.lua").write_text(REMINDS)
    owner, b, _ = linked(config='plugins = { "desk" }\nanswer_for = { "desk" }\n')
    invite(owner.connect("alice"), "desk", mode="common")
    owner.signal(signal.SIGSTOP)
    new = serving_owner(b)
    wait_for("the timer", lambda: "it is time" in new.log_text())
    owner.signal(signal.SIGCONT)
    wait_for("it serves as a front end", lambda: arrival(owner, "carl"))
    assert "it is time" not in owner.log_text()


def test_a_stopped_owner_that_is_told_to_end_ends(linked):
    """Its order to end and the news that another node owns come at once."""
    owner, b, _ = linked()
    owner.signal(signal.SIGSTOP)
    serving_owner(b)
    owner.signal(signal.SIGTERM)
    owner.signal(signal.SIGCONT)
    assert owner.wait(patience=15) == 0, owner.log_text()


def serving_owner(*nodes):
    """The node that owns now, once it is another one than the first."""
    def owner():
        state = shown(nodes[0])
        return state["owner"] if state["epoch"] > 1 and state["owner"] else None

    return {"b": nodes[0]}.get(name := wait_for("an owner", owner)) or sibling(nodes[0], name)


def sibling(node, name):
    return next(one for one in node.siblings if one.folder.name == name)


def test_a_hand_over_keeps_them_too(linked):
    _, b, c = linked()
    idle, talking = b.connect("carl"), b.connect("dora")
    call = invite(talking, "fred", timeout_ms=600_000)
    assert tool(b, "hand-over", "c")[0] == 0
    assert talking.closed() == 4001
    wait_for("c serves", lambda: answers(c))
    wait_for("b has its link", lambda: answers(b) and "c" in links_of(b))
    assert idle.ok("call.list")["calls"] == []
    assert [one["call_id"] for one in b.connect("dora").hello["calls"]] == [call]
