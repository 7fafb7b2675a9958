"""The groups of checks on a cluster. Each gives its figures and what was not as it should be."""

import asyncio
import json
import os
import pathlib
import statistics
import tempfile
import time

import nemesis
from agent import wait_for
from cluster import shown
from group import Group
from history import longest_silence, parsed
from load import User
from processor import slowness
from scale import Million, Scale

BEFORE = "CALLAGENT_BEFORE"  # names the executable of the version before
ONLY_FULL = ("fence", "million")  # groups that are nothing when they are short


class Kill(Group):
    """`kill -9` of the owner, and of front ends, with calls that live on."""

    name = "kill"

    def __init__(self, full, seed):
        super().__init__(full, seed)
        self.kept = 1_000 if full else 200

    def trouble(self):
        faults = []
        for _ in range(20 if self.full else 1):
            faults += self.strike(nemesis.KillOwner, 5 if self.full else 2)
            self.strike(nemesis.KillFront, 1)
        self.tell_gaps("kill", faults, most=5, median=4)


class Stop(Group):
    """SIGSTOP of the owner: it writes nothing when it goes on."""

    name = "stop"

    def trouble(self):
        faults = self.strike(
            nemesis.StopOwner, 50 if self.full else 2, [10] if self.full else [4, 5])
        self.tell_gaps("stop", faults, most=7)


class Commit(Group):
    """The owner is stopped after each statement of a commit, and after its end."""

    name = "commit"
    holes = True

    def trouble(self):
        places = [*range(1, 11), None] * 3 if self.full else [1, 3]
        faults = self.strike(nemesis.StopInCommit, len(places), places)
        self.tell_gaps("stop in a commit", faults, most=7)
        last = sorted({fault["held"][-1] for fault in faults})
        self.figures.append(f"last statements that went through: {', '.join(last)}")


class NoFence(Stop):
    """The same with a program whose fence lets everybody through: it must be found out."""

    name = "fence"
    keeps = False
    FENCE = (b"SELECT 1 / count(*) FROM (", b"SELECT 1 + count(*) FROM (")

    def run(self):
        program = os.environ["CALLAGENT"]
        self.violations = 0
        with tempfile.TemporaryDirectory(prefix="callagent-no-fence-") as folder:
            whole = pathlib.Path(program).read_bytes()
            copy = pathlib.Path(folder) / "callagent"
            copy.write_bytes(whole.replace(*self.FENCE))
            copy.chmod(0o755)
            os.environ["CALLAGENT"] = str(copy)
            try:
                super().run()
            finally:
                os.environ["CALLAGENT"] = program
        self.wrong, self.slow = [], []
        self.expect(whole.count(self.FENCE[0]) == 1, f"{program} has not this fence")
        self.expect(self.violations, "no violation was found without the fence")


