"""Push services that answer nonsense: phones keep their registrations, the operator sees why."""

from agent import wait_for
from double import token
from test_push import invite, register, settled

PAINT = "\x1b[2J\x9b31m\u202e\u2028\nNow"


def test_what_a_service_says_does_not_paint_the_terminal(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "apns", token("a1"))
    double.plan("a1", {"status": 400, "reason": PAINT})
    call = invite(agent.connect("alice"), "bob")
    settled(agent, failed=1)
    code, said = agent.tool("explain", call)
    assert code == 0 and said.count("misconfigured: 400") == 2, said
    for line in said.splitlines():
        assert line.isprintable(), line


def test_a_word_without_end_is_kept_short(pusher, double):
    agent = pusher()
    register(agent, "bob", "phone", "apns", token("a1"))
    double.plan("a1", {"status": 400, "reason": "x" * 60_000})
    call = invite(agent.connect("alice"), "bob")
    settled(agent, failed=1)
    found = agent.admin("GET", f"/admin/v1/calls/{call}/explain").body
    assert len(found["pushes"][0]["result"]) < 200
    assert "x" * 200 not in agent.log_text()


def test_an_access_token_that_is_none_does_not_end_pushes(pusher, double):
    """Google says that it is good for a day."""
    agent = pusher()
    register(agent, "bob", "phone", "fcm", "fcm-1")
    double.plan("oauth", {"status": 200, "body": '{"access_token":"a\\nb","expires_in":86400}'}, {})
    invite(agent.connect("alice"), "bob")
    settled(agent, sent=1)


def test_a_gateway_that_calls_all_tokens_dead_silences_few_phones(pusher, double):
    agent = pusher()
    users = [f"user{number}" for number in range(30)]
    for user in users:
        register(agent, user, "phone", "webhook", f"{user}-token")
    double.plan("gateway", {"status": 410})
    alice = agent.connect("alice")
    for count, user in enumerate(users, 1):
        call = invite(alice, user)
        settled(agent, failed=count)
    metrics = agent.metrics()
    assert metrics["callagent_push_tokens_removed_total"] == 19
    assert "doubted: 410" in agent.tool("explain", call)[1]
    agent.logs("doubted: 410")
    double.plan("gateway")
    alice.ok("call.cancel", call_id=call)
    for user in users[19:]:
        invite(alice, user)
    wait_for("the phones ring", lambda: agent.metrics()["callagent_pushes_sent_total"] >= 11)
