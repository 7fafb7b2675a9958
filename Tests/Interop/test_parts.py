"""The two parts of callagent.lua: a generation goes back, the server's part never does."""

import base64
import hashlib
import hmac
import json
import sqlite3
import time

import pytest

from calls import invite
from device import Device
from support import ACCEPT, BUSY, SUPPORT, call, rewrite

OLD, NEW = "o" * 40, "n" * 40
GRANT = 'override["support"] = { grant = { "http:crm.example.com" } }\n'
NEEDS = 'plugin { needs = { "http:crm.example.com" } }\n'


def token(user, secret, header=None, **claims):
    claims = {"sub": user, "exp": int(time.time()) + 600, **claims}
    parts = [{"alg": "HS256", **(header or {})}, claims]
    text = b".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    mark = hmac.new(secret.encode(), text, hashlib.sha256).digest()
    return (text + b"." + base64.urlsafe_b64encode(mark).rstrip(b"=")).decode()


def keys(*names):
    rows = "".join(f'{{ alg = "HS256", key = secret "env:{name}" }}, ' for name in names)
    return f"auth = {{ {rows}}}\n"


def status(agent, bearer):
    """What a request over HTTP with this token comes to."""
    headers = {"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"}
    return agent.request("POST", "/v1/call/list", "{}", headers).status


def lets_in(agent, bearer):
    return status(agent, bearer) == 200


def secure(make_agent, config):
    environment = {"OLD_KEY": OLD, "NEW_KEY": NEW}
    return make_agent(config, {"support": ACCEPT}, environment=environment).start()


def use_new_key(agent, more=""):
    """The old key is revoked by a reload that changes the plugin too."""
    agent.configure(SUPPORT + keys("NEW_KEY") + more)
    rewrite(agent, BUSY)
    code, output = agent.tool("reload")
    assert code == 0, output
    assert not lets_in(agent, token("ann", OLD)) and lets_in(agent, token("ann", NEW))


def generation(agent):
    return json.loads(agent.tool("plugins", "--json")[1])["generation"]


def test_a_rollback_brings_no_revoked_key_back(make_agent):
    agent = secure(make_agent, SUPPORT + keys("OLD_KEY"))
    assert lets_in(agent, token("ann", OLD))
    first = generation(agent)
    use_new_key(agent, 'users = { "ann", "support" }\norigins = "https://a.b"\n'
                'limits.invitees = 3\n')
    code, output = agent.tool("rollback")
    assert code == 0 and first in output, output
    assert not lets_in(agent, token("ann", OLD)) and lets_in(agent, token("ann", NEW))
    device = agent.connect("ann", token=token("ann", NEW))
    assert device.hello["limits"]["invitees"] == 3
    device.refused("call.invite", "not_found", invitees=["ben"])


def test_a_start_after_a_crash_brings_no_revoked_key_back(make_agent):
    agent = secure(make_agent, SUPPORT + keys("OLD_KEY"))
    use_new_key(agent)
    agent.crash()
    agent.start()
    assert not lets_in(agent, token("ann", OLD)) and lets_in(agent, token("ann", NEW))
    # Also when it goes on with the generation last in force, because a plugin is broken.
    rewrite(agent, "on.invite(")
    agent.configure(SUPPORT + keys("OLD_KEY"))
    agent.crash()
    agent.start()
    assert not lets_in(agent, token("ann", NEW)) and lets_in(agent, token("ann", OLD))


def test_probation_brings_no_revoked_key_back(make_agent):
    agent = secure(make_agent, SUPPORT + keys("OLD_KEY", "NEW_KEY"))
    first = generation(agent)
    assert lets_in(agent, token("ann", OLD))
    agent.configure(SUPPORT + keys("NEW_KEY") + "limits.invitees = 4\n")
    rewrite(agent, "on.invite(function(call) error 'worse' end)\n")
    assert agent.tool("reload")[0] == 0
    person = agent.connect("support", token=token("support", NEW))
    for number in range(20):
        name = f"caller-{number}"
        invite(agent.connect(name, token=token(name, NEW)), "support", mode="advanced")
        person.event("call.incoming")
    agent.logs("generation rolled back")
    assert generation(agent) == first
    assert not lets_in(agent, token("ann", OLD)) and lets_in(agent, token("ann", NEW))
    device = agent.connect("ann", token=token("ann", NEW))
    assert device.hello["limits"]["invitees"] == 4
    files = [line for line in agent.tool("doctor")[1].splitlines() if "as on disk" in line]
    assert len(files) == 1 and "support.lua" in files[0] and "callagent.lua" not in files[0], files


