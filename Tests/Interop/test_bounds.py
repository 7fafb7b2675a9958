"""Every limit of a connection and of a user, at its edge."""

import json
import signal
import threading
import time

from agent import wait_for
from calls import invite, states
from device import Device
from raw import CLOSE, CONTINUATION, PING, PONG, TEXT, RawSocket, frame
from test_admission import KEYS, PROXY, token


def limited(make_agent, limits, config=""):
    return make_agent(config + f"limits = {{ {limits} }}\n").start()


def bearer(user, **claims):
    return {"Authorization": f"Bearer {token(sub=user, **claims)}"}


# Before anybody is known


def test_who_guesses_tokens_waits_and_nobody_else(make_agent):
    agent = limited(make_agent, 'auth_failures = 3, auth_delay = "4s"', KEYS + PROXY)
    behind = {"X-Forwarded-For": "192.0.2.1"}
    late = 3.99  # the server counts in whole milliseconds, from the beginning of its turn

    def guess(guessed="a.b.c"):
        begin = time.monotonic()
        raw = RawSocket(agent.port).upgrade(**behind)
        raw.send_json({"id": 1, "op": "hello", "data": {"token": guessed, "device": "phone"}})
        assert raw.message()["error"]["code"] == "unauthenticated"
        assert raw.close_code() == 4203
        return time.monotonic() - begin

    for _ in range(3):
        guess()
    assert guess() >= late
    assert guess(token(expires_in=-60)) < 2, "who has a key's signature did not guess it"
    waiting = threading.Thread(target=guess)
    waiting.start()
    bob = agent.connect("bob", token=token())
    bob.ok("ping")
    assert waiting.is_alive(), "a good token is not made to wait"
    begin = time.monotonic()
    headers = {"Authorization": "Bearer a.b.c"} | behind
    assert agent.request("POST", "/v1/call/list", "{}", headers).status == 401
    assert time.monotonic() - begin >= late
    assert agent.request("POST", "/v1/call/list", "{}", bearer("bob") | behind).status == 200
    waiting.join()


def test_who_guesses_behind_a_proxy_that_nobody_named_makes_nobody_wait(make_agent):
    agent = limited(make_agent, 'auth_failures = 3, auth_delay = "9s"', KEYS)
    for _ in range(20):
        begin = time.monotonic()
        headers = {"Authorization": "Bearer a.b.c", "X-Forwarded-For": "192.0.2.1"}
        assert agent.request("POST", "/v1/call/list", "{}", headers).status == 401
        assert time.monotonic() - begin < 5


def test_what_comes_while_a_guess_waits_is_not_looked_at(make_agent):
    agent = limited(make_agent, 'auth_failures = 0, auth_delay = "1s"', KEYS + PROXY)
    raw = RawSocket(agent.port).upgrade(**{"X-Forwarded-For": "192.0.2.1"})
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
        raw.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
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


def test_a_message_must_come_at_a_pace(make_agent):
    agent = limited(make_agent, 'min_rate = 20, min_rate_time = "3s", message_time = "60s"')
    steady, slow = (RawSocket(agent.port).upgrade().hello(user) for user in ("bob", "carol"))
    text = json.dumps({"id": 2, "op": "ping", "pad": "x" * 20_000}).encode()
    whole = frame(TEXT, text)
    slow.send(frame(TEXT, text[:100], fin=False))
    for start in range(0, len(whole), 1_000):
        steady.send(whole[start:start + 1_000])
        slow.send(frame(PING) + frame(CONTINUATION, b"", fin=False))  # says much, and nothing
        time.sleep(0.2)
    assert steady.message() == {"re": 2, "ok": {}}
    slow.socket.settimeout(15)
    while (found := slow.next_frame())[0] == PONG:
        pass
    assert found[0] == CLOSE and int.from_bytes(found[1][:2], "big") == 4008
    assert agent.metrics()["callagent_slow_senders_total"] == 1


def test_a_body_must_come_at_a_pace(make_agent):
    agent = limited(make_agent, 'min_rate_time = "1s", request_time = "60s"')
    head = b"POST /v1/call/list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000\r\n\r\n{"
    raw = RawSocket(agent.port).send(head)
    raw.socket.settimeout(15)
    assert raw.status_line() == 0
    assert agent.metrics()["callagent_slow_senders_total"] == 1


