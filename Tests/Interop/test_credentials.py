"""Media credentials: a JWT library and a real TURN server take what the bundled plugins make."""

import json
import subprocess
import time

import jwt
import pytest

from calls import invite
from turn import Turn

SECRET = "a-secret-of-at-least-thirty-two-bytes"
LIVEKIT = {"url": "wss://media.example.com", "key": "APIabc", "secret": SECRET}


def try_token(folder, plugin, options, *more):
    """What `callagent try` gets from on.token of a bundled plugin for bob."""
    code, output = folder.tool(
        "try", plugin, "--token", '{"user":"bob"}', "--options", json.dumps(options), *more)
    assert code == 0, output
    return json.loads(output)


# LiveKit

def test_a_jwt_library_takes_the_token_for_livekit(make_agent):
    made = try_token(make_agent(), "livekit-token", LIVEKIT | {"ttl": "5m", "room": "desk-"})
    claims = jwt.decode(
        made["token"], SECRET, algorithms=["HS256"], issuer="APIabc",
        options={"require": ["exp", "nbf", "iss", "sub"]})
    assert claims["sub"] == "bob" and abs(claims["exp"] - time.time() - 300) < 60
    assert claims["video"] == {
        "room": made["room"], "roomJoin": True, "canPublish": True, "canSubscribe": True}
    assert jwt.get_unverified_header(made["token"]) == {"alg": "HS256", "typ": "JWT"}


def test_a_jwt_library_refuses_what_it_must(make_agent):
    folder = make_agent()
    token = try_token(folder, "livekit-token", LIVEKIT)["token"]
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.decode(token, SECRET + "x", algorithms=["HS256"])
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.decode(token[:-2] + ("AA" if token[-2:] != "AA" else "BB"), SECRET, ["HS256"])
    old = try_token(folder, "livekit-token", LIVEKIT, "--at", "2024-05-01 10:00")["token"]
    with pytest.raises(jwt.ExpiredSignatureError):
        jwt.decode(old, SECRET, algorithms=["HS256"])


def test_who_is_in_a_call_gets_a_token_from_the_server(make_agent):
    options = ", ".join(f'{name} = "{value}"' for name, value in LIVEKIT.items())
    agent = make_agent(
        f'plugins = {{ "livekit-token" }}\noptions["livekit-token"] = {{ {options} }}\n').start()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob", mode="advanced")
    bob.ok("call.accept", call_id=call)
    for device, user in ((alice, "alice"), (bob, "bob")):
        made = device.ok("call.token", call_id=call)["token"]
        claims = jwt.decode(made["token"], SECRET, algorithms=["HS256"], issuer="APIabc")
        assert (claims["sub"], claims["video"]["room"]) == (user, call)


# TURN

@pytest.fixture
def turn(tmp_path):
    """The port of a coturn."""
    server = Turn(tmp_path / "turn", SECRET)
    try:
        yield server.start().port
    finally:
        server.crash()


def allocate(port, username, credential):
    """Whether coturn lets two clients with them talk through it, and what they said."""
    done = subprocess.run(
        ["turnutils_uclient", "-y", "-c", "-n", "1", "-p", str(port), "-u", username,
         "-w", credential, "127.0.0.1"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
        check=False)
    return done.returncode == 0, done.stdout.decode(errors="replace")


def test_coturn_takes_the_credentials(make_agent, turn):
    options = {"urls": [f"turn:127.0.0.1:{turn}"], "secret": SECRET}
    made = try_token(make_agent(), "turn-credentials", options)
    server = made["iceServers"][0]
    assert server["urls"] == options["urls"] and made["ttl"] == 3600
    is_good, said = allocate(turn, server["username"], server["credential"])
    assert is_good and "tot_recv_msgs=2" in said, said


def test_coturn_refuses_other_and_old_credentials(make_agent, turn):
    folder = make_agent()
    options = {"urls": [f"turn:127.0.0.1:{turn}"], "secret": SECRET}
    server = try_token(folder, "turn-credentials", options)["iceServers"][0]
    for username, credential in (
        (server["username"], server["credential"][::-1]),
        ("9" + server["username"], server["credential"]),
    ):
        is_good, said = allocate(turn, username, credential)
        assert not is_good and "Cannot complete Allocation" in said, said
    old = try_token(folder, "turn-credentials", options, "--at", "2024-05-01 10:00")
    old = old["iceServers"][0]
    is_good, said = allocate(turn, old["username"], old["credential"])
    assert not is_good, said
