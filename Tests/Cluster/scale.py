"""The group with many live calls."""

import pathlib
import time

import nemesis
from agent import wait_for
from group import Group
from history import Forgetful, gaps
from load import Load


class Scale(Group):
    """Many live calls: from the takeover to the first answer, and all of them are there."""

    name = "scale"
    RINGERS, RINGING = 20, 100
    CALLS = 200_000  # of the whole length
    answer_in, gap = 3, 6  # seconds: from the takeover, and from the kill, to the first answer

    def __init__(self, full, seed):
        super().__init__(full, seed)
        self.many = self.CALLS if full else 4_000
        self.ring_times = range(15_000, 60_000) if full else range(5_000, 15_000)

    def play(self):
        # What these are told is more than a checker can hold.
        self.crowd = Load(self.servers.nodes, Forgetful(), self.seed, 0, 1)
        try:
            begun = time.time()
            self.calls = self.crowd.do(self.crowd.keep(self.many), patience=600 + self.many / 200)
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
        self.in_time(
            max(answers, default=0), self.answer_in, "from the takeover to the first answer")
        self.tell_gaps("kill", faults, most=self.gap)
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
        """All calls are there, and whoever comes again is shown their own."""
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


class Million(Scale):
    """The same with as many calls as a node is to carry, loaded page by page."""

    name = "million"
    CALLS = 1_000_000
    answer_in, gap = 5, 9
