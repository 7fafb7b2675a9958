"""Fixtures: a fresh server for every test, and short ways to common situations."""

import faulthandler
import os
import signal
from pathlib import Path

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

from agent import Agent
from browser import CLIENT, PAGES, Browser, serving
from calls import invite
from cluster import Database, owns, tool
from double import Double
from support import SUPPORT


def bring_plugins():
    """An executable that was copied away from its plugins gets those of this checkout."""
    above = Path(os.environ["CALLAGENT"]).resolve().parents
    own = [folder / name / "busy.lua" for folder in above
           for name in ("plugins", "share/callagent/plugins")]
    if not any(file.exists() for file in own):
        bundled = Path(__file__).resolve().parents[2] / "plugins"
        os.environ.setdefault("CALLAGENT_PLUGINS", str(bundled))


if "CALLAGENT" in os.environ:
    bring_plugins()


def pytest_collection_modifyitems(items):
    """Five processes run them, each begins with its part of the list and then takes from others.
    Two begin with the patient ones, which need no processor."""
    patient = [item for item in items if item.get_closest_marker("patient")]
    others = [item for item in items if item not in patient]
    before = max(len(items) * 3 // 5 - len(patient[::2]), 0)
    items[:] = patient[::2] + others[:before] + patient[1::2] + others[before:]


# Seconds for a phase of a test, which waits for several things. One that takes longer hangs.
PHASE = 3_600 if os.environ.get("CALLAGENT_FULL") else 240


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    """Nothing hangs: the test shows where each thread is, and fails. Where it cannot even do that
    its process ends, and others go on. (pytest's own limit does not hold for the end of a test
    that failed.)"""
    output = item.config.stash[fault_handler_stderr_fd_key]

    def fail(*_):
        faulthandler.dump_traceback(output)
        pytest.fail(f"a phase of {item.nodeid} took more than {PHASE} s")

    signal.signal(signal.SIGALRM, fail)
    signal.alarm(PHASE)
    faulthandler.dump_traceback_later(PHASE + 60, file=output, exit=True)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()


pytest_runtest_call = pytest_runtest_teardown = pytest_runtest_setup


@pytest.fixture
def make_agent(tmp_path):
    """Makes servers that are ended after the test; their log is shown when the test fails."""
    made = []

    def make(config="", plugins=None, folder="agent", **options):
        agent = Agent(tmp_path / folder, config, plugins, **options)
        made.append(agent)
        return agent

    yield make
    try:
        for agent in made:
            agent.close()
    finally:
        for agent in made:
            if agent.process and agent.process.poll() is None:
                agent.crash()
            if (agent.folder / "log").exists():
                print(f"--- log of {agent.folder.name}\n{agent.log_text()[-8000:]}")


@pytest.fixture
def agent(make_agent):
    """A server without plugins, with everything else at its default."""
    return make_agent().start()


@pytest.fixture
def bot(make_agent):
    """Starts a server on which the given plugin answers for `support`."""

    def start(plugin, config=SUPPORT):
        return make_agent(config, {"support": plugin}).start()

    return start


@pytest.fixture
def ringing(agent):
    """A call of alice that rings at bob: both devices and the call's id."""

    def place(mode="advanced", **data):
        alice, bob = agent.connect("alice"), agent.connect("bob")
        call = invite(alice, "bob", mode=mode, **data)
        bob.event("call.incoming")
        return alice, bob, call

    return place


@pytest.fixture
def double(tmp_path):
    """The push services and a receiver of webhooks."""
    made = Double(tmp_path / "double")
    yield made
    made.close()


@pytest.fixture
def pusher(make_agent, double):
    """Starts a server that pushes to the double."""

    def start(config="", plugins=None, **more):
        return make_agent(
            double.push_config + config, plugins, environment=double.environment, **more).start()

    return start


@pytest.fixture(scope="module")
def site():
    """Where the pages of examples/browser are."""
    with serving(PAGES) as address:
        yield address


@pytest.fixture(scope="module")
def client_site():
    """Where the JavaScript client is."""
    with serving(CLIENT) as address:
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A browser whose tabs are all awake."""
    made = Browser(tmp_path_factory.mktemp("browser"))
    yield made
    made.close()


@pytest.fixture
def database():
    made = Database()
    yield made
    made.close()


@pytest.fixture
def nodes(make_agent, database):
    """Makes three nodes, whose tables are there; none is started."""
    def config(name):
        return f'cluster = {{ database = secret "env:CALLAGENT_DATABASE", node = "{name}" }}\n'

    environment = {"CALLAGENT_DATABASE": database.address}
    made = [make_agent(config(name), folder=name, environment=environment) for name in "abc"]
    assert tool(made[0], "init")[0] == 0
    yield made
    running = [node for node in made if node.process and node.process.poll() is None]
    # The owner last, or another one would begin to own just then.
    for node in sorted(running, key=owns):
        node.signal(signal.SIGCONT)
        node.close()
