"""A crowd of users that call each other over all nodes and write down whatever they are told."""

import asyncio
import collections
import json
import random
import threading
import time

from agent import wait_for
from client import Line, over_http
from history import CHANGING, UNKNOWN, parsed

MODES = ("advanced", "advanced", "common", "direct", "ringing", "managed", "group")
EVERY = ("call.accept", "call.reject", "call.items", "call.get", "call.leave", "call.end",
         "call.cancel")
# What may be done in a call of a mode.
OPERATIONS = {
    "advanced": ("call.accept", "call.accept", "call.reject", "call.leave", "call.end",
                 "call.cancel", "call.get"),
    "managed": ("call.accept", "call.accept", "call.reject", "call.leave", "call.end",
                "call.cancel", "call.get"),
    "common": ("call.accept", "call.reject", "call.cancel", "call.get"),
    "direct": ("call.accept", "call.items", "call.items", "call.items", "call.reject", "call.end",
               "call.cancel", "call.get"),
    "ringing": ("call.accept", "call.reject", "call.end", "call.cancel", "call.get"),
    "group": ("call.accept", "call.reject", "call.leave", "call.end", "call.cancel", "call.get"),
}
RING_TIMES = (2_000, 4_000, 600_000)  # milliseconds
# Refusals after which a user has nothing to do with a call any more.
OVER = {"call_ended", "not_found", "not_invited", "cancelled", "expired"}
NOBODY = "nobody-"  # users who never connect
AT_ONCE = 6  # requests of a user that are not answered
CALLS = 12  # live calls that a user knows; from there on it makes none
ACKNOWLEDGED = 0.3  # of the requests: others are refused, or change nothing
PATIENCE = 2  # seconds without an answer after which the request is sent anew elsewhere


class Asked:
    """A request that a user wants an answer to, whatever happens."""

    def __init__(self, key, op, data):
        self.key, self.op, self.data = key, op, data
        self.at = 0  # when it was sent last
        self.call = data.get("call_id")  # the call that it is about, or that it made
        self.told = None  # the call, as the answer showed it


def rings_out(call):
    """Whether nobody does anything about a call, so that its deadline ends it."""
    return any(one["user"].startswith(NOBODY) for one in call["participants"])


