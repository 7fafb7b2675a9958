"""A directory of the state as an earlier version left it: made by that version, kept as SQL.

To add the present version, with CALLAGENT set:  python old_store.py  (in this folder).
"""

import json
import pathlib
import re
import shutil
import sqlite3
import tempfile
import time

from agent import Agent, wait_for
from double import Double
from double import token as apns_token
from test_admission import SECRET
from test_admission import token as sign
from test_push import invite

DATA = pathlib.Path(__file__).resolve().parent.parent / "StorageTests" / "Data"
MODES = ("common", "advanced", "direct", "managed", "handshake", "ringing", "group")

CONFIG = """plugins = { "desk", "clock" }
answer_for = { "support", "later-*" }
auth = { { alg = "HS256", key = secret "file:keys/jwt", aud = "calls" } }
"""
DESK = """timer("remind", function(data) end)
timer("expire", function(data, call) end)
on.invite(function(call)
  kv.incr("asked", 1)
  kv.set("last " .. call.caller.id, { mode = call.mode, list = { 1, 2 } }, { ttl = "7d" })
  later("6h", "remind", { who = call.caller.id })
  call:later("5h", "expire", "soon")
  if call.callee.id == "later-1" then return accept { wait = "100s" } end
  if call.callee.id == "later-2" then return ring { for_ = "90s" } end
  if call.callee.id == "later-3" then return reject "busy" end
  return accept { extended_data = { from = "desk" } }
end)
"""
CLOCK = """every("3h", "sweep", function() end)
at("04:05", "night", function() end)
state.begun = true
"""


class OldAgent(Agent):
    """A server whose services are at a double, with the keys in its own folder."""

    def __init__(self, folder, double, **options):
        keys = folder / "keys"
        shutil.copytree(double.folder, keys)
        (keys / "jwt").write_text(SECRET)
        config = CONFIG + double.push_config + double.hook_config(
            "slow", "gone", more=', events = { "call.ended" }')
        config = config.replace(f"{double.folder}/", "keys/")
        super().__init__(folder, config, {"desk": DESK, "clock": CLOCK},
                         environment=double.environment, **options)

    def meet(self, user, device="phone"):
        """A device of a user with a good token."""
        return self.connect(user, device, token=sign(sub=user, expires_in=600))


# Making one


def fill(agent, double):
    """Makes a server keep something of everything that it can keep."""
    double.plan("slow", {"act": "hang"})
    double.plan("gone", {"status": 410})
    double.plan("sleeping", {"act": "hang"})
    for user, registration in {
            "bob": {"provider": "fcm", "token": "sleeping-bob"},
            "cid": {"provider": "apns", "token": apns_token("c1"), "environment": "sandbox"},
            "dan": {"provider": "web", "subscription": double.subscription("dan")}}.items():
        device = agent.meet(user)
        device.ok("device.push_register", **registration)
        device.ok("bye")
    ann = agent.meet("ann")
    live = live_calls(agent, ann)
    over = ended_calls(agent)
    keys = {f"key-{number}": place(ann, "eve", key=f"key-{number}") for number in range(3)}
    wait_for("a receiver that is gone", lambda: "gone  DISABLED" in agent.tool("webhooks")[1])
    change_plugins(agent)
    assert agent.tool("revoke", "mallory")[0] == 0
    assert agent.tool("revoke", "bob", "--device", "stolen")[0] == 0
    assert agent.tool("revoke", "--token", "lost")[0] == 0
    return {"live": live + list(keys.values()), "over": over, "keys": keys}


def place(caller, *invitees, key=None, mode="advanced", **data):
    if mode != "ringing":
        data["timeout_ms"] = 120_000
    return caller.ok("call.invite", key=key, invitees=list(invitees), mode=mode, **data)["call_id"]


def live_calls(agent, ann):
    """Calls that ring in every mode, that somebody answered, and that wait for a plugin."""
    made = []
    for mode in MODES:
        caller = agent.meet(f"caller-{mode}")
        made.append(place(caller, "bob", f"x-{mode}", mode=mode, extended_data='{"n":1}')
                    if mode in ("advanced", "group")
                    else place(caller, f"x-{mode}", mode=mode, extended_data='{"n":1}'))
    for mode in ("advanced", "direct", "managed", "group"):
        caller, callee = agent.meet(f"second-{mode}"), agent.meet(f"callee-{mode}")
        items = {"items": {"room": "7"}} if mode == "direct" else {}
        call = place(caller, callee.user, mode=mode, kind="video", extended_data="hi", **items)
        callee.ok("call.accept", call_id=call, extended_data="yes")
        made.append(call)
    return made + [place(ann, user, "cid", "dan") for user in ("support", "later-1", "later-2")]