def test_a_file_that_does_not_evaluate_leaves_the_server_as_it_was(make_agent):
    agent = secure(make_agent, SUPPORT + keys("NEW_KEY") + "limits.invitees = 3\n")
    agent.stop()
    agent.configure(SUPPORT + keys("OLD_KEY") + "listen = \n")
    agent.start()
    assert not lets_in(agent, token("ann", OLD)) and lets_in(agent, token("ann", NEW))
    device = agent.connect("ann", token=token("ann", NEW))
    assert device.hello["limits"]["invitees"] == 3
    agent.logs("the server's part last in force goes on")
    assert "callagent.lua:" in agent.log_text()
    code, output = agent.tool("doctor")
    assert code == 1 and "last in force goes on" in output, output
    # A second time, since what is kept is not what was kept.
    agent.crash()
    agent.start()
    assert lets_in(agent, token("ann", NEW))
    agent.configure(SUPPORT + keys("NEW_KEY"))
    assert agent.tool("reload")[0] == 0
    assert "last in force goes on" not in agent.tool("doctor")[1]


def test_without_a_kept_part_the_start_fails_with_the_line(make_agent):
    agent = make_agent(SUPPORT + "listen = \n", {"support": ACCEPT})
    (agent.folder / "state").mkdir()
    assert "callagent.lua:" in agent.refuses_to_start()


def test_a_key_written_as_text_is_not_kept(make_agent):
    text = f'auth = {{ {{ alg = "HS256", key = "{OLD}" }} }}\n'
    agent = make_agent(SUPPORT + text, {"support": ACCEPT}).start()
    code, output = agent.tool("check")
    assert code == 0 and "auth[1].key is written as text" in output, output
    agent.stop()
    kept = b"".join(path.read_bytes() for path in (agent.folder / "state").iterdir())
    assert OLD.encode() not in kept
    agent.configure(SUPPORT + "listen = \n")
    output = agent.refuses_to_start()
    assert "auth" in output.splitlines()[-1], output


def test_the_store_has_neither_secrets_nor_the_operators_text(make_agent):
    agent = secure(make_agent, SUPPORT + keys("NEW_KEY") + "-- a word of the operator\n")
    rewrite(agent, ACCEPT + 'config { key = option.secret() }\n')
    agent.configure(
        SUPPORT + keys("NEW_KEY") + 'options["support"] = { key = secret "env:OLD_KEY" }\n')
    assert agent.tool("reload")[0] == 0
    agent.stop()
    kept = b"".join(
        path.read_bytes() for path in (agent.folder / "state").iterdir() if path.is_file())
    for word in (OLD, NEW, "a word of the operator"):
        assert word.encode() not in kept
    with sqlite3.connect(agent.folder / "state" / "callagent.db") as store:
        files = dict(store.execute("SELECT path, source FROM generation_file").fetchall())
    assert b'secret "env:OLD_KEY"' in files["callagent.lua"] and b"auth" not in \
        files["callagent.lua"]


def test_what_is_no_generation_gives_no_new_name(make_agent):
    agent = secure(make_agent, SUPPORT + keys("OLD_KEY"))
    first = generation(agent)
    agent.configure(SUPPORT + keys("NEW_KEY") + "-- a comment\nlimits.invitees = 2\n")
    assert agent.tool("reload")[0] == 0
    assert generation(agent) == first
    agent.configure(SUPPORT + keys("NEW_KEY") + 'timezone = "Europe/Berlin"\n')
    assert agent.tool("reload")[0] == 0
    assert generation(agent) != first


def test_development_tokens_never_come_back(make_agent):
    agent = secure(make_agent, SUPPORT + keys("NEW_KEY"))
    for config in (SUPPORT, SUPPORT + "auth = {}\n"):
        agent.configure(config)
        code, output = agent.tool("reload")
        assert code == 1 and "auth = false" in output, output
        assert not lets_in(agent, "dev:ann") and lets_in(agent, token("ann", NEW))
    agent.stop()
    assert "auth = false" in agent.refuses_to_start()
    agent.configure(SUPPORT + "auth = false\n")
    code, output = agent.tool("check")
    assert code == 0 and "warning: auth = false" in output, output
    agent.start()
    assert lets_in(agent, "dev:ann")
    agent.logs("auth = false")
    code, output = agent.tool("reload")
    assert code == 0 and "warning: auth = false" in output, output


