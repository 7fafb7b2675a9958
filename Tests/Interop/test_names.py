"""What people are called (K108): said by the operator, servers and tokens; shown to all."""

import json

import pytest

from agent import wait_for
from calls import invite, participant
from device import Device
from test_admission import KEYS, token as signed
from test_push import pushes, register

TRICKS = ["", "x" * 65, "Ann\nBob", "\u202eyllaer", "a\u2066b", "\u200b", 7, None, ["Ann"]]


def token(user, **claims):
    return signed(sub=user, **claims)


def shown(call, user):
    return participant(call, user)["name"]


def name_of(agent, user, asker):
    reply = agent.post("user.get", asker, {"users": [user]})
    assert reply.status == 200, reply.text
    (found,) = reply.body["users"]
    assert found["user"] == user
    return found["name"]


def named(agent, user, name, device="phone"):
    """A device whose `hello` says what its user is called, with a development token."""
    one = Device(agent.url, user, device, greet=False)
    one.hello = one.ok("hello", token=f"dev:{user}", device=device, name=name)
    one.session, one.seq = one.hello["session"], 0
    return one


@pytest.fixture
def guarded(make_agent):
    return make_agent(KEYS).start()


def server_post(agent, op, data, user="backend", key=None):
    headers = {"Authorization": f"Bearer {token('backend', role='server')}", "X-User": user}
    if key:
        headers["Idempotency-Key"] = key
    return agent.request("POST", "/v1/" + op.replace(".", "/"), json.dumps(data), headers)


def test_everybody_in_the_call_sees_the_names(agent):
    alice, bob = named(agent, "alice", "Alice Smith"), agent.connect("bob")
    ok = alice.ok("call.invite", invitees=["bob"])
    assert shown(ok["call"], "alice") == "Alice Smith" and shown(ok["call"], "bob") is None
    incoming = bob.event("call.incoming")
    assert incoming["inviter_name"] == "Alice Smith"
    assert shown(incoming["call"], "alice") == "Alice Smith"
    again = agent.connect("bob", "tablet")
    assert shown(again.hello["calls"][0], "alice") == "Alice Smith"
    listed = agent.post("call.list", "bob", {}).body["calls"][0]
    assert shown(listed, "alice") == "Alice Smith"


def test_an_inviter_without_a_name_has_null(agent):
    alice, bob = agent.connect("alice"), agent.connect("bob")
    invite(alice, "bob")
    assert bob.event("call.incoming")["inviter_name"] is None


@pytest.mark.parametrize("name", TRICKS[1:8])
def test_a_name_that_plays_tricks_is_refused(agent, name):
    one = Device(agent.url, "bob", greet=False)
    if name is None:
        one.ok("hello", token="dev:bob", device="phone", name=None)
        return
    error = one.refused("hello", "bad_request", token="dev:bob", device="phone", name=name)
    assert error["detail"] == {"field": "name"}


def test_the_operators_name_wins_and_a_reload_changes_it(make_agent):
    agent = make_agent('names = { alice = "Front desk" }\n').start()
    named(agent, "alice", "Alice Smith").close()
    assert name_of(agent, "alice", "alice") == "Front desk"
    agent.configure("")
    assert agent.tool("reload")[0] == 0
    assert name_of(agent, "alice", "alice") == "Alice Smith"


@pytest.mark.parametrize("line, what", [
    ('names = { ["al ice"] = "A" }', "is no user"), ('names = { alice = 7 }', "a text expected"),
    ('names = { alice = "a\\nb" }', "a name is 1 to 64 bytes"), ('names = "x"', "a table"),
    ('names_for = "all"', "met"), ("limits.names = -1", "-1"),
])
def test_a_mistake_in_the_file_is_named(make_agent, line, what):
    agent = make_agent(line + "\n")
    code, output = agent.tool("check")
    assert code == 1 and "callagent.lua:" in output and what in output, output


def test_a_name_outlives_a_kill_and_is_written_once(agent):
    for number in range(3):
        named(agent, "alice", "Alice Smith", f"d{number}").close()
    named(agent, "bob", "Bob").close()
    assert name_of(agent, "alice", "alice") == "Alice Smith"
    agent.crash()
    agent.start()
    assert name_of(agent, "alice", "alice") == "Alice Smith"
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = alice.ok("call.invite", invitees=["bob"])["call"]
    assert shown(call, "bob") == "Bob"
    assert bob.event("call.incoming")["inviter_name"] == "Alice Smith"


def test_a_token_says_the_name_and_hello_cannot(guarded):
    claims = token("alice", name="Alice Smith")
    one = Device(guarded.url, "alice", greet=False)
    one.ok("hello", token=claims, device="phone", name="Queen")
    call = one.ok("call.invite", invitees=["bob"])["call"]
    assert shown(call, "alice") == "Alice Smith"
    # Over HTTP too; what cannot be a name keeps nobody out.
    headers = {"Authorization": f"Bearer {token('alice', name='Alice Jones')}"}
    body = json.dumps({"call_id": call["call_id"]})
    got = guarded.request("POST", "/v1/call/get", body, headers).body["call"]
    assert shown(got, "alice") == "Alice Jones"
    other = Device(guarded.url, "alice", "tablet", greet=False)
    other.ok("hello", token=token("alice", name="\u202eecilA"), device="tablet")
    assert shown(other.ok("call.get", call_id=call["call_id"])["call"], "alice") == "Alice Jones"


