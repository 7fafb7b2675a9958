"""A machine that is taken away for a while: the process stands still, and goes on."""

import signal
import time

from agent import wait_for
from calls import changes, ended, invite
from raw import PING, PONG, RawSocket, frame


def stand_still(agent, seconds, meanwhile=lambda: None):
    """Stops the process for so long; `meanwhile` happens at the beginning of that."""
    agent.signal(signal.SIGSTOP)
    begin = time.monotonic()
    meanwhile()
    wait_for("the time", lambda: time.monotonic() - begin > seconds, pause=0.05)
    agent.signal(signal.SIGCONT)


def test_who_was_not_asked_is_not_given_up(make_agent):
    agent = make_agent('limits = { ping = "1s", silence = "3s" }\n').start()
    quiet = [RawSocket(agent.port).upgrade().hello(f"user-{number}") for number in range(5)]
    stand_still(agent, 4)
    for raw in quiet:
        opcode, payload = raw.next_frame()
        assert opcode == PING
        raw.send(frame(PONG, payload))
    for raw in quiet:
        raw.send_json({"id": 2, "op": "ping"})
        assert raw.message() == {"re": 2, "ok": {}}


def test_a_hello_that_came_in_time_counts(make_agent):
    agent = make_agent('limits = { hello_time = "1s" }\n').start()
    raw = RawSocket(agent.port).upgrade()
    hello = {"id": 1, "op": "hello", "data": {"token": "dev:bob", "device": "phone"}}
    stand_still(agent, 2, lambda: raw.send_json(hello))
    assert "ok" in raw.message()


def test_a_call_whose_time_ran_out_has_ended(make_agent):
    """Also when somebody accepts in the meantime: the server cannot know that it was in time."""
    agent = make_agent().start()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode="common", timeout_ms=2_000)
    bob.forget()
    posted = []
    stand_still(agent, 3, lambda: posted.append(bob.post("call.accept", {"call_id": call})))
    assert bob.reply(posted[0])["error"]["code"] == "expired"
    bob.event("call.timed_out")
    assert changes(alice.event("call.changed")) == {"bob": ("timed_out", None)}
    assert ended(alice) == ("no_answer", None)
