"""Plugins ask other servers: `http.get` and `http.post` through the engine."""

import json
import time

import pytest

from agent import wait_for
from calls import changes
from support import SUPPORT
from test_policy import call_support
from web import Web

GRANT = SUPPORT + (
    'override["support"] = { grant = { "http:localhost", "internal:localhost" } }\n')
ASK = """-- Asks a server and says what came of it in the rejection.
on.invite(function(call)
  local reply, problem = %s
  local said = problem or (reply.status .. " " .. (reply.json and reply.json.path or #reply.body))
  return reject("declined", { extended_data = { said = said } })
end)
"""


@pytest.fixture
def web():
    server = Web()
    yield server
    server.close()


def said_after(agent):
    """What the plugin met, as it tells the caller."""
    alice, call = call_support(agent)
    event = alice.event("call.changed")
    assert changes(event) == {"support": ("rejected", "declined")}
    return event["changes"][0]["extended_data"]


def test_a_plugin_reads_json_from_a_granted_host(bot, web):
    agent = bot(ASK % f'http.get "{web.url}/echo?who=" ', GRANT)
    assert said_after(agent) == '{"said":"200 /echo?who="}'
    assert agent.metrics()["callagent_plugin_fetches_total"] == 1


def test_a_post_carries_json_and_headers(bot, web):
    agent = bot(
        ASK % (f'http.post("{web.url}/echo", '
               '{ json = { a = 1 }, headers = { ["X-A"] = "b" } })'), GRANT)
    assert said_after(agent) == '{"said":"200 /echo"}'
    (method, path, headers, body), = web.seen
    assert (method, path, body) == ("POST", "/echo", b'{"a":1}')
    assert headers["X-A"] == "b" and headers["Content-Type"] == "application/json"
    assert headers["User-Agent"].startswith("callagent")


def test_the_house_itself_is_closed_unless_the_operator_opens_it(bot, web):
    agent = bot(ASK % f'http.get "{web.url}/echo"', GRANT.replace(', "internal:localhost"', ""))
    assert "refused_address" in said_after(agent)
    assert web.seen == []


def test_a_host_that_was_not_granted_is_trouble_and_said(bot, web):
    agent = bot(ASK % f'http.get "{web.url}/echo"', GRANT.split("override")[0])
    said = json.loads(said_after(agent))["said"]
    assert said == 'http.get: "http:localhost" is not granted to this plugin'
    agent.logs("is not granted")
    assert web.seen == []


def test_a_chunk_whose_head_never_ends_is_cut_off(bot, web):
    agent = bot(ASK % f'http.get("{web.url}/chunk", {{ timeout = "60s" }})',
                GRANT + 'invite = { decide_in = "15s" }\n')
    assert "too_large" in said_after(agent)
    assert web.left.wait(10), "it is read on"


def test_a_redirect_is_an_answer_and_not_followed(bot, web):
    agent = bot(ASK % f'http.get "{web.url}/away"', GRANT)
    assert said_after(agent) == '{"said":"302 0"}'
    assert len(web.seen) == 1


def test_an_answer_that_is_too_long_is_trouble(bot, web):
    agent = bot(ASK % f'http.get "{web.url}/big"', GRANT)
    assert "too_large" in said_after(agent)


def test_a_server_that_hangs_is_given_up_in_time(bot, web):
    agent = bot(ASK % f'http.get("{web.url}/hang", {{ timeout = "300ms" }})', GRANT)
    assert "timed_out" in said_after(agent)
    assert web.left.wait(10), "the connection stays open"
    assert agent.metrics()["callagent_plugin_fetches"] == 0
    assert agent.metrics()["callagent_plugin_fetches_failed_total"] == 1


def test_nobody_is_there(bot):
    agent = bot(ASK % 'http.get "http://localhost:1/"', GRANT)
    assert "unreachable" in said_after(agent)


def test_the_end_of_a_call_ends_its_requests(bot, web):
    agent = bot(ASK % f'http.get("{web.url}/hang", {{ timeout = "60s" }})',
                GRANT + 'invite = { decide_in = "30s" }\n')
    alice, call = call_support(agent)
    wait_for("the request", lambda: web.seen)
    alice.ok("call.cancel", call_id=call)
    assert web.left.wait(10), "the request outlives its call"
    wait_for("nothing under way", lambda: agent.metrics()["callagent_plugin_fetches"] == 0)


def test_the_end_of_the_time_to_decide_ends_the_request(bot, web):
    agent = bot(ASK % f'http.get("{web.url}/hang", {{ timeout = "60s" }})',
                GRANT + 'invite = { decide_in = "500ms", default = "reject" }\n')
    alice, _ = call_support(agent)
    assert changes(alice.event("call.changed")) == {"support": ("rejected", "declined")}
    assert web.left.wait(10), "the request outlives its handler"
    wait_for("nothing under way", lambda: agent.metrics()["callagent_plugin_fetches"] == 0)


MANY = """-- Asks often at once, in groups, and says what came of the last request or of all.
on.invite(function(call)
  local groups, last = {}, nil
  for group = 1, %d do
    local asks = {}
    for n = 1, %d do
      asks[n] = function()
        local _, problem = http.get("%s/hang", { timeout = "1s" })
        if last ~= "limit" then last = problem end
      end
    end
    groups[group] = function() all(asks) end
  end
  local fine, text = pcall(all, groups)
  return reject("declined", { extended_data = { said = tostring(fine and last or text) } })
end)
"""


@pytest.mark.parametrize("groups, each, said", [
    (2, 4, "timed_out"), (3, 3, "limit")])
def test_one_account_has_8_requests_under_way_at_most(bot, web, groups, each, said):
    agent = bot(MANY % (groups, each, web.url), GRANT + 'invite = { decide_in = "20s" }\n')
    assert said in said_after(agent)


def test_a_server_that_hangs_is_not_felt_by_other_calls(bot, web):
    """Many invitations wait for the server; calls between people go on as if it were not."""
    agent = bot(ASK % f'http.get("{web.url}/hang", {{ timeout = "60s" }})',
                GRANT + 'invite = { decide_in = "30s" }\n')
    waiting = [agent.connect(f"caller{n}") for n in range(12)]
    for caller in waiting:
        caller.ok("call.invite", invitees=["support"], mode="advanced")
    wait_for("the requests", lambda: len(web.seen) == 12)
    alice, bob = agent.connect("alice"), agent.connect("bob")
    begin = time.monotonic()
    for _ in range(20):
        call = alice.ok("call.invite", invitees=["bob"], mode="common")["call_id"]
        bob.ok("call.reject", call_id=call)
        alice.events("call.changed", "call.ended")
    assert time.monotonic() - begin < 20
