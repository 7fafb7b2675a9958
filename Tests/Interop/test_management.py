"""The management API at the operator's socket, by a client that nobody here wrote."""

import pytest

from agent import wait_for
from support import ACCEPT, SUPPORT, call


@pytest.fixture
def agent(make_agent):
    return make_agent(SUPPORT, {"support": ACCEPT}).start()


def test_what_is_described_is_there(agent):
    document = agent.admin("GET", "/admin/v1/openapi.json").body
    assert document["openapi"].startswith("3.")
    operations = [
        (method.upper(), path) for path, row in document["paths"].items() for method in row]
    assert len(operations) > 15
    for method, path in operations:
        if method == "GET" and "{" not in path:
            reply = agent.admin(method, path)
            assert reply.status == 200, (method, path, reply.text)
            assert reply.headers["Content-Type"] == "application/json"
        other = agent.admin("PUT", path)
        assert other.status == 405 and method in other.headers["Allow"], (method, path)


def test_head_is_get_without_a_body(agent):
    document = agent.admin("GET", "/admin/v1/openapi.json").body
    paths = [path for path, row in document["paths"].items() if "get" in row and "{" not in path]
    for path in (*paths, "/admin/v1/calls/" + "0" * 32, "/admin/v1/nothing", "/metrics"):
        whole, head = agent.admin("GET", path), agent.admin("HEAD", path)
        assert (head.status, head.text) == (whole.status, ""), path
        assert head.headers["Content-Type"] == whole.headers["Content-Type"], path
        # Figures may have another digit by then.
        far = abs(int(head.headers["Content-Length"]) - int(whole.headers["Content-Length"]))
        assert far < 100, path
    assert agent.admin("HEAD", "/admin/v1/reload").status == 405
    assert agent.admin("PUT", "/admin/v1/status").headers["Allow"] == "GET, HEAD"
    # Nothing was changed, so nothing is noted but what was refused.
    noted = agent.admin("GET", "/admin/v1/audit").body["items"]
    assert [(one["method"], one["status"]) for one in noted] == [("PUT", 405)]


def test_every_operation_says_what_it_does(agent):
    document = agent.admin("GET", "/admin/v1/openapi.json").body
    rows = [row for path in document["paths"].values() for row in path.values()]
    assert all(row["summary"].endswith(".") and row["operationId"] for row in rows)
    assert len({row["operationId"] for row in rows}) == len(rows) > 35


def test_a_call_is_listed_shown_and_ended(agent):
    call_id, _ = call(agent, "ann")
    listed = agent.admin("GET", "/admin/v1/calls?limit=5").body["items"]
    assert [one["call_id"] for one in listed] == [call_id]
    assert agent.admin("GET", f"/admin/v1/calls/{call_id}").status == 200
    assert agent.admin("GET", f"/admin/v1/calls/{call_id}/explain").status == 200
    reply = agent.admin("POST", f"/admin/v1/calls/{call_id}/end", {"reason": "fraud"})
    assert reply.status == 200, reply.text
    wait_for("the end", lambda: agent.admin("GET", "/admin/v1/calls").body["items"] == [])
    # What was done is done: again it says so, and changes nothing.
    assert agent.admin("POST", f"/admin/v1/calls/{call_id}/end", {}).status in (404, 409)


@pytest.mark.parametrize("method, path, body, status, named", [
    ("GET", "/admin/v1/nothing", None, 404, ""),
    ("GET", "/admin/calls", None, 404, ""),
    ("GET", "/admin/v1/calls?limit=none", None, 400, "limit"),
    ("GET", "/admin/v1/calls?limit=0", None, 400, "limit"),
    ("GET", "/admin/v1/calls?limt=5", None, 400, "limt"),
    ("GET", "/admin/v1/calls/xyz", None, 400, "call_id"),
    ("GET", "/admin/v1/webhooks?state=lost", None, 400, "state"),
    ("POST", "/admin/v1/rollback", {"generation": ["x"]}, 400, "generation"),
    ("POST", "/admin/v1/rollback", {"generation": "x" * 257}, 400, "generation"),
    ("POST", "/admin/v1/rollback", ["x"], 400, ""),
    ("POST", "/admin/v1/reload", {"now": True}, 400, "now"),
    ("POST", "/admin/v1/webhooks/none/enable", {}, 404, "none"),
])
def test_what_is_wrong_is_named_and_changes_nothing(agent, method, path, body, status, named):
    before = agent.admin("GET", "/admin/v1/files").body
    reply = agent.admin(method, path, body)
    assert reply.status == status, reply.text
    assert reply.headers["Content-Type"] == "application/problem+json"
    assert named in reply.text
    assert agent.admin("GET", "/admin/v1/files").body == before


def test_it_is_not_there_for_clients(agent):
    for path in ("/admin/v1/status", "/admin/v1/openapi.json"):
        assert agent.request("GET", path).status == 404


def test_a_name_that_a_path_cannot_have_stands_beside_the_others(agent):
    for name in (".", ".."):
        agent.connect(name)
        found = agent.admin("GET", f"/admin/v1/users//explain?user={name}")
        assert (found.status, found.body["user"]) == (200, name)
        found = agent.admin("POST", "/admin/v1/users//disconnect", {"user": name})
        assert found.status == 200, found.text
    for path in ("/users//explain", "/users/", "/webhooks//enable", "/calls//end"):
        method = "GET" if "users" in path else "POST"
        found = agent.admin(method, "/admin/v1" + path)
        assert found.status == 400 and "is missing" in found.text, (path, found.text)
        assert found.body["error"]["detail"]["field"]