def ended_calls(agent):
    """Calls that ended in several ways, one of them missed."""
    fay, gus = agent.meet("fay"), agent.meet("gus")
    made = [invite(fay, "gus", mode="common", extended_data="rejected")]
    gus.ok("call.reject", call_id=made[0], extended_data="no")
    made.append(invite(fay, "gus", mode="advanced"))
    fay.ok("call.cancel", call_id=made[1])
    made.append(invite(fay, "later-3", mode="common"))
    made.append(invite(fay, "gus", mode="direct"))
    gus.ok("call.accept", call_id=made[3])
    fay.ok("call.end", call_id=made[3])
    made.append(invite(fay, "hal", mode="common", timeout_ms=1_000))

    def ends():
        calls = [fay.ok("call.get", call_id=call)["call"] for call in made]
        return all(call["state"] == "ended" for call in calls) and calls

    return {call["call_id"]: call["end"]["reason"] for call in wait_for("the ends", ends)}


def change_plugins(agent):
    """Generations: a reload, another one, and a rollback to the first of them."""
    for number in (2, 3):
        (agent.folder / "plugins" / "desk.lua").write_text(f"-- {number}\n" + DESK)
        code, text = agent.tool("reload")
        assert code == 0, text
    code, text = agent.tool("rollback")
    assert code == 0, text


def make():
    """Writes what the present version keeps, as it is after `kill -9`."""
    with tempfile.TemporaryDirectory() as folder:
        double = Double(pathlib.Path(folder) / "double")
        agent = OldAgent(pathlib.Path(folder) / "agent", double).start()
        try:
            expected = fill(agent, double)
            agent.crash()
            text, version, rows = dump(agent.folder / "state" / "callagent.db")
        finally:
            double.close()
    text = text.replace(double.base, "{base}").replace(f":{agent.port}", ":{port}")
    DATA.mkdir(exist_ok=True)
    (DATA / f"version{version}.sql").write_text(text)
    (DATA / f"version{version}.json").write_text(
        json.dumps(expected | {"rows": rows}, indent=1) + "\n")


def dump(database):
    """A database as SQL, blobs of text as text; its version; the number of rows by table."""
    file = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    (version,) = file.execute("PRAGMA user_version").fetchone()
    (owner,) = file.execute("PRAGMA application_id").fetchone()
    lines = [f"PRAGMA application_id = {owner};", f"PRAGMA user_version = {version};"]
    lines += [f"{sql};" for (sql,) in file.execute(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")]
    rows = {}
    for (table,) in file.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall():
        found = file.execute(f"SELECT * FROM {table}").fetchall()
        rows[table] = len(found)
        lines += [f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});" for row in found]
    return "\n".join(lines) + "\n", version, rows


def literal(value):
    """A value as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return f"x'{value.hex().upper()}'"
    is_plain = all(letter >= " " or letter == "\n" for letter in text)
    return f"CAST({literal(text)} AS BLOB)" if is_plain else f"x'{value.hex().upper()}'"


# Using one


def expected(version):
    """What the directory of a store version holds: `live`, `over`, `keys`, `rows`."""
    return json.loads((DATA / f"version{version}.json").read_text())


def build(agent, double, version, killed):
    """Makes the state of an old version for a server, as if it had ended just now.

    Returns how its calls are called there: an id holds the moment at which the call was made.
    """
    text = (DATA / f"version{version}.sql").read_text()
    text = text.replace("{base}", double.base).replace("{port}", str(agent.port))
    newest = int(re.search(r"mark VALUES \('newest', (\d+)\)", text)[1])
    text, names = shift(text, newest, int(time.time() * 1_000) - newest)
    folder = agent.folder / agent.state
    making = agent.folder / "making"
    for one in (folder, making):
        one.mkdir(mode=0o700)
    database = sqlite3.connect(making / "callagent.db")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA wal_autocheckpoint = 0")
    database.executescript(text)
    if killed:  # as it is while somebody writes: the rows are in the log only
        for file in ("callagent.db", "callagent.db-wal"):
            shutil.copy(making / file, folder)
        database.close()
    else:
        database.execute("UPDATE mark SET value = 1 WHERE name = 'clean'")
        database.commit()
        database.close()
        shutil.copy(making / "callagent.db", folder)
    return names


def shift(text, newest, by):
    """Moves all moments around `newest`, those in ids too; returns the text and ids by old ones."""
    names = {}

    def moment(match):
        value = int(match[0])
        return str(value + by) if abs(value - newest) < 10 * 86_400_000 else match[0]

    def call_id(match):
        moved = f"{int(match[1], 16) + by:012x}{match[2].lower()}"
        names[match[0].lower()] = moved
        return moved

    text = re.sub(r"(?<![0-9A-Za-z])1[0-9]{12}(?![0-9A-Za-z])", moment, text)
    hour = f"{newest:012x}"[:6]
    return re.sub(f"(?i)({hour}[0-9a-f]{{6}})([0-9a-f]{{20}})", call_id, text), names


if __name__ == "__main__":
    make()