def test_strangers_have_so_much_memory_in_all(make_agent):
    """Exactly so much is left alone; over it whoever has more than an equal share goes."""
    agent = limited(
        make_agent, 'strangers = "64KB", hello_time = "60s", min_rate = 0, idle_time = "2s"')
    idle = RawSocket(agent.port)
    idle.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
    assert idle.status_line() == 200
    idle.buffer = b""
    greedy = [RawSocket(agent.port).upgrade() for _ in range(2)]
    for one in greedy:
        one.send(frame(TEXT, b" " * 40_000)[:8 + 32_768])
    modest = RawSocket(agent.port).upgrade()
    assert idle.status_line() == 0  # it took some rounds of the house to see that one off
    idle.close()
    wait_for("its end", lambda: agent.metrics()["callagent_connections"] <= 3)
    assert agent.metrics()["callagent_connections"] == 3
    data = {"token": "dev:bob", "device": "phone"}
    hello = frame(TEXT, json.dumps({"id": 1, "op": "hello", "data": data}).encode())
    modest.send(hello[:20])
    for one in greedy:
        assert one.close_code(timeout=15) == 4008
    known = agent.connect("carol")
    assert "ok" in modest.send(hello[20:]).message()
    known.ok("ping")


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


def test_a_silent_device_is_gone_when_its_connection_is_given_up(make_agent):
    """Whoever does not answer a ping does not answer a close frame either: nobody waits for it."""
    tell = "every('1s', 'look', function() log.info('devices ' .. users.get('bob').devices) end)"
    agent = make_agent(
        'plugins = { "tell" }\nlimits = { ping = "1s", silence = "2s" }\n',
        plugins={"tell": tell}).start()
    silent = RawSocket(agent.port).upgrade().hello("bob")
    begin = time.monotonic()
    agent.logs("devices 1")
    agent.logs("devices 0")
    assert time.monotonic() - begin < 6
    silent.close()


def test_silence_ends_a_connection(make_agent):
    agent = limited(make_agent, 'ping = "1s", silence = "2s"')
    raw = RawSocket(agent.port).upgrade().hello("bob")
    assert raw.close_code(timeout=20) == 4009
    assert agent.connect("bob").hello["ping_interval_ms"] == 1_000
    lively = RawSocket(agent.port).upgrade().hello("carol")
    for _ in range(3):
        opcode, payload = lively.next_frame()
        assert opcode == PING
        lively.send(frame(PONG, payload))
    lively.send_json({"id": 2, "op": "ping"})
    assert lively.message() == {"re": 2, "ok": {}}


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


def test_events_kept_for_coming_back_have_a_size(make_agent):
    agent = limited(make_agent, 'resume_bytes = "4KB"')
    for count, resumed in ((1, True), (3, False)):
        user = f"alice-{count}"
        alice = agent.connect(user)
        alice.vanish()
        data = {"invitees": ["bob"], "mode": "advanced", "extended_data": "x" * 1_500}
        for _ in range(count):
            agent.post("call.invite", user, data)
        assert agent.connect(user, resume=alice.resume).hello["resumed"] is resumed


def test_unread_events_have_a_size(make_agent):
    """A smaller bound than the default one cuts a slow reader off that much earlier."""
    # Whoever reads nothing does not answer a ping either.
    agent = limited(make_agent, 'unsent = "64KB", silence = "20m"')
    slow = RawSocket(agent.port, receive_buffer=4_096).upgrade().hello("bob")
    alice, calls = agent.connect("alice"), 0
    data = {"invitees": ["bob"], "mode": "advanced", "extended_data": "x" * 2_048}
    while agent.metrics()["callagent_slow_readers_total"] == 0:
        alice.ok("call.invite", **data)
        alice.forget()
        calls += 1
        assert calls * 2_048 < 8 << 20, "what the kernel takes for it, and then some"
    assert calls * 3_000 > 65_536
    assert slow.close_code(timeout=20) == 4008


