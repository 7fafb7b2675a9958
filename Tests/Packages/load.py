"""Places calls until SIGINT, and then looks whether each that was acknowledged is there.

usage: load.py PORT FILE

FILE has the ids of the calls as they are acknowledged.
"""

import http.client
import json
import signal
import sys
import time


def post(port, path, data, key=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    headers = {"Authorization": "Bearer dev:alice", "Content-Type": "application/json"}
    if key:
        headers["Idempotency-Key"] = key
    try:
        connection.request("POST", path, json.dumps(data), headers)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read() or b"{}")
    except (OSError, http.client.HTTPException, ValueError):
        return 0, {}
    finally:
        connection.close()


def main(port, path):
    going = True

    def end(*_):
        nonlocal going
        going = False

    signal.signal(signal.SIGINT, end)
    acknowledged, number = [], 0
    with open(path, "w", encoding="ascii") as file:
        while going:
            number += 1
            data = {"invitees": [f"bob-{number}"], "mode": "advanced"}
            status, body = post(port, "/v1/call/invite", data, key=f"{number}")
            if status == 200:
                acknowledged.append(body["call_id"])
                print(body["call_id"], file=file, flush=True)
            time.sleep(0.01)
    assert acknowledged, "no call was acknowledged"
    deadline = time.monotonic() + 60
    for call in acknowledged:
        status, body = 0, {}
        while status == 0 and time.monotonic() < deadline:
            status, body = post(port, "/v1/call/get", {"call_id": call})
        assert status == 200, f"{call}: {status} {body}"
        assert body["call"]["state"] == "ringing", body
    print(f"load: {len(acknowledged)} calls, all there after the upgrade")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
