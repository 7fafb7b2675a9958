"""Clients connected to any node are served by the owner, over links between the nodes."""

import itertools
import json
import os
import subprocess
import threading
import time
import urllib.request

import pytest
from websockets.exceptions import WebSocketException

from agent import free_port, wait_for
from calls import changes, ended, invite, states
from cluster import answers, owns, shown, stands_by, tool
from device import Device
from link import RawLink, counted, frame, word
from raw import TEXT, RawSocket
from raw import frame as web_frame
from test_admission import KEYS, token
from way import Way


def linked_config(name, place, more=""):
    return (
        f'cluster = {{ database = secret "env:CALLAGENT_DATABASE", node = "{name}", '
        f'link = "127.0.0.1:{place}"{more} }}\n')


@pytest.fixture
def linked(nodes):
    """Three nodes with links; the first owns. Further settings of the table may be given. With
    `through`, what others say to the first goes over its `way`."""
    ways = []

    def start(more="", config="", of_b="", through=False):
        for node in nodes:
            node.place = free_port()
            node.siblings = nodes
            table = linked_config(node.folder.name, node.place, more)
            if through and node is nodes[0]:
                node.way = Way(node.place)
                ways.append(node.way)
                table = linked_config(
                    node.folder.name, node.way.port, f', bind = "127.0.0.1:{node.place}"' + more)
            node.configure(table + config + (of_b if node is nodes[1] else ""))
        nodes[0].start()
        for node in nodes[1:]:
            node.launch()
        for node in nodes:
            wait_for("every node serves", lambda one=node: answers(one))
        return nodes

    yield start
    for way in ways:
        way.close()


def test_phones_on_different_nodes_talk(linked):
    owner, b, c = linked()
    alice, bob = b.connect("alice"), c.connect("bob")
    call = invite(alice, "bob")
    assert bob.event("call.incoming")["call_id"] == call
    bob.ok("call.ringing", call_id=call)
    bob.ok("call.accept", call_id=call)
    assert states(alice.ok("call.get", call_id=call)["call"])["bob"] == "joined"
    # The same over HTTP, at either node.
    for node in (owner, b, c):
        reply = node.get(f"/v1/call/{call}", user="alice")
        assert reply.status == 200 and states(reply.body["call"])["bob"] == "joined", reply.text
    reply = c.post("call.invite", "carl", {"invitees": ["dora"]}, key="k")
    again = b.post("call.invite", "carl", {"invitees": ["dora"]}, key="k")
    assert (reply.status, again.body["call_id"]) == (200, reply.body["call_id"])
    assert b.post("call.get", "eve", {"call_id": call}).status == 404
    assert b.request("GET", f"/v1/call/{call}").status == 401
    assert b.get("/v1/openapi.json").status == 200
    alice.forget()
    bob.forget()
    assert b.post("call.end", "alice", {"call_id": call}).status == 200
    assert ended(alice)[0] == ended(bob)[0]


def test_every_operation_has_the_same_answer_at_a_front_end(linked):
    owner, b, _ = linked()
    near, far = owner.connect("alice", "near"), b.connect("alice", "far")
    asked = [
        ("call.get", {"call_id": "0" * 32}), ("call.get", {}), ("call.invite", {"invitees": []}),
        ("no.such", {}), ("call.list", {}), ("user.get", {"users": ["bob"]}), ("ping", {}),
        ("push.register", {"provider": "apns", "token": "00"}),
        ("push.unregister", {"provider": "apns"}), ("hello", {"token": "dev:alice"}),
    ]
    for op, data in asked:
        one, other = (phone.ask(op, **data) for phone in (near, far))
        assert one.keys() - {"re"} == other.keys() - {"re"}, (op, one, other)
        if "error" in one:
            assert one["error"] == other["error"]
    far.send("no JSON")
    assert far.reply(None)["error"]["code"] == "bad_request"
    far.ok("bye")
    assert far.closed() == 1000
    assert near.ok("ping") == {}