def test_unread_answers_over_http_have_a_size(make_agent):
    """B27: pages that one user asks for on many connections and does not read."""
    agent = limited(make_agent, 'unsent_per_user = "1MB", extended_data = "8KB", idle_time = "20m"')
    bob = agent.connect("bob")
    data = {"invitees": ["x"], "mode": "advanced", "extended_data": "x" * 8_000}
    for number in [bob.post("call.invite", data) for _ in range(100)]:
        bob.reply(number)
    page = b'POST /v1/call/list HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer dev:bob\r\n' \
        b'Content-Length: 13\r\n\r\n{"limit":100}'
    lines = []
    while agent.metrics()["callagent_slow_readers_total"] == 0:
        lines.append(RawSocket(agent.port, receive_buffer=4_096).send(page * 9))
        assert len(lines) < 30, "nobody is cut off"
    before = agent.metrics()["callagent_slow_readers_total"]
    for _ in range(9):
        lines.append(RawSocket(agent.port, receive_buffer=4_096).send(page * 9))
    wait_for("more ends", lambda:
             agent.metrics()["callagent_slow_readers_total"] >= before + 4)
    assert agent.metrics()["callagent_unsent_bytes"] < 4 << 20
    bob.ok("ping")
    reply = agent.post("call.list", "carol", {})
    assert reply.status == 200, "and nobody else"


def test_unread_events_of_all_devices_of_a_user_have_a_size(make_agent):
    """B27: the slowest device goes, the others stay."""
    agent = limited(make_agent, 'unsent_per_user = "64KB", silence = "20m"')
    slow = RawSocket(agent.port, receive_buffer=4_096).upgrade().hello("bob", "slow")
    quick = agent.connect("bob", device="quick")
    alice, calls = agent.connect("alice"), 0
    data = {"invitees": ["bob"], "mode": "advanced", "extended_data": "x" * 2_048}
    while agent.metrics()["callagent_slow_readers_total"] == 0:
        alice.ok("call.invite", **data)
        alice.forget()
        quick.ok("ping")
        quick.forget()
        calls += 1
        assert calls * 2_048 < 8 << 20, "what the kernel takes for it, and then some"
    assert slow.close_code(timeout=20) == 4008
    quick.ok("ping")


# How many


def test_extended_data_has_a_size(make_agent):
    agent = limited(make_agent, "extended_data = 8192")
    alice = agent.connect("alice")
    assert alice.hello["limits"]["extended_data_bytes"] == 8_192
    invite(alice, "bob", mode="advanced", extended_data="é" * 4_096)
    alice.refused("call.invite", "too_large", invitees=["bob"], extended_data="x" * 8_193)
    assert "8KB" in make_agent("limits = { extended_data = 8193 }\n", folder="b").refuses_to_start()


def test_people_and_texts_of_a_call_are_counted(make_agent):
    agent = limited(make_agent, "invitees = 2, participants = 4, items = 2")
    alice = agent.connect("alice")
    announced = alice.hello["limits"]
    assert (announced["invitees"], announced["participants"]) == (2, 4)
    call = invite(alice, "a", "b", mode="advanced")
    errors = alice.ok("call.invite", invitees=["a", "b", "c"], mode="advanced")["errors"]
    assert errors == [{"user": "c", "code": "too_many"}]
    assert alice.ok("call.add", call_id=call, invitees=["c"])["errors"] == []
    alice.refused("call.add", "too_many", call_id=call, invitees=["d"])
    two = {"one": "1", "two": "2"}
    call = alice.ok("call.invite", invitees=["a"], mode="direct", items=two)["call_id"]
    for items in (two | {"three": "3"}, {"one": "x" * 129}, {"x" * 129: "1"}, {"a,b": "1"}):
        alice.refused("call.invite", "bad_request", invitees=["a"], mode="direct", items=items)
    alice.refused("call.items", "bad_request", call_id=call, put={"three": "3"})
    alice.ok("call.items", call_id=call, put={"three": "x" * 128}, delete=["one"])


def test_keys_are_counted_for_each_user_and_in_all(make_agent):
    """The oldest key is forgotten, and its request is a new one then."""
    agent = limited(make_agent, "keys_per_user = 2, keys = 3")
    alice, bob = agent.connect("alice"), agent.connect("bob")
    assert alice.hello["limits"]["keys"] == 2

    def call(device, key):
        return device.ok("call.invite", key=key, invitees=["x"], mode="advanced")["call_id"]

    first = [call(alice, key) for key in ("one", "two")]
    assert [call(alice, key) for key in ("one", "two")] == first
    third = call(alice, "three")
    assert call(alice, "two") == first[1] and call(alice, "three") == third
    assert call(alice, "one") != first[0]  # alice has three and one now
    others = [call(bob, key) for key in ("one", "two")]  # and three is the oldest of all
    assert [call(bob, key) for key in ("one", "two")] == others
    assert call(alice, "three") != third


def test_devices_are_counted(make_agent):
    agent = make_agent("devices_per_user = 2\n").start()
    first, second = (agent.connect("bob", name) for name in ("one", "two"))
    first.ok("ping")
    second.ok("ping")
    third = agent.connect("bob", "three")
    assert first.closed() == 4209
    second.ok("ping")
    third.ok("ping")