class Hole(Group):
    """A network that swallows: between the owner and its database, and between nodes."""

    name = "hole"
    holes = True

    def trouble(self):
        lengths = [3, 4, 5, 7, 10, 15, 20, 30, 6, 8] if self.full else [6]
        faults = self.strike(nemesis.HoleToDatabase, len(lengths), lengths)
        self.tell_gaps("hole to the database", faults, most=7)
        self.tell_silence(faults)
        epoch = self.servers.epoch()
        lengths = [4, 6, 8, 9] * 2 if self.full else [4]
        faults = self.strike(nemesis.HoleToOwner, len(lengths), lengths)
        self.expect(self.servers.epoch() == epoch, "another node took over though the owner beat")
        self.tell_closed(faults)
        self.leave_alone(epoch)
        faults = self.strike(nemesis.KillBesideUnseen, 8 if self.full else 1)
        wrong = sum(fault["wrong"] for fault in faults)
        self.expect(not wrong, f"{wrong} times a node took over that nobody sees")
        self.tell_gaps("kill beside a node that nobody sees", faults, most=5)

    def leave_alone(self, epoch):
        """Nobody reaches the owner for long: it gives up to one that is seen, and all serve."""
        before = self.servers.owner()
        begun = time.time()
        self.strike(nemesis.LongHoleToOwner, 1)
        moments = sorted(self.servers.rows()["terms"].items())
        taken = [at - begun for number, at in moments if number > epoch]
        self.expect(len(taken) == 1, f"no node reached the owner for long: {len(taken)} hand-overs")
        self.expect(self.servers.owner() is not before, "the node that nobody reaches owns again")
        if taken:
            self.figures.append(f"an owner that nobody sees gives up after {taken[0]:.1f} s")
            self.expect(taken[0] >= 10, f"it gave up after {taken[0]:.1f} s")
            self.in_time(taken[0], 18, "until it gave up")

    def tell_silence(self, faults):
        """When the first one was told that nothing can be had."""
        refusals = [one["t"] for one in self.history.of("reply") if not self.is_answer(one)]
        refusals += [one["t"] for one in self.history.of("closed") if one["code"] == 4001]
        first = [min((at for at in refusals if at >= fault["t"]), default=None) for fault in faults]
        waits = [at - fault["t"] for at, fault in zip(first, faults) if at]
        self.expect(len(waits) == len(faults), "nobody was told that the owner is silent")
        if waits:
            self.figures.append(f"`unavailable` after {max(waits):.2f} s at most")
            self.in_time(max(waits), 2.5, "until `unavailable`")

    def tell_closed(self, faults):
        """How long clients of front ends stay connected to a node that cannot serve them."""
        waits = []
        for fault in faults:
            at_front = {}
            for one in self.history.of("hello", "closed"):
                place = (one["user"], one["device"])
                if one["t"] < fault["t"]:
                    at_front.pop(place, None)
                    if one["what"] == "hello" and one["node"] != fault["node"]:
                        at_front[place] = one["node"]
                elif one["what"] == "closed" and at_front.pop(place, None):
                    waits.append(one["t"] - fault["t"])
        self.expect(waits, "no client was closed")
        if waits:
            self.figures.append(f"{len(faults)} × hole to the owner: clients of front ends closed "
                                f"after {max(waits):.2f} s at most")
            self.in_time(max(waits), 3, "until clients of front ends were closed")


class Restart(Group):
    """PostgreSQL is killed and starts again; what is counted begins when it answers."""

    name = "restart"

    def trouble(self):
        self.tell_gaps("restart", self.strike(nemesis.RestartDatabase, 20 if self.full else 2),
                       most=2)


class Promotion(Group):
    """The synchronous standby is promoted under load."""

    name = "promote"
    pair = True

    def trouble(self):
        self.tell_gaps("promotion", self.strike(nemesis.Promote, 20 if self.full else 1), most=10)


class HandOver(Group):
    """Hand-over under load."""

    name = "hand-over"

    def __init__(self, full, seed):
        super().__init__(full, seed)
        self.most = 0.5 * slowness()  # seconds; measured here, before anything else runs

    def trouble(self):
        faults = self.strike(nemesis.HandOver, 20 if self.full else 4)
        healed = [one["t"] for one in self.history.of("healed")]
        silences = [longest_silence(self.history, one["t"], end)
                    for one, end in zip(faults, healed)]
        middle, worst = statistics.median(silences), max(silences)
        self.figures.append(f"{len(faults)} × hand-over: gap median {middle * 1_000:.0f} ms, worst "
                            f"{worst * 1_000:.0f} ms")
        self.in_time(worst, self.most, "hand-over, longest gap")


class Mixed(HandOver):
    """One node runs the program before this one, and ownership goes round."""

    name = "mixed"
    older = os.environ.get(BEFORE)

    def run(self):
        assert self.older, f"{BEFORE} does not name the executable of the version before"
        super().run()

    def trouble(self):
        owners = []
        for _ in range(10 if self.full else 4):
            self.strike(nemesis.HandOver, 1)
            owners.append(self.servers.owner().folder.name)
        programs = {one["name"]: one["tables"] for one in shown(self.servers.nodes[0])["nodes"]}
        self.figures.append(f"owners in turn: {' '.join(owners)}; tables that each knows: "
                            f"{programs}")


