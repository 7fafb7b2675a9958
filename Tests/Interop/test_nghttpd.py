"""A second implementation of HTTP/2, nghttp2's own server, takes what is sent out."""

import shutil
import socket
import subprocess

import pytest

from agent import free_port, wait_for
from test_push import invite

NGHTTPD = shutil.which("nghttpd", path="/usr/sbin:/usr/bin:/usr/local/bin")


@pytest.fixture
def nghttpd(double, tmp_path):
    """The server with one file, `hook`; it answers 200 to whatever is posted there."""
    assert NGHTTPD, "nghttpd is missing: sh examples/install.sh --checks"
    (tmp_path / "hook").write_text("taken")
    port = free_port()
    log = open(tmp_path / "nghttpd.log", "wb")
    process = subprocess.Popen(
        [NGHTTPD, "-v", "-d", str(tmp_path), str(port), double.hello["key"],
         double.hello["certificate"]], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    yield port, lambda: (tmp_path / "nghttpd.log").read_text(errors="replace")
    process.kill()
    process.wait()
    log.close()


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_webhooks_and_fetches_reach_it(make_agent, double, nghttpd):
    port, log = nghttpd
    config = double.hook_config("crm").replace(f"{double.base}/hook/crm",
                                               f"https://localhost:{port}/hook")
    config += ('plugins = { "asker" }\noverride["asker"] = '
               '{ grant = { "http:localhost", "internal:localhost" } }\n')
    asker = ('-- Asks the server.\non.accepted(function(call)\n'
             f'  local reply = http.get "https://localhost:{port}/hook"\n'
             '  log.info("asked", { said = reply.body, status = reply.status })\nend)\n')
    agent = make_agent(config, {"asker": asker}, environment=double.environment)
    wait_for("nghttpd", lambda: listens(port))
    agent.start()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode="advanced")
    bob.ok("call.accept", call_id=call)
    agent.logs('"said":"taken"')
    alice.ok("call.end", call_id=call)
    wait_for("four events", lambda: agent.metrics()["callagent_webhooks_delivered_total"] == 4)
    assert ":method: POST" in log() and "webhook-signature: v1," in log()
