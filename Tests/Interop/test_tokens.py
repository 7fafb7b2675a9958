"""Tokens: minted by the tool, signed by every kind of key, changed, taken back."""

import base64
import json
import signal
import subprocess
import time

import pytest

from agent import wait_for
from device import Device
from test_admission import KEYS, SECRET, token


def mint(agent, *words):
    code, output = agent.tool("token", *words)
    assert code == 0, output
    return output.strip()


def refused(agent, bad, user="bob", device="phone", code="unauthenticated"):
    """Nobody gets in with this token, over WebSocket or HTTP."""
    stranger = Device(agent.url, user, device, greet=False)
    stranger.refused("hello", code, token=bad, device=device)
    assert stranger.closed() == 4203
    headers = {"Authorization": f"Bearer {bad}", "X-Device": device}
    assert agent.request("POST", "/v1/call/list", "{}", headers).body["code"] == code


def test_who_comes_with_a_token_that_was_good_once_is_told(guarded):
    revoked = token(jti="taken")
    assert guarded.tool("revoke", "--token", "taken")[0] == 0
    for bad, message, code in (
            (token(expires_in=-60), "the token has run out", "expired"),
            (token(nbf=int(time.time()) + 60), "the token is not valid yet", None),
            (revoked, "the token was revoked", "revoked"),
            # A forger learns nothing, whatever the token says of its time.
            (token("another secret of 32 bytes, so", expires_in=-60), "is not good", None)):
        stranger = Device(guarded.url, "bob", greet=False)
        error = stranger.refused("hello", "unauthenticated", token=bad, device="phone")
        assert message in error["message"] and error["detail"].get("code") == code, error
        assert stranger.closed() == 4203
        headers = {"Authorization": f"Bearer {bad}"}
        reply = guarded.request("POST", "/v1/call/list", "{}", headers)
        assert (reply.status, reply.body["error"]) == (401, error)


def reload(agent, config):
    agent.configure(config)
    code, output = agent.tool("reload")
    assert code == 0, output


@pytest.fixture
def guarded(make_agent):
    return make_agent(KEYS).start()


# Minting


def test_without_keys_the_tool_says_what_stands_for_a_token(agent):
    assert mint(agent, "bob") == "dev:bob"
    code, output = agent.tool("token", "group:sales")
    assert code == 1 and "'group:sales' is no user" in output, output
    for words, what in ((("--role", "server"), "no roles"), (("--server",), "no roles"),
                        (("--role", "viewer"), "no roles"), (("--name", "Bob"), "no name")):
        code, output = agent.tool("token", "bob", *words)
        assert code == 1 and what in output and "dev:" not in output, output


@pytest.mark.parametrize("user", ["group:sales", "deleted:bob"])
def test_no_token_is_minted_for_what_is_no_user(guarded, user):
    """K112: the server would refuse it."""
    for words in ((), ("--role", "server"), ("--name", "Sales")):
        code, output = guarded.tool("token", user, *words)
        assert code == 1 and f"'{user}' is no user" in output, output
    assert mint(guarded, "groupies").count(".") == 2


def test_a_minted_token_lets_its_user_in(guarded):
    assert guarded.connect("bob", token=mint(guarded, "bob")).hello["user"] == "bob"


def test_the_tools_make_their_own_tokens(guarded):
    guarded.connect("bob", token=mint(guarded, "bob"))
    code, output = guarded.tool("call", "bob", "--as", "ann", "--timeout", "1s")
    assert code == 1 and "ended last_left" in output, output
    code, output = guarded.tool("calls", "--as", "ann")
    assert code == 0 and "ann" in output and "bob timed_out" in output, output
    code, output = guarded.tool("get", output.split()[0], "--as", "ann")
    assert code == 0 and "ann (caller)" in output, output
    said = guarded.folder / "said"
    with open(said, "wb") as output:
        phone = guarded.begin_tool(
            "phone", "--as", "bob", "--once", "--reject", "busy", output=output)
        wait_for("the phone", lambda: b"connected as bob" in said.read_bytes())
        code, output = guarded.tool("call", "bob", "--as", "ann")
        assert code == 1 and "bob rejected (busy)" in output, output
        assert phone.wait(10) == 0