class User:
    """One user with one device, connected to any node, and to another one after each loss."""

    def __init__(self, load, name, seed, device="phone", home=None):
        self.load, self.name, self.device, self.home = load, name, device, home
        self.dice = random.Random(f"{seed} {name} {device}")
        self.line = self.node = None
        self.is_greeted = self.is_away = False
        self.session, self.seq = None, 0
        self.keys = 0
        self.waiting = {}  # key → Asked
        self.sent = {}  # number on this line → (number in the history, key)
        self.asked_at = {}  # number on this line → when it left
        self.numbers = 1
        self.answered = collections.deque(maxlen=50)
        self.live = {}  # call → its mode
        self.shown = []  # the calls that the last new session began with

    # Connections

    async def connect(self):
        if self.line or self.is_away or self.load.ended:
            return
        self.node = self.home or self.dice.choice(self.load.nodes)
        loop = asyncio.get_running_loop()
        line = self.line = Line(self)  # it may speak before this goes on
        try:
            await asyncio.wait_for(
                loop.create_connection(lambda: line, "127.0.0.1", self.node.port), PATIENCE)
            if self.load.ended or self.is_away:
                line.drop()
        except (OSError, asyncio.TimeoutError):
            if self.line is line:
                self.line = None
                self.again()
            return
        loop.call_later(
            PATIENCE, lambda: line.drop() if line is self.line and not self.is_greeted else None)

    def again(self):
        if not self.load.ended:
            self.load.later(self.dice.uniform(0.05, 0.2), self.connect)

    def line_opened(self, line):
        data = {"token": f"dev:{self.name}", "device": self.device}
        if self.session and self.dice.random() < 0.7:
            data["resume"] = {"session": self.session, "seq": self.seq}
        self.sent, self.asked_at = {}, {}
        line.say({"id": 0, "op": "hello", "data": data})

    def line_said(self, line, text):
        if line is not self.line:
            return
        message = json.loads(text)
        if "event" in message:
            self.hear(message, text)
        elif message.get("re") == 0:
            self.greeted(line, message)
        elif message.get("re") in self.sent:
            number, key = self.sent.pop(message["re"])
            self.asked_at.pop(message["re"])
            self.load.history.add("reply", n=number, body=text)
            self.take(key, message)

    def line_ended(self, line):
        if line is not self.line:
            return
        self.load.history.add("closed", user=self.name, device=self.device,
                              node=self.node.folder.name, code=line.code)
        for number, _ in self.sent.values():
            self.load.history.add("lost", n=number)
        self.line, self.sent, self.asked_at, self.is_greeted = None, {}, {}, False
        self.again()

    def greeted(self, line, message):
        if "error" in message:
            line.drop()
            return
        said = message["ok"]
        if not said["resumed"]:
            self.seq = 0
            self.shown = said["calls"]
            self.live = {
                one["call_id"]: one["mode"] for one in said["calls"] if not rings_out(one)}
        self.session = said["session"]
        self.load.history.add(
            "hello", user=self.name, device=self.device, node=self.node.folder.name,
            session=self.session, resumed=said["resumed"], seq=self.seq,
            calls=json.dumps(said["calls"]), server_time=said["server_time_at"])
        self.is_greeted = True
        for asked in list(self.waiting.values()):
            self.send(asked)

    def leave(self):
        """Drops the line; the next one is to any node."""
        if self.line:
            self.line.drop()

    def leave_the_silent(self):
        """A node that stands still is left, as a phone does that hears no pong."""
        now = asyncio.get_running_loop().time()
        if self.asked_at and now - next(iter(self.asked_at.values())) > PATIENCE:
            self.leave()

    # Talk

    def hear(self, message, text):
        self.load.history.add("event", user=self.name, device=self.device, session=self.session,
                              body=text)
        self.seq = message["seq"]
        call = message["data"]["call_id"]
        if message["event"] == "call.incoming":
            self.live[call] = message["data"]["call"]["mode"]
        elif message["event"] in ("call.ended", "call.timed_out", "call.cancelled"):
            self.live.pop(call, None)
        if self.seq % 8 == 0:
            self.line.say({"ack": self.seq})

    def prepare(self, op, data):
        """A request that is not sent yet."""
        self.keys += 1
        asked = Asked(f"{self.name}-{self.device}-{self.keys}", op, data)
        self.waiting[asked.key] = asked
        return asked

    def ask(self, op, data):
        asked = self.prepare(op, data)
        self.send(asked)
        return asked

    def send(self, asked):
        if not self.is_greeted:
            return
        if self.line.transport.is_closing():
            return
        self.numbers += 1
        asked.at = time.time()
        number = self.load.history.ask(
            user=self.name, device=self.device, node=self.node.folder.name, key=asked.key,
            op=asked.op, data=asked.data)
        self.sent[self.numbers] = (number, asked.key)
        self.asked_at[self.numbers] = asyncio.get_running_loop().time()
        self.line.say({"id": self.numbers, "op": asked.op, "key": asked.key, "data": asked.data})

    async def send_over_http(self, asked, node):
        number = self.load.history.ask(
            user=self.name, device=self.device, node=node.folder.name, key=asked.key,
            op=asked.op, data=asked.data)
        try:
            text = await asyncio.wait_for(over_http(
                node.port, self.name, self.device, asked.op, asked.data, asked.key), PATIENCE)
        except (OSError, asyncio.TimeoutError):
            self.load.history.add("lost", n=number)
            return
        self.load.history.add("reply", n=number, body=text)
        self.take(asked.key, parsed(text))

    def take(self, key, message):
        """The answer to a request. What says nothing is asked again."""
        asked = self.waiting.get(key)
        if asked is None:
            return
        if "error" in message and message["error"]["code"] in UNKNOWN:
            self.load.later(self.dice.uniform(0.05, 0.15), self.repeat, asked)
            return
        del self.waiting[key]
        self.answered.append(asked)
        if "error" in message:
            if message["error"]["code"] in OVER:
                self.live.pop(asked.data.get("call_id"), None)
            return
        if asked.op in CHANGING:
            self.load.newest = max(self.load.newest, asked.at)
            self.load.acknowledged += 1
        if "call" in message["ok"]:
            call = message["ok"]["call"]
            asked.call, asked.told = call["call_id"], call
            if call["state"] == "ended":
                self.live.pop(call["call_id"], None)
            elif not rings_out(call):
                self.live[call["call_id"]] = call["mode"]

    async def repeat(self, asked):
        if asked.key in self.waiting and not any(
                key == asked.key for _, key in self.sent.values()):
            self.send(asked)

    # Load

    async def live_on(self, pause):
        """One step after the other, until the load is to rest."""
        await self.connect()
        while not self.load.resting:
            await asyncio.sleep(self.dice.uniform(0, 2 * pause))
            self.leave_the_silent()
            if self.is_greeted and len(self.waiting) < AT_ONCE:
                self.step()

    def step(self):
        chance = self.dice.random()
        if chance < 0.03 and self.answered:
            self.send(self.dice.choice(self.answered))  # the same answer again
            return
        if chance < 0.03 + 0.005 * self.load.restless:
            self.leave()
            return
        asked = self.ask(*self.whim())
        if chance > 0.96:  # the same key at another node at once
            self.load.later(0, self.send_over_http, asked, self.dice.choice(self.load.nodes))

    def whim(self):
        dice = self.dice
        if dice.random() < 0.05:
            return "call.invite", {
                "invitees": [f"{NOBODY}{dice.randrange(1_000)}"], "mode": "common",
                "timeout_ms": dice.randrange(1_000, 6_000),
                "extended_data": f"{self.name} {self.device} {self.keys}"}
        if not self.live or (len(self.live) < CALLS and dice.random() < 0.3):
            mode = dice.choice(MODES)
            most = 3 if mode in ("advanced", "common", "group") else 1
            others = [name for name in self.load.names if name != self.name]
            return "call.invite", {
                "invitees": dice.sample(others, dice.randint(1, most)), "mode": mode,
                "timeout_ms": dice.choice(RING_TIMES),
                "extended_data": f"{self.name} {self.device} {self.keys}"}
        call = dice.choice(list(self.live))
        op = dice.choice(OPERATIONS[self.live[call]] if dice.random() < 0.9 else EVERY)
        data = {"call_id": call}
        if op == "call.items":
            data["put"] = {f"k{dice.randrange(9)}": f"{self.name}-{self.keys}"}
        return op, data


