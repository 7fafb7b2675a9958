"""A state directory that an earlier version left goes on as if nothing had happened."""

import sqlite3

import pytest

from agent import wait_for
from old_store import OldAgent, build, expected
from test_admission import token

VERSIONS = [4]


@pytest.fixture
def old(tmp_path, double):
    """Starts a server on what an older version left; returns it with what must be there."""
    made = []

    def start(version, killed):
        agent = OldAgent(tmp_path / "agent", double)
        made.append(agent)
        names = build(agent, double, version, killed)
        kept = expected(version)
        for part in ("over", "keys"):
            kept[part] = dict(map(renamed(names), kept[part].items()))
        kept["live"] = [names[call] for call in kept["live"]]
        return agent.start(), kept

    yield start
    for agent in made:
        agent.close()
        print(agent.log_text()[-8000:])


def renamed(names):
    return lambda pair: tuple(names.get(part, part) for part in pair)


def rows(agent, question):
    with sqlite3.connect(f"file:{agent.folder}/state/callagent.db?mode=ro", uri=True) as database:
        return database.execute(question).fetchall()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "stopped"])
def test_everything_that_an_older_version_kept_is_there(old, double, version, killed):
    agent, kept = old(version, killed)
    code, text = agent.tool("calls", "--limit", "100")
    assert code == 0 and all(call in text for call in kept["live"]), text
    fay, ann = agent.meet("fay"), agent.meet("ann")
    listed = fay.ok("call.list", limit=100)["calls"]
    assert {call["call_id"]: call["end"]["reason"] for call in listed} == kept["over"]
    for key, call in kept["keys"].items():
        again = ann.ok("call.invite", key=key, invitees=["eve"], mode="advanced",
                       timeout_ms=120_000)
        assert again["call_id"] == call
    hal = agent.connect("hal", token=token(sub="hal"), missed=True)
    assert hal.event("call.missed")["call_id"] == list(kept["over"])[-1]
    assert "gone  DISABLED" in agent.tool("webhooks")[1]
    # Who was taken back stays so: this token is older.
    stolen = token(sub="mallory", iat=1_700_000_000)
    refused = agent.request(
        "POST", "/v1/call/list", "{}", {"Authorization": f"Bearer {stolen}"})
    assert refused.status == 401
    told = []

    def arrived():
        told.extend(double.seen())
        ended = {one["payload"]["data"]["call_id"] for one in told if one["subject"] == "slow"}
        pushed = [one for one in told if one["subject"] == "sleeping-bob"]
        return ended == set(kept["over"]) and len(pushed) == kept["rows"]["push_job"]

    wait_for("webhooks and pushes that were open", arrived)
    assert agent.tool("rollback")[0] == 0
    assert agent.stop() == 0
    for table in ("registration", "timer"):
        assert len(rows(agent, f"SELECT * FROM {table}")) == kept["rows"][table], table
    values = dict(rows(agent, "SELECT key, value FROM plugin_value WHERE plugin = 'desk'"))
    assert values["asked"] == b"4" and set(values) == {"asked", "last ann", "last fay"}
