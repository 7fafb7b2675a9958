"""Which plugins are in force: after a reload, a rollback, a crash, and with a disk that fails."""

import json
import resource
import signal

from calls import invite
from support import ACCEPT, BUSY, SUPPORT, call, rewrite


def test_whoever_finds_it_ready_finds_the_same_plugins_after_a_crash(make_agent):
    """Also when the disk fails at the start, whichever of the first syncs it is.

    Each version of the store has a sync of its own when it is made: those fail the start. The ones
    that follow are seen by a server that runs.
    """
    late = 0
    for number in range(40):
        if late == 3:
            break
        faults = {"CALLAGENT_STORE_FAULTS": f"sync:{number}:1:eio"}
        agent = make_agent(
            SUPPORT, {"support": ACCEPT}, folder=f"agent-{number}", environment=faults)
        if not agent.starts():
            continue
        agent.logs('"ready"')
        log = agent.log_text()
        assert "store failed" not in log or log.index("store failed") < log.index('"ready"'), log
        late += "store failed" in log
        rewrite(agent, BUSY)
        agent.crash()
        del agent.environment["CALLAGENT_STORE_FAULTS"]
        agent.start()
        agent.logs("going on with the generation last in force")
        assert call(agent, "ann")[1] == ("joined", None)
    assert late > 0, "no start saw the disk fail"


def test_a_reload_is_done_when_a_crash_does_not_undo_it(bot):
    agent = bot(ACCEPT)
    call(agent, "ann")
    # The log of the store may not grow any more.
    log = agent.folder / "state" / "callagent.db-wal"
    before = resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(
        agent.process.pid, resource.RLIMIT_FSIZE, (log.stat().st_size, before[1]))
    rewrite(agent, BUSY)
    with agent.begin_tool("reload") as reload:
        agent.logs("store failed")
        assert '"reloaded"' in agent.log_text() and reload.poll() is None
        resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, before)
        assert reload.wait(30) == 0
    agent.logs("store is open again")
    agent.crash()
    agent.start()
    # It did not have to choose: what is on disk was the last in force.
    assert "going on with" not in agent.log_text()
    assert call(agent, "ben")[1] == ("rejected", "busy")


def test_rolling_back_twice_goes_two_back(bot):
    agent = bot(ACCEPT)
    reject = ACCEPT.replace("accept {}", 'reject "declined"')
    for text in (BUSY, reject):
        rewrite(agent, text)
        assert agent.tool("reload")[0] == 0
    assert call(agent, "ann")[1] == ("rejected", "declined")
    assert agent.tool("rollback")[0] == 0
    assert call(agent, "ben")[1] == ("rejected", "busy")
    assert agent.tool("rollback")[0] == 0
    assert call(agent, "cid")[1] == ("joined", None)
    code, output = agent.tool("rollback")
    assert code == 1 and "no earlier generation" in output, output
    code, output = agent.tool("rollback", "nonsense")
    assert code == 1 and "no kept generation 'nonsense'; kept are: " in output, output
    kept = output.split("kept are: ")[1].split()
    items = agent.admin("GET", "/admin/v1/generations").body["items"]
    assert len(kept) == 3 and kept == [item["generation"] for item in items]
    # The files on disk are the last ones, which were rolled back: a start does not take them.
    agent.stop()
    agent.start()
    assert call(agent, "dan")[1] == ("joined", None)
    agent.logs("going on with the generation last in force")


def test_a_change_of_the_configuration_alone_is_a_generation(bot):
    agent = bot(ACCEPT)
    config = agent.folder / "callagent.lua"
    first = config.read_text()
    rewrite(agent, 'local cfg = config { answer = option.text("declined") }\n'
            'on.invite(function() return reject(cfg.answer) end)\n')
    assert agent.tool("reload")[0] == 0
    for answer in ("one", "two"):
        config.write_text(first + f'options["support"] = {{ answer = "{answer}" }}\n'
                          f"limits.invitees = {len(answer)}\n")
        assert agent.tool("reload")[0] == 0
    generations = set()
    for number in range(3):
        generations.add(json.loads(agent.tool("plugins", "--json")[1])["generation"])
        code, output = agent.tool("rollback")
        assert code == 0, output
        # What is no generation's stays as it is.
        device = agent.connect(f"ann-{number}")
        assert device.hello["limits"]["invitees"] == 3
    assert len(generations) == 3
    assert call(agent, "cid")[1] == ("joined", None)


def test_after_a_crash_a_start_may_be_told_to_take_the_files_on_disk(bot):
    agent = bot(ACCEPT)
    rewrite(agent, BUSY)
    agent.crash()
    agent.start()
    assert call(agent, "ann")[1] == ("joined", None)
    agent.logs("start with --from-disk")
    agent.crash()
    agent.start("--from-disk")
    assert call(agent, "ben")[1] == ("rejected", "busy")
    rewrite(agent, "on.invite(")
    agent.crash()
    agent.launch("--from-disk")
    assert agent.wait() == 1
    assert "support.lua:" in agent.log_text().splitlines()[-1]
    agent.start()
    assert call(agent, "cid")[1] == ("rejected", "busy")


def test_a_generation_that_fails_is_taken_back_by_itself(bot):
    agent = bot(ACCEPT)
    call(agent, "ann")
    rewrite(agent, "on.invite(function(call) error 'worse' end)\n")
    code, output = agent.tool("reload")
    assert code == 0 and "1 would fail" in output, output
    person = agent.connect("support")
    callers = [agent.connect(f"caller-{number}") for number in range(20)]
    for caller in callers:
        invite(caller, "support", mode="advanced")
        person.event("call.incoming")
    agent.logs("generation rolled back")
    assert call(agent, "ben")[1] == ("joined", None)
    metrics = agent.metrics()
    assert metrics['callagent_reloads_total{result="rolled_back"}'] == 1
    assert metrics['callagent_reloads_total{result="success"}'] == 1
    assert agent.metrics()["callagent_ready"] == 1


def test_a_crash_while_reloading_goes_on_with_the_last_one_in_force(bot):
    agent = bot(ACCEPT)
    for number in range(5):
        rewrite(agent, BUSY + f"-- {number}\n")
        assert agent.tool("reload")[0] == 0
        # The next one is read and checked when the process dies.
        slow = "\n".join(f"local t{number} = {{ {n} }}" for n in range(150))
        rewrite(agent, ACCEPT + slow)
        agent.signal(signal.SIGHUP)
        agent.crash()
        agent.start()
        assert call(agent, f"ann-{number}")[1] in (("rejected", "busy"), ("joined", None))
        # Either generation as a whole, and the one that the store names.
        _, output = agent.tool("plugins", "--json")
        name = json.loads(output)["generation"]
        assert name in agent.tool("replay", "--against", "nonsense")[1].split("kept are: ")[1]


def test_a_rollback_to_the_one_in_force_takes_nothing_back(bot):
    agent = bot(ACCEPT)
    rewrite(agent, BUSY)
    assert agent.tool("reload")[0] == 0
    name = json.loads(agent.tool("plugins", "--json")[1])["generation"]
    assert agent.tool("rollback", name)[0] == 0
    rewrite(agent, ACCEPT.replace("accept {}", 'reject "declined"'))
    assert agent.tool("reload")[0] == 0
    assert call(agent, "ann")[1] == ("rejected", "declined")
    assert agent.tool("rollback")[0] == 0
    assert call(agent, "ben")[1] == ("rejected", "busy")
