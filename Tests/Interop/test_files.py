"""Nobody who does not read or write a file holds up the server."""

import fcntl
import os
import subprocess
import time

import pytest

from agent import wait_for
from support import ACCEPT, SUPPORT, call
from test_admission import token

CHATTY = ACCEPT.replace(
    "  local user", "  for i = 1, 90 do log.info(string.rep('x', 900)) end\n  local user")


def launch_unread(agent, *options):
    """Starts a server whose log goes into a pipe; returns the end from which to read."""
    reading, writing = os.pipe()
    agent.log = os.fdopen(writing, "wb")
    agent.process = subprocess.Popen(
        [os.environ["CALLAGENT"], "run", "callagent.lua", *options], cwd=agent.folder,
        env=agent.environment, stdin=subprocess.DEVNULL, stdout=agent.log, stderr=agent.log)
    return os.fdopen(reading, "rb")


def test_a_log_that_nobody_reads_holds_up_nobody(make_agent):
    agent = make_agent(SUPPORT, {"support": CHATTY})
    (agent.folder / "log").write_text("")
    reading = launch_unread(agent)
    wait_for("readyz", agent.is_ready)
    # Each says 80 KB, and a pipe holds 64.
    for number in range(30):
        assert call(agent, f"user-{number}")[1] == ("joined", None)
    left_out = agent.metrics()["callagent_log_lines_left_out_total"]
    assert left_out > 0
    agent.log.close()
    fcntl.fcntl(reading, fcntl.F_SETFL, os.O_NONBLOCK)
    text = b""

    def is_told():
        nonlocal text
        text += reading.read() or b""
        return b" lines were left out" in text

    wait_for("what was left out", is_told)
    call(agent, "again")
    assert agent.get("/healthz").status == 200
    agent.signal(15)
    wait_for("the end", lambda: (reading.read(), agent.process.poll())[1] is not None)
    reading.close()


def test_a_reload_changes_what_is_logged(bot):
    agent = bot(ACCEPT)
    agent.configure(SUPPORT + 'log = { level = "error" }\n')
    for _ in range(2):  # The first one says so itself.
        assert agent.tool("reload")[0] == 0
    agent.configure(SUPPORT + 'log = { level = "debug", format = "text" }\n')
    for _ in range(2):
        assert agent.tool("reload")[0] == 0
    agent.logs("info  reloaded")
    assert agent.log_text().count("reloaded") == 2


def test_a_process_whose_log_nobody_reads_ends_in_time(make_agent):
    agent = make_agent(SUPPORT, {"support": CHATTY})
    (agent.folder / "log").write_text("")
    reading = launch_unread(agent)
    wait_for("readyz", agent.is_ready)
    for number in range(3):
        call(agent, f"user-{number}")
    for device in agent.devices:
        device.close()
    begun = time.monotonic()
    assert agent.stop() == 0
    assert time.monotonic() - begun < 8
    reading.close()


def test_the_last_words_of_a_start_that_fails_are_written(make_agent):
    agent = make_agent("nonsense = 1\n")
    assert "nonsense" in agent.refuses_to_start()
    agent = make_agent('auth = { { alg = "HS256", key = secret "file:none" } }\n', folder="other")
    assert "none" in agent.refuses_to_start()


# Files that are none


def pipe(agent, name):
    path = agent.folder / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)


@pytest.mark.parametrize("name", ["cert.pem", "key.pem", "plugins/support.lua", "secret",
                                  "callagent.lua"])
def test_a_pipe_is_no_file_of_the_operator(make_agent, name):
    config = SUPPORT
    if name.endswith(".pem"):
        config += 'tls = { cert = "cert.pem", key = "key.pem" }\n'
    if name == "secret":
        config += 'auth = { { alg = "HS256", key = secret "file:secret" } }\n'
    agent = make_agent(config, {"support": ACCEPT})
    for other in ("cert.pem", "key.pem"):
        (agent.folder / other).write_text("")
    pipe(agent, name)
    said = agent.refuses_to_start()
    assert name.split("/")[-1] in said and "no plain file" in said, said