class Load:
    """All users, on an event loop in a thread of its own. Those that keep calls only stay in
    them."""

    def __init__(self, nodes, history, seed, users=40, rate=300, restless=1):
        self.nodes, self.history, self.seed = nodes, history, seed
        self.names = [f"u{number}" for number in range(users)]
        self.users = [User(self, name, seed) for name in self.names]
        self.keepers = []
        self.pause, self.rate = users / rate, rate
        self.restless = restless
        self.resting = self.ended = False
        self.newest = 0  # when the newest change was asked that is acknowledged
        self.acknowledged = 0  # changes
        self.lives, self.tasks = [], set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    @property
    def everybody(self):
        return self.users + self.keepers

    def later(self, seconds, function, *arguments):
        """Calls a coroutine function on the loop after a while; for use on the loop."""
        def begin():
            task = self.loop.create_task(function(*arguments))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        self.loop.call_later(seconds, begin)

    def do(self, coroutine, patience=600):
        """Runs a coroutine on the loop and returns what it gives."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(patience)

    def start(self):
        self.resting = False
        self.lives = [asyncio.run_coroutine_threadsafe(user.live_on(self.pause), self.loop)
                      for user in self.users]

    def goes_on(self, seconds):
        """Waits for as many acknowledgements as come in so many seconds of peace: what follows
        meets a load that is under way, however fast the machine is."""
        wanted = self.acknowledged + max(1, round(seconds * self.rate * ACKNOWLEDGED))
        wait_for("the load goes on", lambda: self.acknowledged >= wanted, 60)

    def rest(self, patience=60):
        """Everybody stops, and everything that was asked gets an answer."""
        self.resting = True
        for life in self.lives:
            life.result(10)
        self.do(self.settle(patience))

    async def until(self, what, condition, patience=60):
        end = self.loop.time() + patience
        while not condition():
            assert self.loop.time() < end, f"{what}: not within {patience} s"
            await asyncio.sleep(0.005)

    async def settle(self, patience=60, users=None):
        """Waits until these have an answer to everything they asked."""
        users = users or self.everybody
        end = self.loop.time() + patience
        while waiting := [key for user in users for key in user.waiting]:
            assert self.loop.time() < end, f"no answer within {patience} s to {waiting[:9]}"
            for user in users:
                user.leave_the_silent()
                sent = {key for _, key in user.sent.values()}
                for asked in list(user.waiting.values()):
                    if asked.key not in sent:
                        user.send(asked)
            await asyncio.sleep(0.05)

    async def come(self, users):
        """They connect, and come again whenever they lose their line."""
        for user in users:
            user.is_away = False
        await asyncio.gather(*[user.connect() for user in users])
        await self.until("they are greeted", lambda: all(one.is_greeted for one in users))

    async def keep(self, count):
        """So many calls of two, which go on until the end. Returns those of each pair."""
        each = 100 if count <= 10_000 else 1_000
        pairs = [[User(self, f"k{2 * at + side}", self.seed) for side in (0, 1)]
                 for at in range(-(-count // each))]
        self.keepers += [user for pair in pairs for user in pair]
        await self.come(self.keepers)
        room = asyncio.Semaphore(20)
        kept = {(caller, callee): [] for caller, callee in pairs}

        async def place(at, caller, callee):
            for first in range(0, min(each, count - at * each), 20):
                async with room:
                    made = [caller.ask("call.invite", {
                        "invitees": [callee.name], "timeout_ms": 600_000,
                        "extended_data": f"kept {at} {number}"})
                        for number in range(first, min(first + 20, each, count - at * each))]
                    await self.settle(users=[caller])
                    for asked in made:
                        callee.ask("call.accept", {"call_id": asked.call})
                    await self.settle(users=[callee])
                    kept[caller, callee] += [asked.call for asked in made]

        await asyncio.gather(*[place(at, *pair) for at, pair in enumerate(pairs)])
        return kept

    async def part(self, users):
        """They go, and do not come again before `come`."""
        for user in users:
            user.is_away = True
            user.leave()
        await self.until("they are gone", lambda: not any(user.line for user in users))

    async def end(self, calls):
        """Whoever is in one of these calls does what ends it, as far as they may."""
        users = {user.name: user for user in self.users}
        for call in calls:
            for one in call["participants"]:
                if one["user"] not in users:
                    continue
                for op in ("call.end", "call.cancel", "call.reject", "call.leave"):
                    users[one["user"]].ask(op, {"call_id": call["call_id"]})
        await self.settle()

    async def hear_all(self):
        """What was sent to anybody before this is heard."""
        for user in self.everybody:
            user.ask("call.get", {"call_id": "0" * 32})
        await self.settle()

    async def scatter(self, share):
        """Some users leave their nodes at once and go to others."""
        for user in self.users:
            if user.dice.random() < share:
                user.leave()

    def close(self):
        async def end():
            self.ended = self.resting = True
            for user in self.everybody:
                user.leave()
            await asyncio.sleep(0)
            own = asyncio.current_task()
            for task in asyncio.all_tasks() - {own}:
                task.cancel()
        self.do(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
