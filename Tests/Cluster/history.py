"""What clients asked and were told: one list that the checker reads."""

import json
import threading
import time

# Requests that change something: their acknowledgement is a promise.
CHANGING = {"call.invite", "call.accept", "call.reject", "call.cancel", "call.end", "call.leave",
            "call.items"}
# Refusals that say nothing about the call: the request is repeated under its key.
UNKNOWN = {"unavailable", "rate_limited", "internal", "unauthenticated"}


class History:
    """Records in the order in which they happened. Each has `t`, seconds since 1970, and `what`:

    `ask`: `n`, `user`, `device`, `node`, `key`, `op`, `data`; the same request again has the same
    key and another `n`. `reply`: `n`, and `body`, the text or object with `ok` or `error`. `lost`:
    `n` will not be answered. `hello`: `user`, `device`, `node`, `session`, `resumed`, `seq`,
    `calls`. `event`: `user`, `device`, `session`, `body`. `closed`: `user`, `device`, `node`,
    `code`. `fault` and `healed`: `name`, `node`.
    """

    def __init__(self, records=()):
        self.records = list(records)
        self.lock = threading.Lock()
        self.asked = 0

    def add(self, what, **more):
        record = {"t": time.time(), "what": what} | more
        self.records.append(record)
        return record

    def ask(self, **more):
        """A request that leaves now; returns its number."""
        with self.lock:
            self.asked += 1
            number = self.asked
        self.add("ask", n=number, **more)
        return number

    def of(self, *kinds):
        return [record for record in self.records if record["what"] in kinds]

    def save(self, path):
        with open(path, "w") as file:
            for record in self.records:
                file.write(json.dumps(record) + "\n")


class Forgetful(History):
    """What a crowd asks and is told that is too large to be kept: it is counted only."""

    def add(self, what, **more):
        return {"t": time.time(), "what": what} | more


def parsed(body):
    """Replies and events are kept as text: most are never read again."""
    return json.loads(body) if isinstance(body, str) else body


def gaps(history, faults):
    """For each of these faults the seconds until something that was asked afterwards was
    acknowledged. A fault counts from its `since` on, if it has one: when others had done their
    part."""
    asks = {one["n"]: one["t"] for one in history.of("ask") if one["op"] in CHANGING}
    begun = [one.get("since", one["t"]) for one in faults]
    found = [None] * len(faults)
    for record in history.of("reply"):
        sent = asks.get(record["n"])
        if sent is None or not (open_ := [
                at for at, since in enumerate(begun) if found[at] is None and since <= sent]):
            continue
        if "ok" in parsed(record["body"]):
            for at in open_:
                found[at] = record["t"] - begun[at]
    return found


def longest_silence(history, begin, end):
    """The longest time between two acknowledged changes that begins between these moments, in
    seconds."""
    asks = {one["n"] for one in history.of("ask") if one["op"] in CHANGING}
    moments = [one["t"] for one in history.of("reply")
               if one["n"] in asks and "ok" in parsed(one["body"])]
    return max(after - before for before, after in zip(moments, moments[1:])
               if begin <= before <= end)
