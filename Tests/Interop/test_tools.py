"""The command-line client against the real server: call, phone, calls."""

import json
import os
import subprocess

import pytest

from agent import as_other_user, wait_for
from calls import changes, invite, states


class Program:
    """A command of the tool that runs beside the test."""

    def __init__(self, agent, *arguments):
        self.output = open(agent.folder / ("-".join(arguments[:2]) + ".out"), "w+b")
        self.process = subprocess.Popen(
            [os.environ["CALLAGENT"], *arguments], cwd=agent.folder,
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output)

    def text(self):
        self.output.seek(0)
        return self.output.read().decode(errors="replace")

    def end(self):
        """Ends it as Ctrl-C does; it must go in peace."""
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(10)
        assert "Fatal error" not in self.text() and code >= -15, self.text()
        return self.text()


def test_a_call_between_two_command_lines(agent):
    phone = Program(agent, "phone", "--as", "bob", "--accept")
    caller = Program(agent, "call", "bob", "--as", "alice", "--timeout", "20s", "--video")

    def active():
        calls = agent.post("call.list", "bob", {}).body["calls"]
        return calls and calls[0]["state"] == "active" and calls[0]

    call = wait_for("the answer", active)
    assert (call["caller"], call["mode"], call["kind"]) == ("alice", "advanced", "video")
    assert call["timeout_ms"] == 20_000 and states(call) == {"alice": "joined", "bob": "joined"}
    assert call["call_id"] in caller.end() + phone.end()


def test_the_caller_acknowledges_an_accept(agent):
    phone = Program(agent, "phone", "--as", "bob", "--accept")
    caller = Program(agent, "call", "bob", "--as", "alice", "--mode", "handshake")

    def answered():
        calls = agent.post("call.list", "bob", {}).body["calls"]
        return calls and calls[0]["state"] == "ended" and calls[0]

    call = wait_for("the answer", answered)
    assert (call["end"]["reason"], call["end"]["detail"]) == ("settled", "answered")
    assert call["call_id"] in caller.end() + phone.end()


def test_data_goes_along(agent):
    caller = Program(agent, "call", "bob", "--as", "alice", "--data", '{"type":"video_call"}')
    bob = agent.connect("bob")
    assert bob.event("call.incoming")["call"]["extended_data"] == '{"type":"video_call"}'
    caller.end()


def test_a_phone_refuses_as_busy(agent):
    alice = agent.connect("alice")
    phone = Program(agent, "phone", "--as", "bob", "--reject", "busy")
    invite(alice, "bob", mode="advanced")
    seen = alice.event("call.changed", timeout=10)
    if changes(seen) == {"bob": ("ringing", None)}:
        seen = alice.event("call.changed")
    assert changes(seen) == {"bob": ("rejected", "busy")}
    phone.end()


def test_a_phone_only_rings(agent):
    alice = agent.connect("alice")
    phone = Program(agent, "phone", "--as", "bob", "--ring")
    call = invite(alice, "bob", mode="advanced")
    assert changes(alice.event("call.changed", timeout=10)) == {"bob": ("ringing", None)}
    alice.ok("call.cancel", call_id=call)
    wait_for("the cancel on the phone", lambda: "cancel" in phone.text())
    phone.end()


def test_calls_lists_what_is_live(ringing, agent):
    _, _, call = ringing()
    code, output = agent.tool("calls")
    assert code == 0 and call in output, output


def test_status_begins_with_what_matters(ringing, agent):
    ringing()
    code, text = agent.tool("status")
    assert code == 0
    assert text.splitlines()[1] == "takes calls; live calls: 1, connections: 2"


def test_the_operator_ends_a_call(ringing, agent):
    alice, bob, call = ringing()
    code, output = agent.tool("end", call, "--code", "maintenance")
    assert code == 0 and call in output and "policy" in output, output
    for device in (alice, bob):
        event = device.event("call.ended")
        assert event["end"] == {
            "reason": "policy", "detail": "maintenance", "by": None, "extended_data": None}
        assert event["actor"] == {"policy": "operator"}
    code, output = agent.tool("end", call)
    assert (code, output) == (1, "callagent: the call has ended\n")
    page = alice.ok("call.list", end_reasons=["policy"])
    assert [one["call_id"] for one in page["calls"]] == [call]


