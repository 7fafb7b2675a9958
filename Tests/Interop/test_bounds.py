"""Every limit of a connection, at its edge; and nobody feels that another one is at it."""

import json
import signal
import threading
import time

from agent import wait_for
from calls import invite
from device import Device
from raw import TEXT, RawSocket, frame
from test_admission import KEYS, token


def limited(make_agent, limits, config=""):
    return make_agent(config + f"limits = {{ {limits} }}\n").start()


def bearer(user, **claims):
    return {"Authorization": f"Bearer {token(sub=user, **claims)}"}


# Before anybody is known


def test_who_guesses_tokens_waits_and_nobody_else(make_agent):
    agent = limited(make_agent, 'auth_failures = 3, auth_delay = "2s"', KEYS)

    def guess():
        begin = time.monotonic()
        stranger = Device(agent.url, "bob", greet=False)
        stranger.refused("hello", "unauthenticated", token="a.b.c", device="phone")
        assert stranger.closed() == 4203
        return time.monotonic() - begin

    for _ in range(3):
        guess()
    assert guess() >= 2
    waiting = threading.Thread(target=guess)
    waiting.start()
    bob = agent.connect("bob", token=token())
    bob.ok("ping")
    assert waiting.is_alive(), "a good token is not made to wait"
    begin = time.monotonic()
    headers = {"Authorization": "Bearer a.b.c"}
    assert agent.request("POST", "/v1/call/list", "{}", headers).status == 401
    assert time.monotonic() - begin >= 2
    assert agent.request("POST", "/v1/call/list", "{}", bearer("bob")).status == 200
    waiting.join()


def test_what_comes_while_a_guess_waits_is_not_looked_at(make_agent):
    agent = limited(make_agent, 'auth_failures = 0, auth_delay = "1s"', KEYS)
    raw = RawSocket(agent.port).upgrade()
    raw.send_json({"id": 1, "op": "hello", "data": {"token": "no", "device": "d"}})
    for number in range(2, 200):
        raw.send_json({"id": number, "op": "call.list", "data": {}})
    assert raw.message()["re"] == 1
    assert raw.close_code() == 4203


def test_hello_is_due(make_agent):
    agent = limited(make_agent, 'hello_time = "1s"')
    assert RawSocket(agent.port).upgrade().close_code(timeout=15) == 4200


def test_a_request_must_come_whole_in_time(make_agent):
    agent = limited(make_agent, 'request_time = "1s"')
    raw = RawSocket(agent.port).send(b"GET /healthz HTTP/1.1\r\nHost:")
    raw.socket.settimeout(15)
    begin = time.monotonic()
    assert raw.status_line() == 0 and time.monotonic() - begin >= 0.9


def test_newcomers_are_let_in_at_a_pace(make_agent):
    agent = limited(make_agent, "accepts_per_second = 20")
    begin = time.monotonic()
    for _ in range(40):
        raw = RawSocket(agent.port)
        raw.socket.settimeout(15)
        raw.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert raw.status_line() == 200
    assert time.monotonic() - begin >= 1.5


# Sizes and times of messages


def test_half_a_message_does_not_stay_for_ever(make_agent):
    agent = limited(make_agent, 'message_time = "1s"')
    raw = RawSocket(agent.port).upgrade().hello("bob")
    half = frame(TEXT, b'{"id": 2, "op": "ping"}')
    raw.send(half[:-3])
    assert raw.close_code(timeout=15) == 4008
    patient = agent.connect("bob")
    for _ in range(4):
        patient.ok("ping")
        time.sleep(0.5)


def test_a_message_of_the_longest_size_passes(make_agent):
    agent = limited(make_agent, 'message = "2KB"')
    bob = agent.connect("bob")
    plain = json.dumps({"id": "x", "op": "ping", "pad": ""})
    for size, answered in ((2_048, True), (2_049, False)):
        bob.send(plain.replace('"pad": ""', f'"pad": "{"x" * (size - len(plain))}"'))
        if answered:
            assert bob.reply("x")["ok"] == {}
    assert bob.closed() == 1009


def test_signals_have_a_size(make_agent):
    agent = limited(make_agent, 'signal = "1KB"')
    alice, bob = agent.connect("alice"), agent.connect("bob")
    call = invite(alice, "bob")
    bob.ok("call.accept", call_id=call)
    call = alice.ok("call.invite", invitees=["bob"], mode="advanced")["call_id"]
    bob.ok("call.accept", call_id=call)
    alice.ok("call.signal", call_id=call, data="x" * 1_022)
    alice.refused("call.signal", "too_large", call_id=call, data="x" * 1_023)


def test_silence_ends_a_connection(make_agent):
    agent = limited(make_agent, 'ping = "1s", silence = "2s"')
    raw = RawSocket(agent.port).upgrade().hello("bob")
    assert raw.close_code(timeout=20) == 4009
    lively = agent.connect("bob")
    assert lively.hello["ping_interval_ms"] == 1_000
    time.sleep(3)  # the library answers pings by itself
    lively.ok("ping")