def test_who_cannot_read_the_keys_is_told_what_to_do(guarded):
    server = guarded.url
    for words in (("calls",), ("call", "bob"), ("phone",)):
        code, output = guarded.tool(*words, "--as", "ann", "--server", server)
        assert code == 1 and "unauthenticated" in output and "--config FILE" in output, output
        assert "callagent token ann" in output.replace("token ME", "token ann")
    code, output = guarded.tool(
        "calls", "--as", "ann", "--server", server, "--config", "callagent.lua")
    assert code == 0, output
    guarded.configure('auth = { { alg = "HS256", key = secret "env:CALLAGENT_NO_SUCH_KEY" } }\n')
    for words in (("calls",), ("call", "bob"), ("phone",)):
        code, output = guarded.tool(*words, "--as", "ann")
        assert code == 1 and "CALLAGENT_NO_SUCH_KEY" in output, output
        assert "callagent token ann" in output and "--token" in output, output


def test_a_minted_token_may_be_for_one_device(guarded):
    minted = mint(guarded, "bob", "--device", "phone")
    guarded.connect("bob", "phone", token=minted)
    refused(guarded, minted, device="tablet", code="forbidden")


def test_a_minted_token_may_allow_a_few_operations(guarded):
    minted = mint(guarded, "bob", "--caps", "call.get,call.l*")
    bob = guarded.connect("bob", token=minted)
    assert bob.ok("call.list")["calls"] == []
    bob.refused("call.invite", "forbidden", invitees=["alice"])
    headers = {"Authorization": f"Bearer {minted}"}
    body = json.dumps({"invitees": ["alice"]})
    assert guarded.request("POST", "/v1/call/invite", body, headers).status == 403
    # Nor does whoever may only read log out another device, which would end its calls.
    phone = guarded.connect("bob", "phone-2", token=token())
    headers["X-Device"] = "phone-2"
    assert guarded.request("POST", "/v1/bye", "{}", headers).body["code"] == "forbidden"
    assert phone.ok("ping") == {}
    headers["Authorization"] = f"Bearer {mint(guarded, 'bob', '--caps', 'bye')}"
    assert guarded.request("POST", "/v1/bye", "{}", headers).status == 200
    assert phone.closed() == 1000
    assert bob.ok("bye") == {}


def test_a_minted_token_may_be_a_servers(guarded):
    headers = {"Authorization": f"Bearer {mint(guarded, 'backend', '--server')}",
               "X-User": "carol"}
    body = json.dumps({"invitees": ["bob"]})
    reply = guarded.request("POST", "/v1/call/invite", body, headers)
    assert (reply.status, reply.body["call"]["caller"]) == (200, "carol")


def test_a_minted_token_runs_out(guarded):
    bob = guarded.connect("bob", token=mint(guarded, "bob", "--for", "1s"))
    assert bob.closed(timeout=15) == 4101


def test_a_token_of_more_than_its_longest_life_is_refused(guarded):
    guarded.connect("bob", token=token(expires_in=100 * 365 * 86_400))
    reload(guarded, KEYS + 'limits = { token_lifetime = "1h" }\n')
    refused(guarded, token(expires_in=3_660))
    guarded.connect("bob", token=token(expires_in=3_540))


# Kinds of keys


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


