"""Nobody feels that somebody else is at a limit: measured for each of them, and for all at once."""

import contextlib
import itertools
import json
import socket
import statistics
import threading
import time

from agent import wait_for
from calls import invite
from device import Device
from raw import CONTINUATION, TEXT, RawSocket, frame
from test_admission import KEYS, token

LIMITS = """limits = { connections_per_address = 1000, auth_delay = "1s", hello_time = "60s",
    keys_per_user = 100, strangers = "1MB" }
"""
NUMBERS = itertools.count()  # of users who come once
SLOWEST = 10  # seconds that a call may take on a machine that does something else meanwhile


def enter(agent, user, device="phone", **options):
    """A bare socket that has said hello."""
    raw = RawSocket(agent.port, **options).upgrade()
    data = {"token": token(sub=user), "device": device}
    raw.send_json({"id": 1, "op": "hello", "data": data})
    assert "ok" in raw.message()
    return raw


def ask(op, **data):
    return frame(TEXT, json.dumps({"id": 1, "op": op, "data": data}).encode())


def flood(agent, stop):
    """Asks without end and reads nothing."""
    raw = enter(agent, "flood", receive_buffer=4_096)
    raw.socket.settimeout(1)
    asked = ask("call.list") * 50
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):  # the server takes no more, as it should
            raw.send(asked)


def deaf(agent, stop):
    """Is invited again and again, and reads none of it."""
    swelling = threading.Thread(target=swell, args=(agent, stop), daemon=True)
    swelling.start()
    while not stop.is_set():
        raw = enter(agent, "idle", receive_buffer=4_096)
        wait_for("a cut, or the end", lambda: stop.is_set() or is_over(raw), patience=60)
    swelling.join()


def is_over(raw):
    """Whether the server has closed; nothing is taken from what it said."""
    with contextlib.suppress(BlockingIOError):
        return raw.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    return False


def swell(agent, stop):
    """Invites people by the thousand, with as much data as may be; is refused, and goes on."""
    data = {"invitees": ["idle"], "mode": "advanced", "extended_data": "x" * 2_048}
    while not stop.is_set():
        user = f"swell-{next(NUMBERS)}"
        alice = Device(agent.url, user, token=token(sub=user))
        for number in [alice.post("call.invite", data) for _ in range(200)]:
            alice.reply(number, timeout=30)
        alice.close()


def hammer(agent, stop):
    """Asks more often than a user may."""
    alice = Device(agent.url, "hammer", token=token(sub="hammer"))
    while not stop.is_set():
        for number in [alice.post("call.list", {}) for _ in range(100)]:
            alice.reply(number, timeout=30)
    alice.close()


def hoard_keys(agent, stop):
    """Uses more idempotency keys than are kept for it."""
    alice, key = Device(agent.url, "hoard", token=token(sub="hoard")), 0
    while not stop.is_set():
        for _ in range(100):
            key += 1
            alice.ask("call.accept", key=f"key-{key}", call_id="0" * 32)
    alice.close()


def change_devices(agent, stop):
    """Comes with one device after the other."""
    there, number = [], 0
    while not stop.is_set():
        there.append(enter(agent, "many", f"device-{number}"))
        number += 1
        if len(there) > 20:
            there.pop(0).close()


def babble(agent, stop):
    """Sends what is no message, over and over."""
    while not stop.is_set():
        raw = RawSocket(agent.port).upgrade()
        for _ in range(3):
            raw.send(frame(TEXT, b"{"))
        assert raw.close_code() == 4200


def shout(agent, stop):
    """Sends messages that are too long."""
    while not stop.is_set():
        raw = RawSocket(agent.port).upgrade()
        with contextlib.suppress(OSError):
            raw.send(frame(TEXT, b" " * 65_537))
        raw.close()


def dawdle(agent, stop):
    """Begins messages that never end, from many connections, and never says who it is."""
    begun = []
    while not stop.is_set():
        with contextlib.suppress(OSError, AttributeError):
            raw = RawSocket(agent.port).upgrade()
            raw.send(frame(TEXT, b" " * 40_000, fin=False) + frame(CONTINUATION, b"", fin=False))
            begun.append(raw)
        if len(begun) > 200:
            begun.pop(0).close()


def knock(agent, stop):
    """Connects and says nothing, until there is no more room for its address."""
    silent = []
    while not stop.is_set():
        with contextlib.suppress(OSError):
            silent.append(socket.create_connection(("127.0.0.2", agent.port), 5, ("127.0.0.2", 0)))


def guess(agent, stop):
    """Tries tokens."""
    while not stop.is_set():
        agent.request("POST", "/v1/call/list", "{}", {"Authorization": "Bearer x"})


OFFENDERS = [flood, deaf, swell, hammer, hoard_keys, change_devices, babble, shout, dawdle, knock,
             guess]


def talk(alice, bob, name):
    """A call from its invitation to its end; returns the seconds it took."""
    begin = time.monotonic()
    call = invite(alice, name, mode="common")
    bob.event("call.incoming")
    bob.ok("call.accept", call_id=call)
    for device in (alice, bob):
        device.events("call.changed", "call.ended")
    return time.monotonic() - begin


def measure(agent, offenders, number):
    """How long calls of others take meanwhile: what is usual, and the worst."""
    stop = threading.Event()
    crowd = [threading.Thread(target=one, args=(agent, stop), daemon=True) for one in offenders]
    for one in crowd:
        one.start()
    names = f"alice-{number}", f"bob-{number}"
    alice, bob = (agent.connect(name, token=token(sub=name)) for name in names)
    took = [talk(alice, bob, names[1]) for _ in range(20)]
    stop.set()
    for one in crowd:
        one.join(70)
        assert not one.is_alive()
    for device in (alice, bob):
        device.close()
    return f"{statistics.median(took) * 1000:.1f} ms, {max(took) * 1000:.1f} ms", max(took)


def test_nobody_feels_that_somebody_is_at_a_limit(make_agent):
    agent = make_agent(KEYS + LIMITS).start()
    print("a call of others meanwhile, median and slowest")
    crowds = [[]] + [[one] for one in OFFENDERS] + [OFFENDERS]
    for number, offenders in enumerate(crowds):
        name = ", ".join(one.__name__ for one in offenders) if len(offenders) < 2 else "all"
        figures, slowest = measure(agent, offenders, number)
        print(f"  {name or 'nobody'}: {figures}")
        assert slowest < SLOWEST, name