def test_the_state_of_the_cluster_shows_the_links(linked):
    owner, b, c = linked()
    b.connect("alice")

    def state():
        found = {node["name"]: node for node in shown(owner)["nodes"]}
        links = {name: node["links"] for name, node in found.items()}
        return found if links == {"a": ["b", "c"], "b": ["a"], "c": ["a"]} else None

    found = wait_for("links", state)
    assert {name: node["role"] for name, node in found.items()} == {
        "a": "owner", "b": "front", "c": "front"}
    assert found["b"]["link"] == f"127.0.0.1:{b.place}"
    assert "b: front, alive" in tool(owner)[1] and "  links: b, c\n" in tool(owner)[1]
    figures = wait_for("figures", lambda: (
        found := owner.metrics()).get("callagent_cluster_links") == 2 and found)
    assert figures["callagent_cluster_remote_clients"] == 1
    c.crash()
    wait_for("the other link", lambda: owner.metrics()["callagent_cluster_links"] == 1)


def test_a_session_is_resumed_at_another_node(linked):
    _, b, c = linked()
    alice, bob = b.connect("alice"), b.connect("bob")
    call = invite(alice, "bob")
    bob.event("call.incoming")
    bob.vanish()
    bob.close()
    alice.ok("call.cancel", call_id=call)
    again = c.connect("bob", resume=bob.resume)
    assert again.hello["resumed"]
    assert again.event("call.cancelled")["call_id"] == call


def test_a_newer_connection_replaces_the_one_at_another_node(linked):
    owner, b, c = linked()
    first = b.connect("alice")
    second = c.connect("alice")
    assert first.closed() == 4209
    third = owner.connect("alice")
    assert second.closed() == 4209
    assert b.connect("alice").ok("ping") == {}
    assert third.closed() == 4209


def links_of(node):
    name = node.folder.name
    return next(one["links"] for one in shown(node)["nodes"] if one["name"] == name)


def arrival(node, user):
    """A device that was let in; none: the node is not ready, or is not there."""
    try:
        return node.connect(user)
    except (AssertionError, OSError, WebSocketException):
        return None


def test_a_link_that_swallows_everything_costs_the_clients_two_seconds(linked):
    owner, b, _ = linked(through=True)
    alice = b.connect("alice")
    owner.way.swallows = True
    began = time.monotonic()
    assert alice.closed() == 4001
    assert time.monotonic() - began < 4, "3 s, and what a busy machine needs"
    wait_for("readyz says no", lambda: stands_by(b))
    assert shown(b)["owner"] == "a"
    assert b.post("call.invite", "alice", {"invitees": ["bob"]}).status == 503
    stranger = Device(b.url, "alice", greet=False)
    stranger.refused("hello", "unavailable", token="dev:alice", device="phone")
    assert stranger.closed() == 4001
    owner.way.swallows = False
    wait_for("b serves again", lambda: answers(b))
    assert b.connect("alice").ok("ping") == {}


def test_a_link_that_is_there_again_at_once_costs_no_client_and_no_event(linked):
    owner, b, _ = linked(through=True)
    alice, carl = b.connect("alice"), b.connect("carl")
    bob = owner.connect("bob")
    call = invite(alice, "bob", "carl", timeout_ms=600_000)
    bob.event("call.incoming")
    carl.event("call.incoming")
    bob.ok("call.accept", call_id=call)
    assert changes(alice.event("call.changed"))["bob"][0] == "joined"
    for number in range(5):
        owner.way.cut()
        bob.ok("call.signal", call_id=call, to="alice", data={"n": number})
        assert alice.event("call.signal")["data"] == {"n": number}
    assert carl.ok("ping") == {}
    # Their sessions go on, at any node.
    alice.vanish()
    assert owner.connect("alice", resume=alice.resume).hello["resumed"]