def test_requests_under_way_are_counted(make_agent):
    """One after the other, all are answered in the end."""
    agent = limited(make_agent, "requests_under_way = 1")
    alice = agent.connect("alice")
    numbers = [alice.post("call.list", {}) for _ in range(200)]
    for number in numbers:
        assert "ok" in alice.reply(number, timeout=20)


def test_a_token_counts_a_little_longer_than_it_says(make_agent):
    agent = limited(make_agent, 'token_leeway = "60s"', KEYS)
    assert agent.connect("bob", token=token(expires_in=-30)).ok("ping") == {}
    late = Device(agent.url, "bob", greet=False)
    late.refused("hello", "unauthenticated", token=token(expires_in=-61), device="phone")


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


def test_a_long_page_costs_as_much_as_several_requests(make_agent):
    """Over WebSocket and HTTP, and whoever else asks does not pay for it."""
    agent = limited(make_agent, 'requests_per_second = 10, page_part = "1KB"', KEYS)
    asked = {"invitees": ["bob", "eve"], "mode": "advanced", "extended_data": "x" * 2_000}
    for number in range(15):
        caller = f"caller-{number}"
        device = agent.connect(caller, token=token(sub=caller))
        for _ in range(2):
            device.ok("call.cancel", call_id=device.ok("call.invite", **asked)["call_id"])
    bob = agent.connect("bob", token=token())
    assert len(json.dumps(bob.ok("call.list", limit=30))) > 60_000
    assert bob.refused("call.list", "rate_limited", limit=1)["retry_after_ms"] > 100

    def listed():
        return agent.request("POST", "/v1/call/list", '{"limit": 30}', bearer("eve"))

    assert len(listed().text) > 60_000
    assert listed().body["code"] == "rate_limited"


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


def test_live_calls_of_a_user_are_counted(make_agent):
    """Those that it made, also when it has left them, and over a restart."""
    agent = limited(make_agent, "calls_per_user = 3", KEYS)
    bob, carol = (agent.connect(name, token=token(sub=name)) for name in ("bob", "carol"))
    calls = [bob.ok("call.invite", invitees=["carol"])["call_id"] for _ in range(3)]
    error = bob.refused("call.invite", "rate_limited", invitees=["carol"])
    assert error["retry_after_ms"] > 0
    carol.ok("call.accept", call_id=calls[0])
    bob.ok("call.leave", call_id=calls[0])
    bob.refused("call.invite", "rate_limited", invitees=["carol"])
    carol.ok("call.invite", invitees=["bob"])
    agent.crash()
    agent.start()
    bob, carol = (agent.connect(name, token=token(sub=name)) for name in ("bob", "carol"))
    bob.refused("call.invite", "rate_limited", invitees=["carol"])
    carol.ok("call.leave", call_id=calls[0])
    bob.ok("call.invite", invitees=["carol"])
    bob.refused("call.invite", "rate_limited", invitees=["carol"])


def test_more_invitees_at_once_than_a_minute_has_places_for_are_refused(make_agent):
    agent = limited(make_agent, "invitations_per_minute = 1", KEYS)
    bob = agent.connect("bob", token=token())
    nine = [f"x{number}" for number in range(9)]
    bob.refused("call.invite", "rate_limited", invitees=nine, mode="advanced")
    bob.ok("call.invite", invitees=["x"], mode="advanced")


def test_another_request_under_a_key_costs_like_any_other(make_agent):
    agent = limited(make_agent, "requests_per_second = 5", KEYS)
    bob = agent.connect("bob", token=token())
    asked = {"invitees": ["x"], "mode": "advanced"}
    call = bob.ok("call.invite", key="k", **asked)["call_id"]
    numbers = [
        bob.post("call.invite", asked | {"kind": f"kind-{number}"}, "k") for number in range(20)]
    codes = [bob.reply(number)["error"]["code"] for number in numbers]
    assert codes[0] == "key_reused" and codes.count("rate_limited") > 10, codes
    assert bob.ok("call.invite", key="k", **asked)["call_id"] == call


