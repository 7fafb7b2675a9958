"""The groups of checks on a cluster. Each gives its figures and what was not as it should be."""

import asyncio
import contextlib
import json
import os
import pathlib
import random
import statistics
import tempfile
import time
import traceback

import checker
import nemesis
from agent import wait_for
from cluster import shown
from history import Forgetful, History, gaps, longest_silence, parsed
from load import Load, User
from servers import Servers


BEFORE = "CALLAGENT_BEFORE"  # names the executable of the version before


class Group:
    """A cluster with a load on it, for the length of one group."""

    name = None
    holes = pair = False
    rate, users, kept = 300, 40, 0
    config, plugins, older = "", None, None
    peace_ms, takeover_ms = 1_000, 5_500  # how late a deadline may be
    keeps = True  # what is needed to look into what is wrong

    def __init__(self, full, seed):
        self.full, self.seed = full, seed
        self.dice = random.Random(f"{seed} {self.name}")
        self.figures, self.wrong = [], []
        self.slow = []  # what took too long, which a busy machine may be the cause of

    def run(self):
        """Plays it; `figures`, `wrong` and `slow` tell how it went."""
        with contextlib.ExitStack() as ends:
            folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="callagent-cluster-"))
            self.servers = Servers(pathlib.Path(folder), self.holes, self.pair, self.config,
                                   self.plugins, self.older)
            ends.callback(self.servers.close)
            self.history = History()
            self.load = Load(
                self.servers.nodes, self.history, self.seed, self.users, self.rate)
            ends.callback(self.load.close)
            try:
                self.play()
                self.judge()
            except Exception:  # also what the rig itself does wrong
                self.wrong.append(traceback.format_exc(limit=-4))
            if self.wrong and self.keeps:
                self.keep_all(pathlib.Path(folder))

    def play(self):
        if self.kept:
            self.load.do(self.load.keep(self.kept))
        self.begun = time.time()
        self.load.start()
        self.trouble()
        self.load.rest()
        self.seconds = time.time() - self.begun

    def trouble(self):
        raise NotImplementedError

    def judge(self):
        """Ends what still rings, and holds all that was told against what is there."""
        for _ in range(5):
            living = [call for call in self.servers.living() if call["caller"][0] != "k"]
            if not living:
                break
            self.load.do(self.load.end(living))
        self.load.do(self.load.hear_all())
        names = [user.name for user in self.load.everybody]
        truth = self.servers.truth(
            sorted(set(names)), self.peace_ms, self.takeover_ms)
        violations = checker.check(self.history, truth)
        self.slow += [one.text for one in violations if one.rule == "late"][:5]
        violations = [one for one in violations if one.rule != "late"]
        self.violations = len(violations)
        self.wrong += [f"{one.rule}: {one.text[:600]}" for one in violations[:20]]
        living = sum(call["state"] == "active" for call in truth["calls"].values())
        self.expect(living == self.kept, f"{living} calls live on, of {self.kept}")
        story = checker.Story(self.history, truth)
        late = {False: [0], True: [0]}
        for _, due, much in checker.lateness(story, truth):
            late[checker.is_broken(story, due)].append(much)
        answered = sum(ok for ok in map(self.is_answer, self.history.of("reply")))
        rate = f" ({answered / self.seconds:.0f}/s)" if self.load.lives else ""
        self.figures += [
            f"{answered} requests answered{rate}", f"{len(truth['calls'])} calls",
            f"{len(self.history.of('event'))} events", f"epoch {max(truth['terms'])}",
            f"deadlines: {len(late[False]) - 1} in peace, worst {max(late[False])} ms late, "
            f"{len(late[True]) - 1} in faults, worst {max(late[True])} ms",
            f"{len(violations)} violations"]
        self.expect(not self.internal(), f"{self.internal()} answers were `internal`")

    @staticmethod
    def is_answer(record):
        return '"unavailable"' not in record["body"][:200]

    def internal(self):
        return sum('"internal"' in one["body"][:200] for one in self.history.of("reply"))

    def expect(self, holds, otherwise):
        if not holds:
            self.wrong.append(otherwise)

    def in_time(self, took, most, what):
        if took > most:
            self.slow.append(f"{what}: {took:.2f} s, {most} allowed")

    def strike(self, kind, times, seconds=()):
        """One nemesis again and again, with a little peace between."""
        made = kind(self.servers, self.load, self.dice)
        for number in range(times):
            time.sleep(self.dice.uniform(0.2, 1))
            fault = made.strike(seconds[number % len(seconds)] if seconds else None)
            since = fault.get("since", fault["t"])
            wait_for("an acknowledgement", lambda at=since: self.load.newest >= at)
        return made.struck

    def tell_gaps(self, what, faults, most, median=None):
        found = gaps(self.history, faults)
        self.expect(None not in found, f"{what}: nothing was acknowledged any more")
        found = [gap for gap in found if gap is not None]
        if not found:
            return
        middle, worst = statistics.median(found), max(found)
        self.figures.append(
            f"{len(found)} × {what}: gap median {middle:.2f} s, worst {worst:.2f} s")
        self.in_time(worst, most, f"{what}, longest gap")
        self.in_time(middle, median or most, f"{what}, median of the gaps")

    def keep_all(self, folder):
        """What is needed to look into it, for it is gone else."""
        place = pathlib.Path(tempfile.mkdtemp(prefix=f"cluster-{self.name}-"))
        self.history.save(place / "history.jsonl")
        for node in self.servers.nodes:
            (place / f"{node.folder.name}.log").write_text(node.log_text())
        self.wrong.append(f"kept in {place}")


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
        made = nemesis.StopInCommit(self.servers, self.load, self.dice)
        places = [*range(1, 11), None] if self.full else [1, 3]
        for statements in places * (3 if self.full else 1):
            time.sleep(self.dice.uniform(0.2, 1))
            fault = made.strike_after(statements)
            wait_for("an acknowledgement", lambda at=fault["since"]: self.load.newest >= at)
        self.tell_gaps("stop in a commit", made.struck, most=7)
        last = sorted({fault["held"][-1] for fault in made.struck})
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

    def trouble(self):
        faults = self.strike(nemesis.HandOver, 20 if self.full else 4)
        healed = [one["t"] for one in self.history.of("healed")]
        silences = [longest_silence(self.history, one["t"], end)
                    for one, end in zip(faults, healed)]
        middle, worst = statistics.median(silences), max(silences)
        self.figures.append(f"{len(faults)} × hand-over: gap median {middle * 1_000:.0f} ms, worst "
                            f"{worst * 1_000:.0f} ms")
        self.in_time(worst, 0.5, "hand-over, longest gap")


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
    takeover_ms = 20_000  # one fault begins when the one before is hardly over

    def __init__(self, full, seed):
        super().__init__(full, seed)
        self.rate, self.users = (700, 60) if full else (300, 40)

    def trouble(self):
        made = [kind(self.servers, self.load, self.dice) for kind in nemesis.ALL]
        end = time.time() + (600 if self.full else 20)
        while time.time() < end:
            self.dice.choice(made).strike()
            time.sleep(self.dice.uniform(0, 1.5))
        struck = {one.name: len(one.struck) for one in made if one.struck}
        self.figures.append(", ".join(f"{count} × {name}" for name, count in struck.items()))


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