@pytest.mark.parametrize("is_last", [True, False], ids=["last", "earlier"])
def test_keys_of_an_old_store_count_even_if_its_plugins_do_not_load(make_agent, is_last):
    agent = secure(make_agent, SUPPORT + keys("NEW_KEY"))
    agent.stop()
    # Such as it was when the operator's file was kept with the plugins, and nothing beside them.
    name = "callagent.lua"
    text = (SUPPORT + keys("NEW_KEY")).encode()
    with sqlite3.connect(agent.folder / "state" / "callagent.db") as store:
        store.execute("DELETE FROM plugin_value WHERE plugin = '' AND key = 'server'")
        if is_last:
            store.execute("UPDATE generation_file SET source = ? WHERE path = ?", (text, name))
            store.execute("UPDATE generation_file SET source = ? WHERE path <> ?",
                          (b"on.invite(", name))
        else:
            store.execute("INSERT INTO generation VALUES ('old', 0, 1, NULL)")
            store.execute("INSERT INTO generation_file VALUES ('old', 0, ?, ?)", (name, text))
    store.close()
    agent.configure(SUPPORT)
    assert "auth = false" in agent.refuses_to_start()


def test_a_server_without_keys_takes_development_tokens(bot):
    agent = bot(ACCEPT)
    assert agent.tool("reload")[0] == 0 and lets_in(agent, "dev:ann")


def test_a_grant_that_was_taken_away_stays_away(bot):
    agent = bot(NEEDS + ACCEPT, SUPPORT + GRANT)
    first = generation(agent)
    rewrite(agent, BUSY)
    agent.configure(SUPPORT)
    assert agent.tool("reload")[0] == 0
    for _ in range(2):
        code, output = agent.tool("rollback", first)
        assert code == 1 and "http:crm.example.com" in output, output
        assert call(agent, "ann")[1] == ("rejected", "busy")
        agent.crash()
        agent.start()
    agent.configure(SUPPORT + GRANT)
    assert agent.tool("reload")[0] == 0
    assert agent.tool("rollback", first)[0] == 0
    assert call(agent, "ben")[1] == ("joined", None)


def test_probation_does_not_return_to_a_grant_that_was_taken_away(bot):
    agent = bot(NEEDS + ACCEPT, SUPPORT + GRANT)
    agent.configure(SUPPORT)
    rewrite(agent, "on.invite(function(call) error 'worse' end)\n")
    assert agent.tool("reload")[0] == 0
    second = generation(agent)
    person = agent.connect("support")
    for number in range(20):
        invite(agent.connect(f"caller-{number}"), "support", mode="advanced")
        person.event("call.incoming")
    agent.logs("http:crm.example.com")
    assert generation(agent) == second
    assert "http:crm.example.com" in agent.tool("doctor")[1]


ROLES = f"""auth = {{
  {{ alg = "HS256", key = "{OLD}", aud = "callagent" }},
  {{ alg = "HS256", key = "{NEW}", kid = "console", aud = "callagent",
     roles = {{ "operator", "viewer" }} }},
}}
"""
KID = {"kid": "console"}


def test_a_key_gives_only_the_roles_of_its_row(make_agent):
    agent = make_agent(ROLES).start()
    aud = {"aud": "callagent"}
    assert status(agent, token("ann", OLD, **aud)) == 200
    assert status(agent, token("backend", OLD, role="server", **aud)) == 200
    assert status(agent, token("backend", NEW, KID, role="server", **aud)) == 401
    for role in ("operator", "viewer"):
        console = {"role": role, "aud": "callagent-admin"}
        assert status(agent, token("ann", NEW, KID, **console)) == 403
        stranger = Device(agent.url, "ann", greet=False)
        stranger.refused("hello", "forbidden", token=token("ann", NEW, KID, **console),
                         device="phone")
        assert stranger.closed() == 4203
        assert status(agent, token("ann", NEW, KID, role=role, **aud)) == 401
        assert status(agent, token("ann", OLD, **console)) == 401
        code, output = agent.tool("token", "ann", "--role", role)
        assert code == 0 and status(agent, output.strip()) == 403, output
    for name in ("group:sales", "deleted:ann"):
        assert status(agent, token(name, OLD, **aud)) == 401
    code, output = agent.tool("token", "ann", "--role", "server", "--name", "Ann", "--for", "5m")
    part = output.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    assert (claims["role"], claims["name"], claims["aud"]) == ("server", "Ann", "callagent")
    assert claims["exp"] - claims["iat"] == 300
    code, output = agent.tool("token", "ann", "--role", "server", "--kid", "console")
    assert code == 1 and "gives the role 'server'" in output, output
