"""Several devices of one user, and users who are away."""

from calls import changes, ended, invite


def test_every_device_rings_and_the_first_answer_wins(agent):
    alice = agent.connect("alice")
    phone, laptop = agent.connect("bob", "phone"), agent.connect("bob", "laptop")
    call = invite(alice, "bob", mode="advanced")
    phone.event("call.incoming")
    laptop.event("call.incoming")
    phone.ok("call.accept", call_id=call)
    assert changes(phone.event("call.changed")) == {"bob": ("joined", None)}
    seen = laptop.events("call.elsewhere", "call.changed")
    assert seen["call.elsewhere"]["what"] == "answered"
    assert seen["call.elsewhere"]["device"] == "phone"
    laptop.refused("call.accept", "already_answered", call_id=call)
    laptop.refused("call.reject", "already_answered", call_id=call)
    assert changes(alice.event("call.changed")) == {"bob": ("joined", None)}
    for device in (alice, phone, laptop):
        device.quiet()


def test_a_reject_on_one_device_stops_the_others(agent):
    alice = agent.connect("alice")
    phone, laptop = agent.connect("bob", "phone"), agent.connect("bob", "laptop")
    call = invite(alice, "bob")
    phone.event("call.incoming")
    laptop.event("call.incoming")
    laptop.ok("call.reject", call_id=call)
    seen = phone.event("call.elsewhere")
    assert (seen["what"], seen["device"]) == ("rejected", "laptop")
    phone.quiet()
    laptop.event("call.changed")
    laptop.quiet()


def test_only_one_of_two_simultaneous_accepts_is_good(agent):
    alice = agent.connect("alice")
    phone, laptop = agent.connect("bob", "phone"), agent.connect("bob", "laptop")
    call = invite(alice, "bob", mode="advanced")
    asked = [(device, device.post("call.accept", {"call_id": call})) for device in (phone, laptop)]
    replies = [device.reply(number) for device, number in asked]
    assert sorted("ok" in reply for reply in replies) == [False, True]
    (refused,) = [reply for reply in replies if "error" in reply]
    assert refused["error"]["code"] == "already_answered"


def test_the_deadline_stops_all_devices(agent):
    alice = agent.connect("alice")
    devices = [agent.connect("bob", name) for name in ("phone", "laptop", "watch")]
    invite(alice, "bob", timeout_ms=1_000)
    for device in devices:
        device.event("call.incoming")
        device.event("call.timed_out")
        device.quiet()


def test_who_connects_before_the_deadline_is_asked(agent):
    alice = agent.connect("alice")
    call = invite(alice, "bob", timeout_ms=20_000)
    bob = agent.connect("bob")
    assert [one["call_id"] for one in bob.hello["calls"]] == [call]
    incoming = bob.event("call.incoming")
    assert 0 < incoming["expires_in_ms"] <= 20_000
    bob.ok("call.accept", call_id=call)
    assert changes(alice.event("call.changed")) == {"bob": ("joined", None)}


def test_who_connects_after_the_deadline_finds_it_in_the_list(agent):
    alice = agent.connect("alice")
    call = invite(alice, "bob", mode="common", timeout_ms=1_000)
    assert changes(alice.event("call.changed")) == {"bob": ("timed_out", None)}
    assert ended(alice) == ("no_answer", None)
    bob = agent.connect("bob")
    assert bob.hello["calls"] == []
    (found,) = bob.ok("call.list")["calls"]
    assert (found["call_id"], found["end"]["reason"]) == (call, "no_answer")
    bob.quiet()


def test_a_new_device_learns_of_a_call_that_is_ringing_elsewhere(ringing, agent):
    _, _, call = ringing()
    laptop = agent.connect("bob", "laptop")
    assert laptop.event("call.incoming")["call_id"] == call


def test_a_second_device_of_the_caller_sees_the_call(agent):
    phone, laptop = agent.connect("alice", "phone"), agent.connect("alice", "laptop")
    ok = phone.ok("call.invite", invitees=["bob"], mode="advanced")
    created = laptop.event("call.created")
    assert created["call"] == ok["call"]
    phone.quiet()
    bob = agent.connect("bob")
    bob.ok("call.accept", call_id=ok["call_id"])
    for device in (phone, laptop):
        assert changes(device.event("call.changed")) == {"bob": ("joined", None)}
    laptop.ok("call.end", call_id=ok["call_id"])
    for device in (phone, laptop):
        assert ended(device) == ("completed", None)


def test_a_hundred_calls_fit_into_hello_and_more_are_announced(agent):
    alice = agent.connect("alice")
    made = [invite(alice, "bob", mode="advanced") for _ in range(101)]
    bob = agent.connect("bob")
    assert [one["call_id"] for one in bob.hello["calls"]] == made[:0:-1]
    assert bob.hello["calls_more"] is True