class Scale(Group):
    """Many live calls: from the takeover to the first answer, and all of them are there."""

    name = "scale"
    RINGERS, RINGING = 20, 100

    def __init__(self, full, seed):
        super().__init__(full, seed)
        self.many = 200_000 if full else 4_000
        self.ring_times = range(15_000, 60_000) if full else range(5_000, 15_000)

    def play(self):
        # What these are told is more than a checker can hold.
        self.crowd = Load(self.servers.nodes, Forgetful(), self.seed, 0, 1)
        try:
            begun = time.time()
            self.calls = self.crowd.do(self.crowd.keep(self.many))
            self.figures.append(f"{self.many} calls placed in {time.time() - begun:.0f} s")
            self.servers.aside = {call for calls in self.calls.values() for call in calls}
            super().play()
        finally:
            self.crowd.close()

    def trouble(self):
        ringers = [caller for caller, _ in self.calls][:self.RINGERS]
        self.ring(ringers)
        # Those in these calls do not all come at once, as those of one machine do not. A call
        # rings as long as its caller is there.
        self.crowd.do(self.crowd.part(
            [user for user in self.crowd.keepers if user not in ringers]))
        faults = self.strike(nemesis.KillOwner, 3 if self.full else 1)
        moments = self.servers.rows()["terms"]
        answers = [since for fault, gap in zip(faults, gaps(self.history, faults))
                   if gap and (since := self.since_takeover(fault["t"] + gap, moments)) is not None]
        self.expect(len(answers) == len(faults), "nothing was acknowledged any more")
        self.figures.append(f"first answer {max(answers, default=0):.2f} s after the takeover at "
                            f"most; {self.memory()}")
        self.in_time(max(answers, default=0), 3, "from the takeover to the first answer")
        self.tell_gaps("kill", faults, most=6)
        self.tell_rung()
        self.tell_kept()

    @staticmethod
    def since_takeover(answer, moments):
        return min((answer - at for at in moments.values() if at <= answer), default=None)

    def memory(self):
        """Of the owner, now and when it was most."""
        status = pathlib.Path(f"/proc/{self.servers.owner().process.pid}/status").read_text()
        kilobytes = {name: int(rest.split()[0]) for name, _, rest in (
            line.partition(":") for line in status.splitlines()) if name in ("VmRSS", "VmHWM")}
        return (f"owner's memory {kilobytes['VmRSS'] / 1_024:.0f} MB, at most "
                f"{kilobytes['VmHWM'] / 1_024:.0f} MB")

    def ring(self, callers):
        """Some of many call somebody who does not answer, until after the takeovers."""
        async def invite():
            asked = [caller.ask("call.invite", {
                "invitees": [f"nobody-{caller.name}-{number}"], "mode": "common",
                "timeout_ms": self.dice.choice(self.ring_times)})
                for caller in callers for number in range(self.RINGING)]
            await self.crowd.settle()
            return asked

        self.due = {one.call: one.told["participants"][1]["deadline_at"]
                    for one in self.crowd.do(invite())}
        self.servers.aside |= set(self.due)

    def tell_rung(self):
        """All of these have rung out, in time, whoever owned then."""
        def ended():
            text = self.servers.database.run("SELECT encode(id, 'hex'), ended_at FROM ended_call;")
            return {name: int(at) for name, at in (
                line.split("|") for line in text.splitlines()) if name in self.due}

        wait_for("all that rang ends", lambda: len(ended()) == len(self.due), 120, pause=1)
        late = [at - self.due[name] for name, at in ended().items()]
        self.expect(min(late) >= 0, f"a call ended {-min(late)} ms before its time")
        self.figures.append(f"{len(late)} deadlines over takeovers, worst {max(late)} ms late")
        self.in_time(max(late) / 1_000, self.takeover_ms / 1_000, "a deadline")

    def tell_kept(self):
        """All calls are there, and whoever comes again is shown his own."""
        text = self.servers.database.run("SELECT encode(id, 'hex') FROM live_call;")
        lost = self.servers.aside - set(self.due) - set(text.splitlines())
        self.expect(not lost, f"{len(lost)} calls are lost, among them {list(lost)[:3]}")
        pairs = self.dice.sample(list(self.calls)[self.RINGERS:], 10)
        users = [user for pair in pairs for user in pair]
        for user in users:
            user.session = None
        self.crowd.do(self.crowd.come(users))
        for pair in pairs:
            own = set(self.calls[pair])
            for user in pair:
                node = self.dice.choice(self.servers.nodes)
                listed = [one["call_id"] for one in self.servers.listed(user.name, node)
                          if one["state"] == "active"]
                self.expect(sorted(listed) == sorted(own),
                            f"{user.name} is in {len(listed)} calls, of {len(own)}")
                shown = {one["call_id"] for one in user.shown}
                self.expect(shown and shown <= own, f"{user.name} is shown {len(shown)} calls, "
                            f"{len(shown - own)} of them of others")


GROUPS = {group.name: group for group in (
    Kill, Stop, Commit, Hole, Restart, Promotion, HandOver, Mixed, Everything, Deadlines, Race,
    Scale, NoFence)}