def command(node, *words):
    """What a command says beside a node, with its environment."""
    done = subprocess.run(
        [os.environ["CALLAGENT"], *words], cwd=node.folder, env=node.environment,
        capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def test_a_header_means_the_same_at_a_front_end(linked):
    owner, b, _ = linked()
    for more in (
            {}, {"X-Device": "a b"}, {"X-User": "carol"}, {"Idempotency-Key": ""},
            {"Content-Encoding": "gzip"}, {"Content-Encoding": "identity"},
            {"Authorization": "Basic x"}, {"Origin": "https://evil.example"},
            {"Content-Type": "text/plain"}, {"If-None-Match": "*"}):
        headers = {"Authorization": "Bearer dev:alice"} | more
        first, second = (
            node.request("POST", "/v1/call/list", "{}", headers) for node in (owner, b))
        assert (first.status, first.body) == (second.status, second.body), more


def test_tokens_are_checked_by_the_owner(linked):
    owner, b, _ = linked(config=KEYS)
    bob = b.connect("bob", token=token(expires_in=1))
    assert bob.closed() == 4101
    bob = b.connect("bob", token=token())
    stranger = Device(b.url, "bob", greet=False)
    stranger.refused("hello", "unauthenticated", token=token("another secret of 32 bytes, so"),
                     device="phone")
    assert stranger.closed() == 4203
    assert b.get("/v1/call/" + "0" * 32, user="bob").status == 401
    headers = {"Authorization": "Bearer " + command(
        owner, "token", "backend", "--server").strip(), "X-User": "carol"}
    reply = b.request("POST", "/v1/call/invite", json.dumps({"invitees": ["bob"]}), headers)
    assert (reply.status, reply.body["call"]["caller"]) == (200, "carol")
    assert bob.event("call.incoming")["inviter"] == "carol"
    assert command(owner, "revoke", "bob") == "revoked; 1 connection closed\n"
    assert bob.closed() == 4102


def test_a_front_end_that_ends_sends_its_clients_away(linked):
    _, b, _ = linked()
    phones = [b.connect(f"user{number}") for number in range(20)]
    began = time.monotonic()
    assert b.stop() == 0
    assert time.monotonic() - began < 5
    assert {phone.closed() for phone in phones} == {4001}


# Nodes that mean harm


LINKS = 256  # that an owner has at most
HELLO = json.dumps({"id": 1, "op": "hello", "data": {"token": "dev:mallory", "device": "m"}})


def test_what_no_node_says_is_refused_and_changes_nothing(linked):
    owner, b, _ = linked()
    alice = b.connect("alice")
    good = frame("greets", b"\x01" + counted("default") + counted("x"), 1, 1)
    hostile = {
        "nonsense": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "too long": word(1 << 31),
        "another epoch": frame("greets", b"\x01" + counted("default") + counted("x"), 9, 1),
        "another space": frame("greets", b"\x01" + counted("space9") + counted("x"), 1, 1),
        "another version": frame("greets", b"\x02" + counted("default") + counted("x"), 1, 1),
        "no greeting": frame("lives", b"", 1, 1),
        "replayed": good + good,
        "out of order": good + frame("lives", b"", 1, 7),
        "an old epoch": good + frame("lives", b"", 0, 2),
        "truncated": good + word(14) + frame("lives", b"", 1, 2)[4:] + b"\x00",
        "the owner's words": good + frame("tells", word(1) + counted("x"), 1, 2),
        "no such stream": good + frame("says", word(1) + counted(HELLO), 1, 2),
    }
    for name, data in hostile.items():
        raw = RawLink(owner.place, greets=False)
        raw.socket.sendall(data)
        assert raw.is_ended(), name
    # One that says nothing is not waited for, and one that breaks off says nothing.
    silent = RawLink(owner.place, greets=False)
    half = RawLink(owner.place)
    half.opens(1)
    half.socket.sendall(frame("says", word(1) + counted(HELLO), 1, 3)[:-1])
    half.close()
    assert silent.is_ended()
    assert alice.ok("ping") == {}
    assert owner.get("/v1/call/" + "0" * 32, user="mallory").status == 404
    assert "link given up" in owner.log_text()


def test_a_front_end_speaks_only_for_whoever_came_through_it(linked):
    owner, b, _ = linked()
    alice = b.connect("alice")
    call = invite(alice, "bob", timeout_ms=600_000)
    liar = RawLink(owner.place)
    # Without a hello nothing is asked.
    liar.opens(1)
    liar.text(1, json.dumps({"id": 2, "op": "call.end", "data": {"call_id": call}}))
    assert liar.hear("ends")[:8] == word(1) + word(4200)
    # With somebody else's name on a hello whose token is no good.
    liar.opens(2)
    liar.text(2, json.dumps({"id": 1, "op": "hello", "data": {"token": "alice", "device": "x"}}))
    assert liar.hear("ends")[:8] == word(2) + word(4203)
    # A session that belongs to nobody is not gone on with.
    liar.opens(3)
    liar.say("returns", word(3) + counted(HELLO.replace("dev:mallory", "alice"))
             + bytes(16) + bytes(8))
    assert liar.hear("ends")[:8] == word(3) + word(4203)
    # Over another stream than the one that said hello.
    liar.opens(4)
    liar.text(4, HELLO)
    assert liar.hear("begins")
    liar.opens(5)
    liar.text(5, json.dumps({"id": 2, "op": "call.end", "data": {"call_id": call}}))
    assert liar.hear("ends")[:8] == word(5) + word(4200)
    liar.close()
    assert alice.ok("call.get", call_id=call)["call"]["state"] == "ringing"


def test_a_returning_client_takes_no_place_of_a_newer_one(linked):
    owner, b, _ = linked()
    alice = b.connect("alice", "m")
    raw = RawLink(owner.place)
    raw.opens(1)
    raw.say("returns", word(1) + counted(HELLO.replace("mallory", "alice"))
            + bytes(16) + bytes(8))
    assert raw.hear("ends")[:8] == word(1) + word(4001)
    # Numbers that would end are those of no session.
    raw.opens(2)
    raw.say("returns", word(2) + counted(HELLO) + bytes(16) + b"\xff" * 8)
    assert raw.is_ended()
    assert alice.ok("ping") == {}


def test_a_node_that_floods_its_link_delays_no_other(linked):
    owner, b, _ = linked(', link_buffer = "1MB"', 'limits = { requests_per_second = 1000000 }\n')
    alice = b.connect("alice")
    flood = RawLink(owner.place)
    flood.opens(1)
    flood.text(1, HELLO)
    assert flood.hear("begins")
    over = threading.Event()

    def send():
        number = 1
        try:
            while not over.is_set():
                number += 1
                flood.text(1, json.dumps({"id": f"{number:064}", "op": "ping"}))
        except OSError:
            pass

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        for _ in range(100):
            assert alice.ok("ping") == {}
        # What it does not read is bounded too: its link ends.
        owner.logs("it does not read what it is told")
    finally:
        over.set()
        flood.close()
        thread.join(10)
    assert alice.ok("ping") == {}
    assert owner.resident() < 300 << 20


def test_clients_that_say_too_much_are_sent_away_and_delay_nobody(linked):
    owner, b, _ = linked(
        ', link_buffer = "1MB"',
        KEYS + 'limits = { requests_per_second = 5, refusals_at_once = 1 }\n')
    alice = b.connect("alice", token=token(sub="alice"))
    # It asks more than it may, and what it says beyond that waits at the owner.
    node = RawLink(owner.place)
    for stream in (1, 2):
        node.opens(stream)
        node.text(stream, HELLO.replace("dev:mallory", token(sub=f"mallory-{stream}")))
        assert node.hear("begins")[:4] == word(stream)
    asked = json.dumps({"id": 2, "op": "call.get", "data": {"call_id": "0" * 32}})
    for _ in range(1_200):
        node.text(1, asked + " " * 900)
    assert node.hear("ends")[:8] == word(1) + word(4001)
    node.text(2, json.dumps({"id": 2, "op": "ping"}))
    while node.hear("tells")[:4] != word(2):
        pass
    owner.logs("clients sent away")
    assert alice.ok("ping") == {}
    assert "link given up" not in owner.log_text()
    node.close()


def test_what_is_long_waits_for_the_link_and_keeps_its_order(linked):
    """Together they say far more than may be on the way to the owner."""
    _, b, _ = linked()
    pad, askers = " " * 20_000, [RawSocket(b.port) for _ in range(20)]
    clients = [RawSocket(b.port).upgrade() for _ in range(20)]
    for number, client in enumerate(clients):
        client.send_json({"id": 0, "op": "hello", "data": {
            "token": f"dev:user-{number}", "device": "phone"}})
        assert client.message()["ok"]
    for number, asker in enumerate(askers):
        asker.send((
            "POST /v1/call/list HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer dev:user-{number}\r\nContent-Length: 20002\r\n\r\n{{}}{pad}"
        ).encode())
    for client in clients:
        client.send(b"".join(
            web_frame(TEXT, (json.dumps({"id": one, "op": "ping"}) + pad * (one % 3)).encode())
            for one in range(1, 10)))
    for client in clients:
        said = (client.message().get("re") for _ in itertools.count())
        assert list(itertools.islice(filter(None, said), 9)) == list(range(1, 10))
        client.close()
    for asker in askers:
        assert asker.status_line() == 200
        asker.close()


def test_clients_come_back_whose_hellos_are_more_than_a_link_takes_at_once(linked):
    owner, b, c = linked(', link_buffer = "1MB"')
    clients = [RawSocket(b.port).upgrade() for _ in range(30)]
    for number, client in enumerate(clients):
        hello = json.dumps({"id": 0, "op": "hello", "data": {
            "token": f"dev:user-{number}", "device": "phone"}})
        client.send(web_frame(TEXT, hello.encode() + b" " * 60_000))
        assert client.message()["ok"]

    def is_served(client):
        return "ok" in client.send_json({"id": 1, "op": "ping"}).message()

    owner.crash()
    wait_for("another owner", lambda: owns(b) or owns(c))
    for client in clients:
        wait_for("an answer", lambda one=client: is_served(one))
        client.close()
    said = b.log_text().splitlines()
    assert len([line for line in said if '"linked"' in line and '"epoch":"2"' in line]) == 1


def test_there_are_so_many_links_and_no_more(linked):
    # None of them is given up because it says nothing.
    owner, b, _ = linked(', link_silence = "60s"')
    alice = b.connect("alice")
    stranger = RawLink(owner.place, greets=False)
    # With those of b and c.
    joined = [RawLink(owner.place, node=f"n{number}") for number in range(LINKS - 3)]
    joined.append(RawLink(owner.place, node="the last one"))
    assert stranger.is_ended(), "who has not said who it is makes room"
    try:
        assert RawLink(owner.place, greets=False).is_ended(), "there is no room"
    except ConnectionResetError:
        pass  # the owner was quicker than this end of the connection
    assert alice.ok("ping") == {}
    for link in joined:
        link.close()


def test_a_client_that_does_not_read_is_cut_off_and_delays_nobody(linked):
    place = free_port()
    _, b, _ = linked(
        config='limits = { unsent = "64KB", requests_per_second = 1000000 }\n',
        of_b=f'metrics = "127.0.0.1:{place}"\n')
    alice = b.connect("alice")
    call = invite(alice, "mallory", timeout_ms=600_000)
    slow = RawSocket(b.port, receive_buffer=4_096)
    slow.upgrade()
    slow.send_json(json.loads(HELLO))
    assert slow.message()["ok"]
    slow.send_json({"id": 2, "op": "call.accept", "data": {"call_id": call}})
    wait_for("mallory is in the call", lambda: states(
        alice.ok("call.get", call_id=call)["call"])["mallory"] == "joined")

    def is_cut_off():
        for _ in range(50):
            alice.ok("call.signal", call_id=call, to="mallory", data="y" * 12_000)
        with urllib.request.urlopen(f"http://127.0.0.1:{place}/metrics") as reply:
            return b"\ncallagent_slow_readers_total 1\n" in reply.read()

    wait_for("it is cut off", is_cut_off)
    assert slow.close_code() == 4008
    assert alice.ok("ping") == {}
    slow.close()
