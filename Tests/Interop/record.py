"""Four clients that write down whatever they are told, and hold the server to it later.

They know nothing of what the server should decide. They check what must be true of any server: what
was said once stays said, all hear the same story, a deadline is kept, and a call ends once.
"""

import collections
import http.client
import json
import random
import threading
import time

from websockets.exceptions import ConnectionClosed, InvalidHandshake

from device import Device

USERS = ("alice", "bob", "carol", "dave")
MODES = ("common", "advanced", "managed", "direct", "ringing", "group", "handshake")
FINAL = {"rejected", "cancelled", "timed_out", "left", "failed"}
GONE = (ConnectionClosed, InvalidHandshake, OSError, EOFError, http.client.HTTPException)
# Refusals that say nothing about the call: the request may be repeated under its key.
UNKNOWN = {"unavailable", "rate_limited", "internal", "unauthenticated"}
LATE = 10_000  # milliseconds that a loaded machine may be late


class NotReady(OSError):
    """The server wants us to come again."""


class Notebook:
    """What all clients together were told."""

    def __init__(self):
        self.lock = threading.RLock()
        self.calls = {}  # (call, revision) → call object
        self.shown = {}  # call → the newest object that anybody was shown
        self.newest = {}  # call → the highest revision anybody was told of
        self.over = {}  # (call, user) → revision, and a final state or None
        self.ends = {}  # call → its end
        self.people = collections.defaultdict(set)  # call → users of ours who know of it

    def live(self, user):
        """Some calls that a user has heard of and that may go on."""
        with self.lock:
            newest = list(self.people.items())[-60:]
            return [name for name, users in newest if user in users and name not in self.ends]

    def call(self, call, user):
        """A whole call object that a user was shown."""
        with self.lock:
            name, revision = call["call_id"], call["revision"]
            self.people[name].add(user)
            known = self.calls.setdefault((name, revision), call)
            assert known == call, f"two minds about revision {revision}:\n{known}\n{call}"
            self.reached(name, revision)
            if revision >= self.shown.get(name, call)["revision"]:
                self.shown[name] = call
            for one in call["participants"]:
                self.participant(name, revision, one["user"], one["state"])
                self.not_too_early(call, one)
            if call["end"] is not None:
                self.end(name, call["end"])

    def event(self, event, user):
        """An event that a user was sent."""
        with self.lock:
            data = event["data"]
            name = data["call_id"]
            self.people[name].add(user)
            self.reached(name, data["revision"])
            if "call" in data:
                self.call(data["call"], user)
            for change in data.get("changes", ()):
                self.participant(name, data["revision"], change["user"], change["state"])
            if event["event"] == "call.ended":
                self.end(name, data["end"])

    def reached(self, name, revision):
        self.newest[name] = max(revision, self.newest.get(name, 0))

    def participant(self, name, revision, user, state):
        """Somebody's part is over, which only a later change can begin anew."""
        known = self.over.get((name, user), (0, None))
        if revision >= known[0]:
            self.over[name, user] = (revision, state if state in FINAL else None)

    def end(self, name, end):
        known = self.ends.setdefault(name, end)
        assert known == end, f"two ends of {name}: {known} and {end}"

    @staticmethod
    def not_too_early(call, one):
        if one["state"] == "timed_out" and one["deadline_at"] and call["ended_at"]:
            assert call["ended_at"] >= one["deadline_at"], f"timed out too early: {call}"


