"""Media credentials: a JWT library and a real TURN server take what the bundled plugins make."""

import json
import shutil
import socket
import subprocess
import time

import jwt
import pytest

from agent import PATIENCE, wait_for
from calls import invite

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
    """A coturn on loopback that knows nothing but a secret; gives its port."""
    server = shutil.which("turnserver")
    assert server, "coturn is missing: sh examples/install.sh --checks"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = open(tmp_path / "turn.log", "wb")
    process = subprocess.Popen(
        [server, "-n", "--listening-ip", "127.0.0.1", "--relay-ip", "127.0.0.1",
         "--listening-port", str(port), "--use-auth-secret", "--static-auth-secret", SECRET,
         "--realm", "example.com", "--userdb", str(tmp_path / "turn.db"), "--no-tls", "--no-dtls",
         "--no-cli", "--allow-loopback-peers", "--simple-log", "--log-file", "stdout",
         "--pidfile", str(tmp_path / "turn.pid")],
        cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def listens():
        assert process.poll() is None, (tmp_path / "turn.log").read_text(errors="replace")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
            return True
        except OSError:
            return False

    try:
        wait_for("coturn", listens, patience=30)
        yield port
    finally:
        process.kill()
        process.wait(PATIENCE)
        log.close()


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
