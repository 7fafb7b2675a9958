"""A machine that is taken away for a while: the process stands still, and goes on."""

import re
import signal
import socket
import subprocess
import time

import pytest

from agent import wait_for
from calls import changes, ended, invite
from preload import preload
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


@pytest.mark.parametrize("command", ["status", "doctor", "calls", "plugins", "explain bob"])
def test_tools_do_not_wait_for_a_process_that_was_stopped(agent, command):
    agent.signal(signal.SIGSTOP)
    begin = time.monotonic()
    code, text = agent.tool(*command.split())
    took = time.monotonic() - begin
    agent.signal(signal.SIGCONT)
    number = agent.process.pid
    assert code == (1 if command == "doctor" else 3), text
    assert re.search(f"process {number}.* is stopped and answers nothing at unix:", text), text
    assert f"kill -CONT {number} lets it go on" in text, text
    assert took < 15, f"{took} s"
    assert agent.tool("status")[0] == 0


# While the file `hang` is there the loop does not turn: the first thread waits for it.
HANG = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>
static void hang(void) {
  while (syscall(SYS_gettid) == getpid() && access("hang", F_OK) == 0) {
    rename("awake", "hangs");
    usleep(10000);
  }
}
int epoll_pwait(int set, struct epoll_event *events, int most, int timeout, const sigset_t *mask) {
  hang();
  return syscall(SYS_epoll_pwait, set, events, most, timeout, mask, 8);
}
int epoll_wait(int set, struct epoll_event *events, int most, int timeout) {
  return epoll_pwait(set, events, most, timeout, 0);
}
"""


def test_tools_do_not_wait_for_a_loop_that_hangs(make_agent):
    agent = make_agent()
    preload(agent, HANG)
    agent.start()
    (agent.folder / "awake").touch()
    (agent.folder / "hang").touch()
    with socket.create_connection(("127.0.0.1", agent.port)):
        pass  # it turns once more
    wait_for("the loop to hang", (agent.folder / "hangs").exists)
    begin = time.monotonic()
    code, text = agent.tool("status")
    took = time.monotonic() - begin
    (agent.folder / "hang").unlink()
    assert code == 3 and took < 25, (took, text)
    assert f"process {agent.process.pid} runs and answers nothing at unix:" in text, text
    assert f"kill -9 {agent.process.pid} ends it" in text, text
    assert agent.tool("status")[0] == 0


def test_a_request_that_takes_long_is_waited_for(make_agent):
    """The process answers others meanwhile, so it is well."""
    agent = make_agent().start()
    tool = agent.begin_tool("trace")
    with pytest.raises(subprocess.TimeoutExpired):
        tool.wait(10)
    tool.kill()
    tool.wait()
