"""Credentials for the media side: `call.token` through `on.token`."""

import json
import time

import jwt

from calls import invite

SECRET = "a secret of thirty-two characters"
MAKE = f"""-- Makes a token for the call's room.
on.token(function(call, user)
  if user.id == "mallory" then return end
  return {{ url = "wss://media.example.com", room = call.id, token = jwt(
    {{ sub = user.id, room = call.id, exp = time.now() + 60 }},
    {{ alg = "HS256", key = "{SECRET}" }}) }}
end)
"""


def start(make_agent, plugin=MAKE):
    return make_agent('plugins = { "media" }\n', {"media": plugin}).start()


def test_who_joined_gets_a_token_over_the_socket_and_over_http(make_agent):
    agent = start(make_agent)
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode="advanced")
    bob.refused("call.token", "wrong_state", call_id=call)
    bob.ok("call.accept", call_id=call)
    over_socket = bob.ok("call.token", call_id=call)["token"]
    over_http = agent.post("call.token", "alice", {"call_id": call})
    assert over_http.status == 200, over_http.text
    for user, made in (("bob", over_socket), ("alice", over_http.body["token"])):
        assert made["room"] == call and made["url"] == "wss://media.example.com"
        claims = jwt.decode(made["token"], SECRET, algorithms=["HS256"])
        assert (claims["sub"], claims["room"]) == (user, call)
        assert 0 < claims["exp"] - time.time() <= 61


def test_without_an_answer_there_is_no_token(make_agent):
    agent = start(make_agent)
    mallory = agent.connect("mallory")
    call = invite(mallory, "bob", mode="advanced")
    mallory.refused("call.token", "unsupported", call_id=call)
    agent.connect("eve").refused("call.token", "not_invited", call_id=call)


def test_a_plugin_that_fails_or_waits_too_long_gives_no_token(make_agent):
    agent = start(make_agent, '''-- Fails, or takes its time.
on.token(function(call, user)
  if user.id == "alice" then error "no" end
  sleep "10s"
end)
''')
    alice, carl = agent.connect("alice"), agent.connect("carl")
    alice.refused("call.token", "unsupported", call_id=invite(alice, "bob", mode="advanced"))
    carl.refused("call.token", "unsupported", call_id=invite(carl, "bob", mode="advanced"))


def test_a_token_is_made_with_what_another_server_says(make_agent):
    """A plugin may ask the media side itself; here it is not there, and the plugin says so."""
    agent = start(make_agent, """-- Asks the media server.
on.token(function(call, user)
  local reply, problem = http.get "http://localhost:1/"
  return { trouble = problem }
end)
""")
    agent.stop()
    agent.configure('plugins = { "media" }\noverride["media"] = '
                    '{ grant = { "http:localhost", "internal:localhost" } }\n')
    agent.start()
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="advanced")
    token = alice.ok("call.token", call_id=call)["token"]
    assert "unreachable" in json.dumps(token)