def test_a_secret_file_that_holds_none_is_named_and_changes_nothing(make_agent):
    """Zero bytes are what a file system may leave of a file when the machine has stopped."""
    agent = make_agent('auth = { { alg = "HS256", key = secret "file:secret" } }\n')
    file = agent.folder / "secret"
    file.write_bytes(b"k" * 40)
    agent.start()
    for bytes_, why in ((b"", "is empty"), (b"\n", "is empty"), (bytes(64), "zero bytes only"),
                        (b"\xff\xfe" * 32, "is no text")):
        file.write_bytes(bytes_)
        code, text = agent.tool("reload")
        assert code == 1 and "callagent.lua:3: secret: ./secret " in text and why in text, text
    file.write_bytes(b"k" * 40 + b"\r\n")
    assert agent.tool("reload")[0] == 0
    device = agent.connect("ann", token=token("k" * 40, sub="ann"))
    assert device.ok("call.list")["calls"] == []


def test_a_reload_with_a_pipe_as_a_plugin_changes_nothing(bot):
    agent = bot(ACCEPT)
    pipe(agent, "plugins/support.lua")
    code, text = agent.tool("reload")
    assert code == 1 and "no plain file" in text, text
    assert call(agent, "ann")[1] == ("joined", None)


def test_a_pipe_as_decision_log_holds_up_nobody(make_agent):
    agent = make_agent(SUPPORT, {"support": ACCEPT})
    (agent.folder / "state").mkdir(mode=0o700)
    pipe(agent, "state/decisions.jsonl")
    agent.start()
    assert call(agent, "ann")[1] == ("joined", None)
    agent.logs("it is no plain file")
    assert agent.metrics()["callagent_decisions_left_out_total"] == 1
    call_id, _ = call(agent, "ben")
    assert "accept" in agent.tool("explain", call_id)[1]
    # It is in memory, and so it can be asked again.
    assert agent.tool("reload")[0] == 0
    agent.logs('"replayed":"1"')


def test_lines_of_the_audit_that_no_file_has_are_counted_and_an_alarm(make_agent):
    agent = make_agent()
    (agent.folder / "state").mkdir(mode=0o700)
    pipe(agent, "state/audit.jsonl")
    agent.start()
    assert agent.metrics()["callagent_audit_lines_left_out_total"] == 0
    for _ in range(2):
        # There are no keys here; what is refused leaves a line too.
        assert agent.admin("POST", "/admin/v1/revoke", {"user": "ann"}).status == 409
    wait_for(
        "the lines", lambda: agent.metrics()["callagent_audit_lines_left_out_total"] == 2)
    lost = "2 lines of the audit could not be written"
    assert any(lost in one for one in agent.admin("GET", "/admin/v1/status").body["alarms"])
    assert f"alarm: {lost}" in agent.tool("doctor")[1]


def test_an_operators_file_that_cannot_be_read_is_not_taken_for_none(make_agent):
    """With the defaults instead, everybody of this machine could sign in."""
    agent = make_agent()
    file = agent.folder / "callagent.lua"
    file.unlink()
    for target, why in (("nowhere", "No such file"), ("callagent.lua", "levels of symbolic links")):
        file.symlink_to(target)
        for tool in ("run", "check", "reload"):
            code, words = agent.tool(tool)
            assert code == 1 and "cannot read callagent.lua" in words and why in words, words
        file.unlink()


def test_a_plugin_that_is_a_link_to_nowhere_is_not_replaced_by_a_bundled_one(make_agent):
    agent = make_agent('answer_for = { "support" }\nplugins = { "busy" }\n')
    assert agent.tool("check")[0] == 0  # the bundled one
    (agent.folder / "plugins" / "busy.lua").symlink_to("nowhere")
    code, words = agent.tool("check")
    assert code == 1 and "cannot read ./plugins/busy.lua: No such file" in words, words


def test_a_reload_ends_where_links_of_a_plugin_lead_back(bot):
    agent = bot("on.invite(function(call) end)\n")
    folder = agent.folder / "plugins" / "loop"
    folder.mkdir()
    (folder / "init.lua").write_text("on.invite(function(call) end)\n")
    for name in "ab":
        (folder / name).symlink_to(".")
    agent.configure('answer_for = { "support" }\nplugins = { "loop" }\n')
    code, words = agent.tool("reload")
    assert code == 1 and "folders lie at most 8 deep" in words, words