class Client:
    """One user with one phone, who does whatever comes to mind."""

    def __init__(self, agent, user, notebook, seed, remember=None):
        self.agent = agent
        self.remember = remember  # how many answers are remembered; None: all
        self.user = user
        self.notebook = notebook
        self.dice = random.Random(f"{seed} {user}")
        self.device = None
        self.hello_at = 0  # the server's time at the last hello
        self.keys = 0
        self.waiting = {}  # key → (op, data): sent, and nothing heard of it
        self.answered = {}  # key → (op, data, answer)
        self.sent = {}  # number of a request on this connection → its key
        self.ended = collections.Counter()  # call → how often the phone was told that it ended
        self.trouble = None
        self.stopping = threading.Event()
        self.thread = None

    # Connections

    def connect(self):
        """Says hello as one who was away, and takes what the server says for the truth."""
        device = Device(self.agent.url, self.user, greet=False)
        reply = device.ask("hello", token=f"dev:{self.user}", device="phone")
        if "error" in reply:
            assert reply["error"]["code"] == "unavailable" and device.closed() == 4001, reply
            raise NotReady(reply["error"]["message"])
        self.device = device
        self.hello_at = reply["ok"]["server_time_at"]
        assert reply["ok"]["resumed"] is False
        for call in reply["ok"]["calls"]:
            self.notebook.call(call, self.user)
            for one in call["participants"]:
                overdue = self.hello_at - (one["deadline_at"] or self.hello_at)
                pending = one["state"] in ("inviting", "ringing", "undelivered")
                assert not pending or overdue < LATE, f"a deadline was forgotten: {call}"

    def disconnect(self):
        if self.device:
            self.take_rest()
            self.device.close()
            self.device = None

    def take_rest(self):
        """What was sent before the connection broke counts as told."""
        try:
            self.device.ok("ping")
        except GONE:
            self.device.closed()
        self.note()

    def note(self):
        """Writes down what has arrived."""
        while self.device.pending_events:
            event = self.device.pending_events.popleft()
            self.notebook.event(event, self.user)
            if event["event"] == "call.ended":
                name = event["data"]["call_id"]
                self.ended[name] += 1
                assert self.ended[name] == 1, f"{self.user} was told twice that {name} ended"
        for number in list(self.device.replies):
            key = self.sent.pop(number, None)
            if key is not None:
                self.take(key, answer_of(self.device.replies.pop(number)))

    def take(self, key, answer):
        """The answer to a request, the first one or a later one."""
        if answer[0] == "error" and answer[1] in UNKNOWN:
            return
        if key in self.answered:
            first = self.answered[key][2]
            assert first == answer, f"{self.user} {key} was answered {first}, then {answer}"
            return
        if key not in self.waiting:
            return
        self.answered[key] = (*self.waiting.pop(key), answer)
        if self.remember and len(self.answered) > self.remember:
            del self.answered[next(iter(self.answered))]
        if answer[0] == "ok" and "call" in answer[1]:
            self.notebook.call(answer[1]["call"], self.user)

    # Load

    def start(self):
        self.stopping.clear()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def stop(self):
        self.stopping.set()

    def join(self):
        self.thread.join(60)
        assert not self.thread.is_alive(), f"{self.user} hangs"
        if self.trouble:
            raise self.trouble

    def run(self):
        try:
            while not self.stopping.is_set():
                self.live()
        except BaseException as trouble:  # shown by the test's own thread
            self.trouble = trouble

    def live(self):
        """One connection's life: busy until it breaks or the test says stop."""
        try:
            if self.device is None:
                self.connect()
            self.sent = {}
            for key in list(self.waiting):
                self.post(key)
            while not self.stopping.is_set():
                self.do_something()
            self.settle()
        except GONE:
            self.disconnect()
            self.stopping.wait(0.02)

    def settle(self):
        """Waits for the replies to everything that was sent."""
        while self.sent:
            self.device.receive(time.monotonic() + 30)
            self.note()

    def do_something(self):
        if self.dice.random() < 0.15:
            return self.ask_over_http(self.new_request())
        for _ in range(self.dice.randrange(1, 6)):
            self.post(self.new_request())
        if self.answered and self.dice.random() < 0.3:
            self.post(self.dice.choice(list(self.answered)))
        self.settle()

    def new_request(self):
        """Makes up a request and returns its key."""
        op, data = self.whim()
        self.keys += 1
        key = f"{self.user}-{self.keys}"
        self.waiting[key] = (op, data)
        return key

    def post(self, key):
        op, data = self.waiting.get(key) or self.answered[key][:2]
        self.sent[self.device.post(op, data, key)] = key

    def ask_over_http(self, key):
        op, data = self.waiting[key]
        reply = self.agent.post(op, self.user, data, key=key, device="phone")
        self.take(key, ("ok", reply.body) if reply.status == 200 else ("error", reply.body["code"]))

    def whim(self):
        dice, others = self.dice, [user for user in USERS if user != self.user]
        known = self.notebook.live(self.user)
        if not known or dice.random() < 0.3:
            mode = dice.choice(MODES)
            most = 1 if mode in ("direct", "ringing", "handshake") else 3
            invitees = dice.sample([*others, "support"], dice.randint(1, most))
            data = {"invitees": invitees, "mode": mode, "extended_data": f"{dice.random()}",
                    "timeout_ms": dice.choice([1_000, 2_000, 4_000, 8_000])}
            return "call.invite", data
        op = dice.choice([
            "call.accept", "call.accept", "call.reject", "call.cancel", "call.end", "call.leave",
            "call.join", "call.add", "call.ringing", "call.items", "call.report"])
        data = {"call_id": dice.choice(known)}
        if op == "call.add":
            data["invitees"] = [dice.choice([*others, "support"])]
        if op == "call.items":
            data["put"] = {"k": f"{dice.randrange(9)}"}
        if op == "call.report":
            data["media"] = dice.choice(["connected", "lost"])
        return op, data

    # Checks, by the test's own thread with nobody else at work

    def repeat(self, keys):
        """Sends requests again, under their keys: what was answered is answered the same."""
        self.sent = {}
        for key in keys:
            self.post(key)
        self.settle()

    def get(self, name):
        call = self.device.ok("call.get", call_id=name)["call"]
        self.notebook.call(call, self.user)
        return call