class Everything(Group):
    """All of them by the dice, under load."""

    name = "all"
    holes = pair = True
    LEAST = 500  # requests answered in a second, beside all faults
    takeover_ms = 20_000  # one fault begins when the one before is hardly over

    def __init__(self, full, seed):
        super().__init__(full, seed)
        # Faults take half of the time and more, and then hardly anybody is answered.
        self.rate, self.users = (1_500, 120) if full else (300, 40)

    def trouble(self):
        made = [kind(self.servers, self.load, self.dice) for kind in nemesis.ALL]
        end = time.time() + (600 if self.full else 20)
        while time.time() < end:
            self.dice.choice(made).strike()
            self.load.goes_on(self.dice.uniform(0, 1.5))
        struck = {one.name: len(one.struck) for one in made if one.struck}
        self.figures.append(", ".join(f"{count} × {name}" for name, count in struck.items()))

    def judge(self):
        super().judge()
        if self.full and self.answered / self.seconds < self.LEAST:
            self.slow.append(f"{self.answered / self.seconds:.0f} requests a second answered, "
                             f"{self.LEAST} wanted")


TICKS = """
every("1s", "tick", function() kv.incr("ticks", 1) end)
timer("once", function(data) kv.incr("rang", 1) end)
on.invite(function(call)
  if call.extended_data and call.extended_data.tell then
    return reject("busy", { extended_data = {
      ticks = kv.incr("ticks", 0), rang = kv.incr("rang", 0) } })
  end
  later("4s", "once", {})
  return reject "busy"
end)
"""


class Deadlines(Group):
    """Deadlines once, never early, soon; in peace and over takeovers. Named timers too."""

    name = "deadlines"
    peace_ms = 100
    config = 'answer_for = { "clock" }\nplugins = { "clock" }\n'
    plugins = {"clock": TICKS}

    def play(self):
        self.begun = time.time()
        users = self.load.users
        self.load.do(self.load.come(users))
        self.load.do(self.ring(range(1_000, 3_000)))
        self.over()
        takeovers = 20 if self.full else 1
        kill = nemesis.KillOwner(self.servers, self.load, self.dice)
        begun, since = self.ask_clock(), time.time()
        timers = 0
        for _ in range(takeovers):
            self.load.do(self.ring(range(1_000, 6_000)))
            for user in users[:10]:
                user_asks(self.load, user, "call.invite", {"invitees": ["clock"], "mode": "common"})
            timers += 10
            self.load.do(self.load.settle())
            kill.strike()
            self.over()
        wait_for("all timers rang", lambda: self.ask_clock()["rang"] >= timers, pause=0.2)
        told = self.ask_clock()
        self.expect(told["rang"] == timers, f"{told['rang']} timers rang, of {timers}")
        self.figures.append(f"{takeovers} takeovers: {told['rang']} of {timers} named timers, "
                            f"{told['ticks'] - begun['ticks']} ticks in "
                            f"{time.time() - since:.1f} s, one each second")
        self.expect(told["ticks"] - begun["ticks"] <= time.time() - since + 1, "a tick came twice")
        self.seconds = time.time() - self.begun

    async def ring(self, times):
        """Everybody calls somebody who does not answer."""
        for at, user in enumerate(self.load.users):
            for number in range(3):
                user.ask("call.invite", {
                    "invitees": [f"nobody-{at}-{number}"], "mode": "common",
                    "timeout_ms": self.dice.choice(times),
                    "extended_data": f"{user.name} {user.keys} rings"})
        await self.load.settle()

    def over(self):
        wait_for("all calls time out", lambda: not list(self.servers.living()), pause=0.2)

    def ask_clock(self):
        """What the plugin has counted: told by how it rejects."""
        caller = self.load.users[0]
        asked = user_asks(self.load, caller, "call.invite", {
            "invitees": ["clock"], "mode": "common",
            "extended_data": json.dumps({"tell": True, "n": caller.keys})})
        self.load.do(self.load.settle())
        call = answer_to(self.history, asked.key)["call_id"]
        said = self.servers.owner().get(f"/v1/call/{call}", caller.name).body["call"]
        return json.loads(next(one["extended_data"] for one in said["participants"]
                               if one["user"] == "clock"))