def test_only_a_server_sets_names_and_it_comes_before_tokens(guarded):
    reply = server_post(guarded, "user.set", {"user": "alice", "name": "Dr Smith"}, key="k1")
    assert (reply.status, reply.body) == (200, {})
    assert server_post(
        guarded, "user.set", {"user": "alice", "name": "Dr Smith"}, key="k1").body == {}
    reused = server_post(guarded, "user.set", {"user": "alice", "name": "Other"}, key="k1")
    assert reused.body["code"] == "key_reused"
    one = Device(guarded.url, "alice", greet=False)
    one.ok("hello", token=token("alice", name="Alice"), device="phone")
    error = one.refused("user.set", "forbidden", user="alice", name="Alice")
    assert "server" in error["message"]
    (found,) = one.ok("user.get", users=["alice"])["users"]
    assert found == {"user": "alice", "name": "Dr Smith"}
    guarded.crash()
    guarded.start()
    assert server_post(guarded, "user.get", {"users": ["alice"]}).body["users"] == [found]
    # An empty name takes it back; the token's comes with the next request.
    assert server_post(guarded, "user.set", {"user": "alice", "name": ""}).status == 200
    headers = {"Authorization": f"Bearer {token('alice', name='Alice')}"}
    got = guarded.request("POST", "/v1/user/get", '{"users":["alice"]}', headers)
    assert got.body["users"] == [{"user": "alice", "name": "Alice"}]


@pytest.mark.parametrize("name", [one for one in TRICKS if one != ""])
def test_a_server_cannot_set_what_is_no_name(guarded, name):
    reply = server_post(guarded, "user.set", {"user": "alice", "name": name})
    assert (reply.status, reply.body["code"]) == (400, "bad_request"), reply.text
    assert reply.body["detail"].startswith("name"), reply.text


def test_strangers_are_not_told(agent):
    for user in ("alice", "bob", "carol"):
        named(agent, user, f"N {user}").close()
    alice = agent.connect("alice")
    invite(alice, "bob")
    reply = alice.ok("user.get", users=["alice", "bob", "carol", "nobody", "bob"])
    assert reply["users"] == [{"user": "alice", "name": "N alice"},
                              {"user": "bob", "name": "N bob"}]
    assert reply["errors"] == [{"user": "carol", "code": "unknown_user"},
                               {"user": "nobody", "code": "unknown_user"},
                               {"user": "bob", "code": "duplicate"}]
    for users in ([], ["bob"] * 101):
        error = alice.refused("user.get", "bad_request", users=users)
        assert error["detail"] == {"field": "users"}


def test_names_for_everybody(make_agent):
    agent = make_agent('names_for = "everybody"\n').start()
    named(agent, "carol", "Carol").close()
    reply = agent.post("user.get", "alice", {"users": ["carol", "nobody"]}).body
    assert reply == {"users": [{"user": "carol", "name": "Carol"},
                               {"user": "nobody", "name": None}], "errors": []}


def test_each_name_asked_for_costs_a_request(make_agent):
    agent = make_agent(KEYS + "limits = { requests_per_second = 100 }\n").start()
    one = Device(agent.url, "alice", greet=False)
    one.ok("hello", token=token("alice"), device="phone")
    everybody = [f"u{n}" for n in range(100)]
    one.ok("user.get", users=everybody)
    # A machine that stands still for a second earns them meanwhile, but not again and again.
    for _ in range(10):
        reply = one.ask("user.get", users=everybody)
        if "error" in reply:
            break
    assert reply["error"]["code"] == "rate_limited", reply
    assert 0 < reply["error"]["retry_after_ms"] <= 1_000


def test_names_have_a_limit(make_agent):
    agent = make_agent(KEYS + "limits = { names = 2 }\n").start()
    for user in ("a", "b"):
        assert server_post(agent, "user.set", {"user": user, "name": "N"}).status == 200
    reply = server_post(agent, "user.set", {"user": "c", "name": "N"})
    assert reply.body["code"] == "too_many" and "limits.names" in reply.text
    assert server_post(agent, "user.set", {"user": "a", "name": "Other"}).status == 200
    one = Device(agent.url, "alice", greet=False)
    one.ok("hello", token=token("alice", name="Alice"), device="phone")
    assert one.ok("user.get", users=["alice"])["users"] == [{"user": "alice", "name": None}]


def test_plugins_see_names(make_agent):
    plugin = """
on.dial(function(call, invitees)
  for _, one in ipairs(call.invitees) do log.info("invitee", { name = one.name or "none" }) end
  return allow {}
end)
on.invite(function(call)
  log.info("asked", { name = call.caller.name or "none", callee = call.callee.name or "none" })
  local someone = users.get("bob")
  log.info("got", { name = someone.name or "none" })
  return reject "declined"
end)
"""
    agent = make_agent(
        'plugins = { "n" }\nanswer_for = { "desk" }\nnames = { desk = "The desk" }\n',
        plugins={"n": plugin}).start()
    named(agent, "bob", "Bob").close()
    agent.post("call.invite", "alice", {"invitees": ["desk"]})
    wait_for("the plugin's lines", lambda: '"message":"got"' in agent.log_text())
    text = agent.log_text()
    assert '"message":"invitee"' in text
    for words in ('"name":"The desk"', '"callee":"The desk"', '"name":"Bob"', '"name":"none"'):
        assert words in text, (words, text)


def test_a_push_shows_the_name(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "webhook", "anything")
    alice = named(agent, "alice", "Alice Smith")
    alice.ok("call.invite", invitees=["bob"])
    (push,) = pushes(double, 1)
    text = json.dumps(push)
    assert "Alice Smith" in text, text


def test_ten_thousand_names_of_one_user_are_one(agent):
    """Over one connection at a time; the last one is kept, and nothing has grown."""
    for number in range(300):
        named(agent, "mallory", f"Name {number}").close()
    assert name_of(agent, "mallory", "mallory") == "Name 299"
    agent.crash()
    agent.start()
    assert name_of(agent, "mallory", "mallory") == "Name 299"
