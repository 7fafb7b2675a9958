"""What must never be told: planted in every place where a client or an operator may put it."""

import json
import re

from device import Device
from raw import TEXT, RawSocket, frame
from test_admission import token

PLANTED = "PLANTED-{}-0123456789-abcdefghijklmnopqrstuvwxyz"
POINT = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
WORD = re.compile(rb"PLANTED-[a-z]+")
CONFIG = """
log = { level = "debug" }
auth = { { alg = "HS256", key = secret "env:SIGNING", aud = "calls" } }
answer_for = { "support" }
plugins = { "support" }
"""
PLUGIN = """
on.invite(function(call)
  if call.extended_data.fail then error("no luck") end
  return accept { extended_data = call.extended_data }
end)
"""


def test_nothing_secret_is_ever_logged(make_agent):
    key = PLANTED.format("key")
    agent = make_agent(CONFIG, {"support": PLUGIN}, environment={"SIGNING": key})
    agent.start()
    good = token(secret=key, sub="alice", jti=PLANTED.format("jti"))
    alice = agent.connect("alice", token=good)
    bob = agent.connect("bob", token=token(secret=key, sub="bob"))
    talk(alice, bob)
    over_http(agent, good)
    misbehave(agent, good)
    agent.crash()
    agent.start()
    reload_badly(agent)
    agent.stop()
    said = agent.log_text().encode()
    assert b"token refused" in said and b"no luck" in said, "the log is written, at level debug"
    assert not WORD.findall(said), WORD.findall(said)
    assert good.split(".")[2].encode() not in said


def talk(alice, bob):
    text = json.dumps({"secret": PLANTED.format("data")})
    alice.ok("call.invite", key=PLANTED.format("idempotency"), invitees=["bob"], mode="advanced",
             extended_data=text,
             push={"title": PLANTED.format("title"), "body": PLANTED.format("body")})
    alice.ok("call.invite", invitees=["support"], mode="advanced", extended_data=text)
    broken = json.dumps({"secret": PLANTED.format("data"), "fail": True})
    alice.ok("call.invite", invitees=["support"], mode="advanced", extended_data=broken)
    call = bob.event("call.incoming")["call_id"]
    bob.ok("call.accept", call_id=call, extended_data=text)
    bob.ok("call.signal", call_id=call, data={"sdp": PLANTED.format("sdp")})
    bob.ask("device.push_register", provider="apns", token=PLANTED.format("push"),
            environment="sandbox")
    bob.ask("device.push_register", provider="web", subscription={
        "endpoint": "https://push.example/" + PLANTED.format("endpoint"),
        "keys": {"auth": PLANTED.format("auth"), "p": PLANTED.format("p")}})
    bob.ok("device.push_register", provider="web", subscription={
        "endpoint": "https://push.example/" + PLANTED.format("endpoint"),
        "keys": {"auth": "A" * 22, "p256dh": POINT}, "p": PLANTED.format("p")})


def over_http(agent, good):
    for header in (f"Bearer {good}", f"Bearer {PLANTED.format('bearer')}",
                   f"Basic {PLANTED.format('basic')}"):
        agent.request("POST", "/v1/call/list", json.dumps({"x": PLANTED.format("body")}),
                      {"Authorization": header, "Cookie": PLANTED.format("cookie")})
    agent.get("/v1/call/" + PLANTED.format("path"))


def misbehave(agent, good):
    for bad in (PLANTED.format("token"), good[:-6] + "AAAAAA", token(aud=PLANTED.format("aud"))):
        stranger = Device(agent.url, "bob", greet=False)
        stranger.refused("hello", "unauthenticated", token=bad, device="phone")
    raw = RawSocket(agent.port).upgrade()
    for _ in range(3):
        raw.send(frame(TEXT, PLANTED.format("garbage").encode()))
    raw = RawSocket(agent.port)
    raw.send(f"GET /{PLANTED.format('query')} HTTP/1.1\r\nA B: {PLANTED.format('h')}\r\n\r\n"
             .encode())


def reload_badly(agent):
    """A file that cannot be used is told of, without what its secrets say."""
    for line in ('auth = { { alg = "ES256", key = secret "env:SIGNING" } }',
                 'auth = { { alg = "HS256", key = secret "env:SIGNING", kidd = 1 } }',
                 'listen = secret "env:SIGNING"', 'limits = { message = secret "env:SIGNING" }'):
        agent.configure(line + "\n")
        code, output = agent.tool("reload")
        assert code == 1 and not WORD.findall(output.encode()), output