def user_asks(load, user, op, data):
    """A request by another thread than that of the load."""
    async def ask():
        return user.ask(op, data)
    return load.do(ask())


def answer_to(history, key):
    numbers = {one["n"] for one in history.of("ask") if one["key"] == key}
    return next(body["ok"] for one in history.of("reply") if one["n"] in numbers
                and "ok" in (body := parsed(one["body"])))


class Race(Group):
    """Two at two nodes do the same thing at once; one key comes to three nodes at once."""

    name = "race"

    def play(self):
        self.begun = time.time()
        self.load.users = []
        count, rounds = (10, 1_000) if self.full else (10, 20)
        sets = [self.players(number) for number in range(count)]
        self.load.users = [user for players in sets for user in players]
        self.load.do(self.load.come(self.load.users))

        async def all_rounds():
            await asyncio.gather(*[self.rounds(*players, rounds) for players in sets])

        self.load.do(all_rounds(), patience=3_600)
        self.seconds = time.time() - self.begun
        self.figures.append(f"{count * rounds} × two accept, {count * rounds // 10} × glare, "
                            f"{count * rounds // 10} × one key at three nodes")

    def players(self, number):
        """A caller, and the two devices of a callee, each at a node of its own."""
        homes = self.dice.sample(self.servers.nodes, 3)
        return (User(self.load, f"c{number}", self.seed, home=homes[0]),
                User(self.load, f"d{number}", self.seed, "left", homes[1]),
                User(self.load, f"d{number}", self.seed, "right", homes[2]))

    async def rounds(self, caller, left, right, count):
        for number in range(count):
            await self.accept(caller, left, right, number)
            if number % 10 == 0:
                await self.glare(caller, left, right, number)
                await self.one_key(caller, left, number)

    async def accept(self, caller, left, right, number):
        caller.ask("call.invite", {"invitees": [left.name], "mode": "common",
                                   "extended_data": f"{caller.name} {number} rings"})
        await self.load.until("it rings at both", lambda: left.live and right.live)
        call = next(iter(left.live))
        left.ask("call.accept", {"call_id": call})
        right.ask("call.accept", {"call_id": call})
        await self.quiet(caller, left, right)

    async def glare(self, caller, left, right, number):
        for one, other in ((caller, left), (left, caller)):
            one.ask("call.invite", {
                "invitees": [other.name], "mode": "managed",
                "extended_data": f"glare {caller.name} {number} {one.name}"})
        await self.load.settle(users=[caller, left, right])
        for user in (caller, left):
            for call in list(user.live):
                user.ask("call.cancel", {"call_id": call})
                user.ask("call.end", {"call_id": call})
        await self.quiet(caller, left, right)

    async def one_key(self, caller, left, number):
        data = {"invitees": [left.name], "mode": "common",
                "extended_data": f"{caller.name} {number} three times"}
        asked = caller.prepare("call.invite", data)
        await asyncio.gather(*[
            caller.send_over_http(asked, node) for node in self.servers.nodes])
        for call in list(caller.live):
            caller.ask("call.cancel", {"call_id": call})
        await self.load.settle(users=[caller])

    async def quiet(self, *users):
        await self.load.settle(users=users)
        await self.load.until("all calls are over", lambda: not any(one.live for one in users))


GROUPS = {group.name: group for group in (
    Kill, Stop, Commit, Hole, Restart, Promotion, HandOver, Mixed, Everything, Deadlines, Race,
    Scale, Million, NoFence)}
