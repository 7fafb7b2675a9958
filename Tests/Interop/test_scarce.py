"""What the system does not give: descriptors, threads, memory, somebody who reads. It is said, and
the process does not end with a signal."""

import os
import resource
import shlex
import subprocess
import time

import pytest

from agent import free_port, wait_for
from raw import RawSocket
from support import SUPPORT, call

PLUGIN = """on.invite(function(call)
  return accept {}
end)
"""
KEY = "q" * 40
# What opens most at a start: other listeners, files that are watched, outgoing requests.
MUCH = """
watch = true
auth = {{ {{ alg = "HS256", key = "{key}" }},
  {{ alg = "HS256", key = "{key}", kid = "c", roles = {{ "viewer" }} }} }}
console = {{ listen = "127.0.0.1:{console}" }}
metrics = "127.0.0.1:{metrics}"
"""


def within(agent, limits):
    """From now on the server and the tools begin within these limits of the shell."""
    script = agent.folder / "within"
    program = shlex.quote(os.environ["CALLAGENT"])
    script.write_text(f'#!/bin/sh\n{limits}\nexec {program} "$@"\n')
    script.chmod(0o755)
    agent.environment["CALLAGENT"] = str(script)
    return str(script)


def said(agent, script, *arguments, **options):
    done = subprocess.run(
        [script, *arguments], cwd=agent.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=60, check=False, **options)
    return done.returncode, done.stdout.decode(errors="replace")


def test_a_start_with_any_number_of_descriptors(make_agent):
    config = SUPPORT + MUCH.format(key=KEY, console=free_port(), metrics=free_port())
    agent = make_agent(config, {"support": PLUGIN})
    before = count = 0
    code = 1
    while code != 0:
        count = count + 1 if count else 4
        within(agent, f"ulimit -n {count}")
        agent.launch()
        wait_for("an end, or a start", lambda: has_ended_or_said(agent, '"ready"', before))
        code = agent.process.poll()
        if code is None:
            code = agent.stop()
        assert code in (0, 1), f"{count}: {agent.log_text()[before:]}"
        assert code == 0 or "callagent: run: " in agent.log_text()[before:], count
        before = len(agent.log_text())
    assert 12 < count < 99


def has_ended_or_said(agent, word, before):
    return agent.process.poll() is not None or word in agent.log_text()[before:]


@pytest.mark.parametrize("command", ["doctor", "console", "status"])
def test_a_tool_with_few_descriptors(agent, command):
    for count in range(4, 9):
        code, words = said(agent, within(agent, f"ulimit -n {count}"), command)
        assert code in (1, 3) and words.strip(), f"{count}: {code} {words}"


def test_tools_are_answered_where_clients_take_all_connections(make_agent):
    agent = make_agent(SUPPORT, {"support": PLUGIN})
    within(agent, "ulimit -n 200")
    agent.start()
    held, refused = [], 0
    while not refused:
        raw = RawSocket(agent.port)
        try:
            raw.upgrade().hello(f"user-{len(held)}")
            held.append(raw)
        except (AssertionError, OSError, AttributeError):
            refused += 1
        assert len(held) < 200
    assert len(held) > 100
    code, words = agent.tool("plugins")
    assert code == 0 and "support" in words, words
    agent.configure(SUPPORT, {"support": PLUGIN + "-- another one\n"})
    code, words = agent.tool("reload")
    assert code == 0, words
    for raw in held:
        raw.close()


def test_a_reload_without_descriptors_says_so(make_agent):
    agent = make_agent(SUPPORT, {"support": PLUGIN}).start()
    used = len(os.listdir(f"/proc/{agent.process.pid}/fd"))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    for spare in range(12, 0, -1):
        resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE, (used + spare, hard))
        code, words = agent.tool("reload")
        if code != 0:
            break
    assert code == 1 and "Too many open files" in words
    resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE, (hard, hard))
    assert agent.tool("reload")[0] == 0
    assert call(agent, "ann")[1][0] == "joined"


def test_a_name_without_a_thread_to_look_it_up(make_agent):
    """No thread of the usual size can be made."""
    agent = make_agent()
    script = within(agent, f"ulimit -s {1 << 36}")
    begin = time.monotonic()
    code, words = said(
        agent, script, "call", "bob", "--as", "ann", "--server", "ws://nobody.invalid:1")
    assert code == 3 and "nobody.invalid" in words, f"{code}: {words}"
    assert time.monotonic() - begin < 30


def has_begun_or_ended(agent):
    return agent.process.poll() is not None or agent.is_ready()


def test_a_file_that_there_is_no_memory_for(make_agent):
    """A Lua state that cannot be made is an error of the file. Where Swift or the allocator gets no
    memory they end the process themselves."""
    agent = make_agent(SUPPORT, {"support": PLUGIN})
    told = before = 0
    for megabytes in range(60, 140, 2):
        within(agent, f"ulimit -v {megabytes * 1_024}")
        agent.launch()
        wait_for("an end or readyz", lambda: has_begun_or_ended(agent))
        if agent.process.poll() is None:
            agent.crash()
            continue
        words = agent.log_text()[before:]
        before += len(words)
        told += "no memory for" in words
        assert agent.process.poll() != 1 or "callagent: run: " in words, f"{megabytes} MB: {words}"
    assert told > 0


def test_a_refusal_that_nobody_reads_is_still_a_code(make_agent):
    agent = make_agent("plugins = 1\n")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [os.environ["CALLAGENT"], "run", "callagent.lua"], cwd=agent.folder, timeout=60,
            stdin=subprocess.DEVNULL, stdout=closed, stderr=closed, check=False)
    assert done.returncode == 1