def test_only_so_many_events_are_kept_for_coming_back(make_agent):
    agent = limited(make_agent, "resume_events = 3")
    for count, resumed in ((3, True), (4, False)):
        user = f"alice-{count}"
        alice = agent.connect(user)
        resume = alice.resume
        alice.vanish()
        for _ in range(count):
            agent.post("call.invite", user, {"invitees": ["bob"], "mode": "advanced"})
        assert agent.connect(user, resume=resume).hello["resumed"] is resumed


def test_there_is_a_time_for_coming_back(make_agent):
    agent = limited(make_agent, 'resume_time = "1s"')
    alice = agent.connect("alice")
    assert alice.hello["resume_window_ms"] == 1_000
    alice.vanish()
    wait_for("the end of the session", lambda: agent.metrics()["callagent_sessions"] == 0)
    assert agent.connect("alice", resume=alice.resume).hello["resumed"] is False


# How often


def test_requests_of_a_user_are_counted_over_all_its_connections(make_agent):
    agent = limited(make_agent, "requests_per_second = 20", KEYS)
    devices = [agent.connect("bob", name, token=token()) for name in ("phone", "tablet")]
    carol = agent.connect("carol", token=token(sub="carol"))
    numbers = [(device, device.post("call.list", {})) for device in devices for _ in range(30)]
    replies = [device.reply(number) for device, number in numbers]
    refused = [reply["error"] for reply in replies if "error" in reply]
    assert 20 <= len(replies) - len(refused) < 60 and refused
    for error in refused:
        assert error["code"] == "rate_limited" and 0 < error["retry_after_ms"] <= 1_000
    carol.ok("call.list")
    time.sleep(max(error["retry_after_ms"] for error in refused) / 1_000)
    devices[0].ok("call.list")


def test_invitations_of_a_user_are_counted(make_agent):
    agent = limited(make_agent, "invitations_per_minute = 5", KEYS)
    bob, carol = (agent.connect(name, token=token(sub=name)) for name in ("bob", "carol"))
    for _ in range(3):
        bob.ok("call.invite", invitees=["x"], mode="advanced")
    bob.refused("call.invite", "rate_limited", invitees=["x", "y", "z"], mode="advanced")
    bob.ok("call.invite", invitees=["x", "y"], mode="advanced")
    error = bob.refused("call.invite", "rate_limited", invitees=["x"], mode="advanced")
    assert 1_000 < error["retry_after_ms"] <= 12_000
    call = carol.ok("call.invite", invitees=["bob"], mode="advanced")["call_id"]
    bob.ok("call.accept", call_id=call)
    bob.refused("call.add", "rate_limited", call_id=call, invitees=["x"])


# One at every limit, and two who only want to talk


def flood(agent, stop):
    """Asks without end and reads nothing."""
    raw = RawSocket(agent.port, receive_buffer=4_096).upgrade().hello("flood")
    raw.socket.settimeout(1)
    asked = frame(TEXT, json.dumps({"id": 1, "op": "call.list", "data": {}}).encode()) * 50
    while not stop.is_set():
        try:
            raw.send(asked)
        except TimeoutError:
            pass  # the server takes no more, as it should


def babble(agent, stop):
    """Sends what is no message, over and over."""
    while not stop.is_set():
        raw = RawSocket(agent.port).upgrade()
        for _ in range(3):
            raw.send(frame(TEXT, b"{"))
        assert raw.close_code() == 4200


def knock(agent, stop):
    """Connects and says nothing."""
    silent = []
    while not stop.is_set():
        silent.append(RawSocket(agent.port))
        stop.wait(0.01)


def guess(agent, stop):
    """Tries tokens."""
    while not stop.is_set():
        agent.request("POST", "/v1/call/list", "{}", {"Authorization": "Bearer x"})


def swell(agent, stop):
    """Invites people by the thousand, with as much data as may be."""
    alice = Device(agent.url, "swell")
    data = {"invitees": ["idle"], "mode": "advanced", "extended_data": "x" * 2_048}
    while not stop.is_set():
        for number in [alice.post("call.invite", data) for _ in range(50)]:
            alice.reply(number, timeout=30)


def test_nobody_feels_that_others_are_at_their_limits(make_agent):
    agent = limited(make_agent, 'connections_per_address = 2000, auth_delay = "1s"')
    stop = threading.Event()
    crowd = [threading.Thread(target=one, args=(agent, stop), daemon=True)
             for one in (flood, babble, knock, guess, swell)]
    for one in crowd:
        one.start()
    alice, bob = agent.connect("alice"), agent.connect("bob")
    slowest = 0
    for _ in range(40):
        begin = time.monotonic()
        call = invite(alice, "bob")
        bob.event("call.incoming")
        bob.ok("call.accept", call_id=call)
        for device in (alice, bob):
            device.events("call.changed", "call.ended")
        slowest = max(slowest, time.monotonic() - begin)
    stop.set()
    for one in crowd:
        one.join(40)
        assert not one.is_alive()
    assert slowest < 10, f"a call took {slowest:.1f} s"
    print(f"the slowest call took {slowest * 1000:.0f} ms")


# Going away


def test_clients_are_moved_in_waves(make_agent):
    agent = make_agent().start()
    devices = [agent.connect(f"user-{number}") for number in range(300)]
    agent.signal(signal.SIGTERM)
    for device in devices:
        assert device.closed(timeout=20) == 4001
    assert agent.wait(15) == 0