def answer_of(reply):
    return ("ok", reply["ok"]) if "ok" in reply else ("error", reply["error"]["code"])


class Circle:
    """The four together."""

    def __init__(self, agent, seed, remember=None):
        self.agent = agent
        self.dice = random.Random(seed)
        self.notebook = Notebook()
        self.clients = [Client(agent, user, self.notebook, seed, remember) for user in USERS]
        self.by_user = {client.user: client for client in self.clients}

    def start(self):
        for client in self.clients:
            client.start()

    def stop(self):
        for client in self.clients:
            client.stop()

    def join(self):
        for client in self.clients:
            client.join()

    def answered(self):
        """How many requests have got an answer, of those that are remembered."""
        return sum(len(client.answered) for client in self.clients)

    def check(self, everything=False):
        """Holds a server that has just started to what was written down."""
        for client in self.clients:
            client.disconnect()
        for client in self.clients:
            client.connect()
        for client in self.clients:
            keys = list(client.answered)
            some = keys if everything else keys[-20:] + self.dice.sample(keys, min(5, len(keys)))
            client.repeat([*client.waiting, *dict.fromkeys(some)])
            assert not client.waiting, f"no answer to {client.waiting}"
        names = list(self.notebook.newest)
        some = names if everything else names[-40:] + self.dice.sample(names, min(10, len(names)))
        for name in dict.fromkeys(some):
            self.agree(name)

    def agree(self, name):
        """All participants are shown the same call, not older than what anybody was told."""
        told = self.notebook.newest[name]
        for _ in range(20):
            shown = [self.by_user[user].get(name) for user in self.insiders(name)]
            if len({call["revision"] for call in shown}) <= 1:
                break
        texts = {json.dumps(call, sort_keys=True) for call in shown}
        assert len(texts) == 1, f"two minds about {name}: {texts}"
        call = shown[0]
        assert call["revision"] >= told, f"{name}: was told revision {told}, now is {call}"
        for one in call["participants"]:
            revision, over = self.notebook.over.get((name, one["user"]), (0, None))
            assert over in (None, one["state"]) or revision < call["revision"], (
                f"{one['user']} was {over} in revision {revision}: {call}")
        end = self.notebook.ends.get(name)
        assert end is None or call["state"] == "ended", f"{name} had ended: {call}"
        return call

    def insiders(self, name):
        """Those who may look at a call: whoever is a participant in the newest object known."""
        newest = self.notebook.shown.get(name)
        if newest is None:
            return sorted(self.notebook.people[name])
        users = [one["user"] for one in newest["participants"]]
        return [user for user in users if user in self.by_user]

    def finish(self):
        """Lets every call end; each caller who is still in it is told once."""
        last = [name for name in self.notebook.newest if name not in self.notebook.ends]
        live = last
        for name in live:
            for user in self.insiders(name):
                for op in ("call.end", "call.cancel", "call.leave"):
                    self.by_user[user].device.ask(op, call_id=name)
        deadline = time.monotonic() + 45
        while live and time.monotonic() < deadline:
            live = [name for name in live if self.agree(name)["state"] != "ended"]
            time.sleep(0.2)
        assert not live, f"these never ended: {[self.agree(name) for name in live]}"
        for client in self.clients:
            client.device.ok("ping")
            client.sent = {}
            client.note()
        for name in last:
            self.check_end(name)

    def check_end(self, name):
        call = self.agree(name)
        caller = self.by_user[call["caller"]]
        state = next(one["state"] for one in call["participants"] if one["user"] == caller.user)
        told = caller.ended[name]
        if call["ended_at"] > caller.hello_at and state == "joined":
            assert told == 1, f"{caller.user} was told {told} times of the end of {call}"