KINDS = {
    "ES256": ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "RS256": ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_pair_signs_with_its_private_half_only(make_agent, kind):
    agent = make_agent()
    openssl(agent.folder, *KINDS[kind], "-out", "private.pem")
    openssl(agent.folder, "pkey", "-in", "private.pem", "-pubout", "-out", "public.pem")
    entry = 'auth = {{ {{ alg = "{}", kid = "k", key = secret "file:{}" }} }}\n'
    agent.configure(entry.format(kind, "private.pem"))
    minted = mint(agent, "bob")
    agent.configure(entry.format(kind, "public.pem"))
    code, output = agent.tool("token", "bob")
    assert code == 1 and "no key of auth can sign" in output
    agent.start()
    agent.connect("bob", token=minted)
    refused(agent, minted[:-4] + "AAAA")
    # The oldest trick: the public key, which everybody knows, taken for a shared secret.
    public = (agent.folder / "public.pem").read_text()
    refused(agent, token(secret=public, kid="k"))
    refused(agent, token(algorithm="none", kid="k"))


def test_a_key_of_another_kind_stops_the_start(make_agent):
    agent = make_agent()
    openssl(agent.folder, *KINDS["RS256"], "-out", "key.pem")
    agent.configure('auth = { { alg = "ES256", key = secret "file:key.pem" } }\n')
    said = agent.refuses_to_start()
    assert "callagent.lua:3" in said and "ES256" in said and "BEGIN" not in said


# Changing keys

TWO = """auth = {{
  {{ alg = "HS256", kid = "old", key = "{0}", aud = "calls" }},
  {{ alg = "HS256", kid = "new", key = "{1}", aud = "calls" }},
}}
""".format(SECRET, "the next secret, of at least 32 bytes")
NEXT = """auth = {{ {{ alg = "HS256", kid = "new", key = "{}", aud = "calls" }} }}
""".format("the next secret, of at least 32 bytes")


def test_keys_change_by_reload_and_a_key_that_is_gone_lets_nobody_stay(guarded):
    old = token(kid="old")
    bob = guarded.connect("bob", token=old)
    reload(guarded, TWO)
    bob.ok("ping")
    # A key with a name takes only tokens that say it (H95).
    refused(guarded, token())
    alice = guarded.connect("alice", token=mint(guarded, "alice", "--kid", "new"))
    reload(guarded, NEXT)
    assert bob.closed() == 4102
    alice.ok("ping")
    refused(guarded, old)
    again = guarded.connect("bob", token=mint(guarded, "bob"), resume=bob.resume)
    assert again.hello["resumed"] is True


# Taking tokens back


def test_a_user_is_taken_back_at_once_and_for_good(guarded):
    old = mint(guarded, "bob")
    phone, tablet = (guarded.connect("bob", name, token=old) for name in ("phone", "tablet"))
    alice = guarded.connect("alice", token=mint(guarded, "alice"))
    assert guarded.tool("revoke", "bob") == (0, "revoked; 2 connections closed\n")
    revoked_at = time.time()
    assert phone.closed() == tablet.closed() == 4102
    alice.ok("ping")
    refused(guarded, old)
    guarded.crash()
    guarded.start()
    refused(guarded, old)
    # `iat` counts seconds: a token of the same second may be an old one.
    wait_for("the next second", lambda: time.time() > int(revoked_at) + 1)
    fresh = mint(guarded, "bob")
    assert issued(fresh) > issued(old)
    assert guarded.connect("bob", token=fresh).hello["user"] == "bob"


def issued(minted):
    payload = minted.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["iat"]


def test_one_device_is_taken_back(guarded):
    old = mint(guarded, "bob")
    phone, tablet = (guarded.connect("bob", name, token=old) for name in ("phone", "tablet"))
    assert guarded.tool("revoke", "bob", "--device", "phone")[0] == 0
    assert phone.closed() == 4102
    tablet.ok("ping")
    refused(guarded, old)


def test_one_token_is_taken_back(guarded):
    first, second = (mint(guarded, "bob", "--id", name) for name in ("a & b", "c"))
    phone, tablet = guarded.connect("bob", token=first), guarded.connect("bob", "tablet",
                                                                        token=second)
    assert guarded.tool("revoke", "--token", "a & b") == (0, "revoked; 1 connection closed\n")
    assert phone.closed() == 4102
    tablet.ok("ping")
    refused(guarded, first)


def test_the_file_may_list_what_is_taken_back(guarded):
    bad = mint(guarded, "bob", "--id", "stolen")
    bob = guarded.connect("bob", token=bad)
    guarded.configure(KEYS + 'revoked = { "stolen" }\n')
    guarded.signal(signal.SIGHUP)
    assert bob.closed() == 4102
    refused(guarded, bad)


def test_there_is_nothing_to_take_back_without_keys(agent):
    code, output = agent.tool("revoke", "bob")
    assert code == 1 and "without auth" in output
    agent.connect("bob").ok("ping")


def test_what_is_taken_back_is_said_clearly(agent):
    for words in ([], ["bob", "--token", "x"], ["--token", "x", "--device", "y"], ["a b"]):
        assert agent.tool("revoke", *words)[0] == 2, words