def test_a_repetition_under_its_key_costs_nothing(make_agent):
    agent = limited(make_agent, "requests_per_second = 1, invitations_per_minute = 1", KEYS)
    bob = agent.connect("bob", token=token())
    asked = {"invitees": ["x"], "mode": "advanced", "key": "k"}
    call = bob.ok("call.invite", **asked)["call_id"]
    for _ in range(20):
        assert bob.ok("call.invite", **asked)["call_id"] == call
    bob.refused("call.invite", "rate_limited", **{**asked, "key": "other"})
    assert bob.ok("call.invite", **asked)["call_id"] == call


def test_whom_a_plugin_forwards_to_counts(make_agent):
    agent = make_agent(
        KEYS + 'answer_for = { "support" }\nplugins = { "night" }\n'
        "limits = { invitations_per_minute = 5 }\n",
        plugins={"night": 'on.invite(function(call) return forward "ann" end)\n'}).start()
    bob = agent.connect("bob", token=token())
    for state in ("cancelled", "cancelled", "inviting"):
        call = bob.ok("call.invite", invitees=["support"], mode="advanced")["call_id"]
        wait_for(state, lambda: states(
            bob.ok("call.get", call_id=call)["call"])["support"] == state)
    bob.refused("call.invite", "rate_limited", invitees=["x"], mode="advanced")


def test_whom_plugins_forward_to_at_the_same_time_share_the_minute(make_agent):
    """One place is left, and four questions are open before the first one is answered."""
    agent = make_agent(
        KEYS + 'answer_for = { "support-*" }\nplugins = { "night" }\n'
        "limits = { invitations_per_minute = 5 }\n",
        plugins={"night": 'on.invite(function(call) sleep "300ms" '
                          'return forward("ann-" .. call.callee.id) end)\n'}).start()
    bob = agent.connect("bob", token=token())
    asked = [f"support-{number}" for number in range(4)]
    call = bob.ok("call.invite", invitees=asked, mode="advanced")["call_id"]

    def now():
        return states(bob.ok("call.get", call_id=call)["call"])

    wait_for("all four decisions", lambda: "inviting" in now().values()
             and any(user.startswith("ann-") for user in now()))
    wait_for("the answers", lambda: sorted(
        state for user, state in now().items() if user in asked)
        == ["cancelled", "inviting", "inviting", "inviting"])
    assert sum(user.startswith("ann-") for user in now()) == 1


def test_plugins_that_are_behind_hold_invitations_off(make_agent):
    """`on.ended` needs some ten milliseconds, and the calls come faster."""
    slow = "on.ended(function() local n = 0 for i = 1, 1000000 do n = n + i end end)"
    agent = make_agent(
        'plugins = { "slow" }\nlimits.policy_backlog = 100\n'
        'override.slow = { limits = { cpu = "1s" } }\n',
        plugins={"slow": slow}).start()
    bob = agent.connect("bob")
    live = bob.ok("call.invite", invitees=["x"], mode="advanced")["call_id"]
    added, adding, refused = 0, {}, []
    while not refused or "error" not in adding:
        numbers = [
            bob.post("call.invite", {"invitees": ["x"], "mode": "advanced"}) for _ in range(100)]
        added += 1
        addition = bob.post("call.add", {"call_id": live, "invitees": [f"y{added}"]})
        replies = [bob.reply(number) for number in numbers]
        adding = bob.reply(addition)
        for reply in replies:
            if "ok" in reply:
                bob.post("call.cancel", {"call_id": reply["ok"]["call_id"]})
        refused = [reply["error"] for reply in replies if "error" in reply]
    for error in adding["error"], *refused:
        assert error["code"] == "unavailable" and error["retryable"], error
        assert error["retry_after_ms"] == 1_000 and "plugins" in error["message"], error
    bob.ok("call.cancel", call_id=live)
    agent.logs("plugins are behind")
    wait_for("the plugins", patience=60,
             condition=lambda: agent.metrics()["callagent_policy_backlog"] == 0)
    bob.ok("call.invite", invitees=["x"], mode="advanced")


# Going away


def test_who_does_not_go_is_left_behind(make_agent):
    """The longest drain: `drain`, however long a client takes to say goodbye."""
    agent = limited(make_agent, 'drain = "1s"')
    stubborn = RawSocket(agent.port).upgrade().hello("bob")
    agent.signal(signal.SIGTERM)
    assert agent.wait(15) == 0
    stubborn.close()


def test_clients_are_moved_in_waves(make_agent):
    agent = make_agent().start()
    devices = [agent.connect(f"user-{number}") for number in range(300)]
    agent.signal(signal.SIGTERM)
    for device in devices:
        assert device.closed(timeout=20) == 4001
    assert agent.wait(15) == 0
