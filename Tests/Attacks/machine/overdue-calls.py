"""The server starts over a store with very many live calls whose time ran out meanwhile."""

import contextlib
import json
import os
import sqlite3
import time

from agent import wait_for
from blows import message
from measure import bound, is_lost
from registry import Attack
from stage import SERVER_CORE, on_core

ATTACK = Attack(aims_at="live calls to load after a start, and deadlines that are overdue",
                rules=(82,), kind="machine")
CALLS = 20_000, 100_000  # short and whole
EACH = 20  # calls of one caller
AGO = 1_800_000  # milliseconds since they were made
WITHIN = 60  # seconds until all of them have ended


def store(scene):
    """The file of the store, which the server may have open."""
    return contextlib.closing(sqlite3.connect(scene.folder / "state" / "callagent.db", timeout=20))


def dress(scene):
    """A store like that of the fault: the first start meets as many calls."""
    with on_core(SERVER_CORE):
        scene.agent.start()
    caller = scene.device("ann")
    caller.ok("call.invite", invitees=["bob"], mode="common", timeout_ms=600_000)
    scene.agent.crash()
    with store(scene) as base:
        ((record,),) = base.execute("SELECT record FROM live_call")
    scene.call, scene.patient = json.loads(record), 0
    fill(scene)


def prepare(scene):
    wait_for("no overdue calls", lambda: not left(scene), WITHIN)


def fill(scene):
    """Calls as the server writes them, whose time ran out, and behind them one that rings yet."""
    now = int(time.time() * 1_000)
    calls = [written(scene, now - AGO, number, f"caller-{number // EACH}", f"to-{number}")
             for number in range(CALLS[scene.full])]
    scene.last_overdue = calls[-1][0]
    calls.append(written(scene, now, 0, "patient", "unreached"))
    scene.patient += 1
    with store(scene) as base, base:
        base.executemany("INSERT INTO live_call (id, record) VALUES (?, CAST(? AS BLOB))",
                         [(identity, json.dumps(call)) for identity, call in calls])
        base.executemany("INSERT INTO participation VALUES (?, ?)",
                         [(user, identity) for identity, call in calls for user in call["users"]])


def written(scene, made, number, *users):
    """The id and the record of a call between two users."""
    people = dict(zip(users, [user | {"at": made} for user in scene.call["users"].values()]))
    people[users[1]]["until"] = made + scene.call["ring"]
    identity = ((made << 16) + number).to_bytes(8, "big") + os.urandom(8)
    return identity, scene.call | {"created": made, "users": people}


def left(scene):
    """Whether overdue calls are live yet."""
    with store(scene) as base:
        ((first,),) = base.execute("SELECT min(id) FROM live_call")
    return first <= scene.last_overdue


def fault(scene):
    scene.agent.crash()
    fill(scene)
    begin = time.monotonic()
    with on_core(SERVER_CORE):
        scene.agent.launch()
    hello, of_hello = timed(scene, lambda: come(scene))
    ready = (time.monotonic() - begin) * 1_000
    friend = scene.enter("friend-of-patient")
    reply, of_invitation = timed(scene, lambda: invite(friend, "patient"))
    scene.answers = {"hello": of_hello, "invitation": of_invitation}
    scene.seen = len(hello["ok"]["calls"])
    scene.is_invited = "ok" in reply
    scene.was_early = left(scene)
    scene.outsider.phase(bears=True)
    while left(scene) and time.monotonic() < begin + WITHIN:
        time.sleep(0.02)
    scene.meanwhile = scene.outsider.phase(bears=True)
    scene.notes.append(
        f"hello {ready:.0f} ms after the launch, answered in {of_hello:.1f} ms, the first "
        f"invitation in {of_invitation:.1f} ms, all loaded after {time.monotonic() - begin:.1f} s; "
        f"{scene.meanwhile['rounds']} rounds meanwhile, p99 {scene.meanwhile['p99']:.1f}, "
        f"most {scene.meanwhile['most']:.1f} ms")


def timed(scene, ask):
    """What comes of it, and in how many milliseconds, without those of tries that failed."""
    while True:
        begin = time.monotonic()
        try:
            return ask(), scene.outsider.took(begin)
        except ConnectionRefusedError:
            time.sleep(0.002)


def come(scene):
    """The reply to the hello of somebody who has a call."""
    raw = scene.raw().upgrade()
    raw.send_json({"id": 0, "op": "hello",
                   "data": {"token": scene.token("patient"), "device": "phone"}})
    return raw.message()


def invite(raw, user):
    raw.send(message("call.invite", 1, invitees=[user], mode="common"))
    while (reply := raw.message()).get("re") != 1:
        pass
    return reply


def holds(scene):
    assert scene.was_early, "all calls were loaded before anybody came: it shows nothing"
    for what, took in scene.answers.items():
        assert took <= bound(scene.quiet), f"the first {what} was late"
    assert scene.seen == scene.patient, "the first hello did not tell the calls of its user"
    assert scene.is_invited, "the first invitation was refused"
    assert scene.meanwhile["rounds"], "the witness was not there while calls were loaded"
    assert not is_lost(scene.meanwhile), "the witness lost something while calls were loaded"
    assert scene.meanwhile["most"] <= bound(scene.quiet), "the witness felt that calls were loaded"
    assert not left(scene), f"calls were overdue for more than {WITHIN} s"