def test_an_end_that_makes_no_sense_is_refused(agent):
    code, output = agent.tool("end", "0" * 32)
    assert code == 1 and "no call" in output, output
    assert agent.tool("end", "c1")[0] == 2
    code, output = agent.tool("end", "0" * 32, "--code", "two words")
    assert code == 2 and "printable ASCII" in output, output


def test_the_socket_of_the_tools_comes_back(agent):
    socket = agent.folder / "state" / "admin.sock"
    socket.unlink()
    wait_for("the socket", socket.exists)
    code, text = agent.tool("status")
    assert code == 0, text
    agent.logs("the socket of the tools was gone, it is made anew")


def test_another_file_where_the_socket_of_the_tools_was_is_kept_and_named(agent):
    socket = agent.folder / "state" / "admin.sock"
    socket.unlink()
    socket.write_text("of somebody else")
    words = "tools do not reach this server, it tries again"
    agent.logs(words)
    agent.logs("state/admin.sock exists and is not a socket")
    assert socket.read_text() == "of somebody else"
    socket.unlink()
    wait_for("the socket", socket.exists)
    assert agent.log_text().count(words) == 1
    code, text = agent.tool("status")
    assert code == 0, text


def test_without_a_server_the_client_says_so(make_agent):
    code, output = make_agent().tool("call", "bob", "--as", "alice")
    assert code != 0 and len(output.strip().splitlines()) <= 2, output


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
@pytest.mark.parametrize("words", [
    ["status"], ["calls"], ["reload"], ["explain", "bob"], ["webhooks"], ["revoke", "bob"]])
def test_another_user_is_told_that_it_may_not(agent, words):
    """Not that there is no server: whoever believes that starts a second one."""
    code, said = as_other_user(agent, *words)
    assert code == 3 and "Permission denied" in said, said
    assert "does it run" not in said and len(said.splitlines()) == 1, said


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
def test_another_user_is_not_told_that_nothing_was_decided(agent):
    code, said = as_other_user(agent, "replay")
    assert code == 1 and "Permission denied" in said, said


def test_a_call_is_shown_however_many_came_after_it(agent):
    """The operator's list has the newest hundred, and any live one is found."""
    alice = agent.connect("alice")
    old = invite(alice, "bob", mode="advanced")
    for _ in range(100):
        invite(alice, "bob", mode="advanced")
    code, output = agent.tool("calls", "--limit", "100")
    assert code == 0 and len(output.splitlines()) == 100 and old not in output
    code, output = agent.tool("get", old)
    assert code == 0 and "alice (caller)" in output, output
    alice.ok("call.end", call_id=old)
    code, output = agent.tool("get", old)
    assert code == 0 and "ended" in output, output


def test_what_a_plugin_says_does_not_paint_the_terminal_of_who_checks_it(make_agent):
    text = 'error("first\\27[2A\\u{9b}2K\\u{202e}doog")\n'
    agent = make_agent('plugins = { "given" }\n', {"given": text})
    for words in (["check"], ["check", "plugins/given.lua"], ["run"]):
        code, said = agent.tool(*words)
        assert code == 1 and "given.lua:1:" in said, said
        assert all(line.isprintable() for line in said.strip().split("\n")), repr(said)


def test_json_of_the_command_line_holds_nothing_that_a_terminal_obeys(agent):
    """Texts of users may have C1 control characters and marks of direction."""
    data = "a\u009b31m\u202eb grün"
    call = invite(agent.connect("ann"), "bob", mode="advanced", extended_data=data)
    for arguments in (["calls"], ["get", call]):
        code, text = agent.tool(*arguments, "--json")
        assert code == 0 and "\u009b" not in text and "\u202e" not in text, ascii(text)
        assert "grün" in text and r"a\u009b31m\u202eb" in text, ascii(text)
        assert call in str(json.loads(text))
