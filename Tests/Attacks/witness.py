"""A quiet account that is called, calls and is asked about, and notes how long all of it takes.

It is a process of its own that takes commands on its input, one JSON object a line, and answers
each with one line:

    {"do": "meet", "port": 7600, "tls": null}   connects the witness and a friend
    {"do": "phase", "bears": false}             a phase begins: what happened in the one before
    {"do": "rounds", "count": 3}                waits until so many rounds have begun and ended
    {"do": "recall"}                            whether what was acknowledged is there
    {"do": "part"}                              disconnects both

A round begins every 50 ms, whether the one before has ended or not: what waits is seen as late.
"""

import asyncio
import gc
import json
import ssl
import sys

from crowd import UPGRADE
from metronome import PRIORITY, run_first
from raw import CLOSE, PING, PONG, TEXT, frame
from test_admission import token

EVERY = 0.05  # seconds between two rounds
LOST_AFTER = 5  # seconds
AFTER_THE_BEAT = PRIORITY // 2
WITNESS, FRIEND, DESK = "witness", "friend", "desk"
RECALLED = 100  # the last acknowledged calls of each that are looked for
# What a round begins with, by the first letter of its requests: an invitation reaches the witness
# after the plugin was asked, one of the witness is answered, one is rejected by the plugin.
PARTS = (("a", "called", FRIEND, WITNESS), ("b", "calls", WITNESS, FRIEND),
         ("d", "asked", WITNESS, DESK))
# What is noted of a request: of a rejection that it arrives, of a cancel that it is answered.
STEPS = {sign: step for sign, step, *_ in PARTS} | {"r": "answered", "c": "cancels"}


class Line(asyncio.Protocol):
    """One WebSocket connection: just enough of the protocol, and quick."""

    def __init__(self, user, heard, gone):
        self.user, self.heard, self.gone = user, heard, gone
        self.buffer, self.is_open, self.seq = b"", False, 0
        self.welcome = asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self.transport = transport
        transport.write(UPGRADE)
        data = {"token": token(sub=self.user, expires_in=3_600), "device": "phone"}
        self.send({"id": "hello", "op": "hello", "data": data})

    def send(self, message):
        self.transport.write(frame(TEXT, json.dumps(message).encode()))

    def data_received(self, data):
        self.buffer += data
        if not self.is_open:
            head, end, rest = self.buffer.partition(b"\r\n\r\n")
            if not end:
                return
            if b" 101 " not in head[:20]:
                self.transport.abort()
                return
            self.is_open, self.buffer = True, rest
        while self.take():
            pass

    def take(self):
        """Takes one frame, if it is there."""
        if len(self.buffer) < 2:
            return False
        opcode, size, at = self.buffer[0] & 0x0F, self.buffer[1], 2
        if size >= 126:
            at = 4 if size == 126 else 10
            size = int.from_bytes(self.buffer[2:at], "big")
        if len(self.buffer) < at + size:
            return False
        payload, self.buffer = self.buffer[at:at + size], self.buffer[at + size:]
        if opcode == TEXT:
            self.hear(json.loads(payload))
        elif opcode == PING:
            self.transport.write(frame(PONG, payload))
        elif opcode == CLOSE:
            self.transport.close()
        return True

    def hear(self, message):
        if message.get("re") == "hello":
            if not self.welcome.done():
                self.welcome.set_result("ok" in message)
            return
        if "seq" in message:
            self.seq = message["seq"]
        self.heard(self.user, message)

    def connection_lost(self, error):
        if not self.welcome.done():
            self.welcome.set_result(False)
        self.gone(self)


class Phase:
    """What happened in one span of time."""

    def __init__(self, bears):
        self.bears = bears  # a fault may be met: refusals and lost connections are part of it
        self.steps = []  # begin, end and name of each
        self.lost, self.refusals, self.rounds, self.skipped = {}, {}, 0, 0
        self.open = {}  # number → the steps that are still to come, and when each was begun

    def expect(self, number, step, now):
        self.open.setdefault(number, {})[step] = now

    def note(self, number, step, now):
        steps = self.open.get(number)
        if steps is None or step not in steps:
            return
        self.steps.append((steps.pop(step), now, step))
        if not steps:
            del self.open[number]

    def refused(self, number, step, code):
        self.count_refusal(code)
        steps = self.open.get(number, {})
        steps.pop(step, None)
        if not steps:
            self.open.pop(number, None)

    def count_refusal(self, code):
        self.refusals[code] = self.refusals.get(code, 0) + 1

    def summary(self):
        for steps in self.open.values():
            for step in steps:
                self.lost[step] = self.lost.get(step, 0) + 1
        return {"rounds": self.rounds, "skipped": self.skipped, "lost": self.lost,
                "refusals": self.refusals, "steps": self.steps}


class Witness:
    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.lines, self.acknowledged, self.found = {}, {}, {}
        self.phases, self.watched = {}, {}  # phases by number, and by call what it is to end
        self.number, self.phase, self.ticking, self.where = 0, Phase(False), None, None

    # Commands

    async def meet(self, port, tls=None):
        self.where = port, tls
        self.phases, self.watched, self.acknowledged = {}, {}, {}
        self.phase = Phase(False)
        there = await self.connect()
        self.ticking = self.loop.create_task(self.tick())
        return {"met": there}

    async def connect(self):
        for user in (WITNESS, FRIEND):
            if user in self.lines:
                continue
            port, tls = self.where
            context = ssl.create_default_context(cafile=tls) if tls else None
            name = {"server_hostname": "127.0.0.1"} if tls else {}
            try:
                _, line = await asyncio.wait_for(self.loop.create_connection(
                    lambda user=user: Line(user, self.heard, self.gone), "127.0.0.1", port,
                    ssl=context, **name), LOST_AFTER)
                if not await asyncio.wait_for(line.welcome, LOST_AFTER):
                    return False
            except (OSError, asyncio.TimeoutError):
                return False
            self.lines[user] = line
        return True

    async def change_phase(self, bears=False):
        before, self.phase = self.phase, Phase(bears)
        deadline = self.loop.time() + LOST_AFTER
        while before.open and self.loop.time() < deadline:
            await asyncio.sleep(0.01)
        self.phases = {number: phase for number, phase in self.phases.items()
                       if phase is not before}
        return before.summary()

    async def go_round(self, count):
        last, deadline = self.number + count, self.loop.time() + LOST_AFTER
        while self.loop.time() < deadline and (
                self.number <= last or any(number <= last for number in self.phase.open)):
            await asyncio.sleep(0.005)
        return {"number": self.number}

    async def recall(self):
        """Asks for every call that was acknowledged; returns those that are not there."""
        asked = {}
        for user in (WITNESS, FRIEND):
            mine = [one for one, owner in self.acknowledged.items() if owner == user]
            for call in mine[-RECALLED:]:
                asked[call] = self.loop.create_future()
        self.found = asked
        for call in asked:
            if (line := self.lines.get(self.acknowledged[call])) is None:
                return {"asked": len(asked), "missing": ["no connection"]}
            line.send({"id": f"g {call}", "op": "call.get", "data": {"call_id": call}})
            await asyncio.sleep(0.012)  # under the requests that a user has in a second
        if asked:
            await asyncio.wait(asked.values(), timeout=LOST_AFTER)
        missing = [call for call, answer in asked.items()
                   if not answer.done() or answer.result() != "ok"]
        return {"asked": len(asked), "missing": missing}

    async def part(self):
        if self.ticking:
            self.ticking.cancel()
        self.ticking = None
        for line in list(self.lines.values()):
            line.transport.abort()
        self.lines = {}
        return {"parted": True}

    # Rounds

    async def tick(self):
        due = self.loop.time()
        while True:
            if len(self.lines) == 2 or await self.connect():
                self.number += 1
                self.phases[self.number] = self.phase
                self.phase.rounds += 1
                for line in self.lines.values():
                    line.send({"ack": line.seq})
                for sign, step, caller, callee in PARTS:
                    self.invite(sign, step, caller, callee)
                    await asyncio.sleep(EVERY / len(PARTS))
            else:
                self.phase.skipped += 1
                await asyncio.sleep(0.1)
            due = max(due + EVERY, self.loop.time() - EVERY)
            await asyncio.sleep(max(0, due - self.loop.time()))

    def invite(self, sign, step, caller, callee):
        number, line = self.number, self.lines.get(caller)
        if line is None:
            return
        self.expect(number, step)
        line.send({"id": f"{sign}{number}", "op": "call.invite", "data": {
            "invitees": [callee], "mode": "common", "extended_data": f'{{"round":{number}}}'}})

    def act(self, user, sign, number, op, call):
        """The next step of a round: what the call that was made leads to."""
        if user in self.lines:
            self.expect(number, STEPS[sign])
            self.lines[user].send({"id": f"{sign}{number}", "op": op, "data": {"call_id": call}})

    def expect(self, number, step):
        if number in self.phases:
            self.phases[number].expect(number, step, self.loop.time())

    def note(self, number, step):
        if number in self.phases:
            self.phases[number].note(number, step, self.loop.time())

    def heard(self, user, message):
        if "event" in message:
            self.see(user, message["event"], message["data"])
        elif "re" in message:
            self.take_reply(user, message)

    def see(self, user, event, data):
        call = data["call_id"]
        if event == "call.incoming" and user == WITNESS and data["inviter"] == FRIEND:
            number = json.loads(data["call"]["extended_data"])["round"]
            self.note(number, "called")
            self.watched[call] = number, "answered"
            self.act(WITNESS, "r", number, "call.reject", call)
        elif event == "call.ended" and call in self.watched:
            self.note(*self.watched.pop(call))

    def take_reply(self, user, message):
        sign, rest = message["re"][0], message["re"][1:]
        if sign == "g":
            answer = self.found.get(rest.strip())
            if answer and not answer.done():
                answer.set_result(message.get("error", {}).get("code", "ok"))
            return
        number = int(rest)
        if "error" in message:
            if number in self.phases:
                self.phases[number].refused(number, STEPS[sign], message["error"]["code"])
            return
        call = message["ok"].get("call_id")
        if call:
            self.acknowledged[call] = user
        if sign == "b":
            self.note(number, "calls")
            self.act(user, "c", number, "call.cancel", call)
        elif sign == "c":
            self.note(number, "cancels")
        elif sign == "d":
            self.watched[call] = number, "asked"

    def gone(self, line):
        """A connection was lost: what it waited for will not come."""
        if self.lines.get(line.user) is not line:
            return
        del self.lines[line.user]
        self.phase.count_refusal("closed")
        if self.phase.bears:
            self.phase.open.clear()


async def main():
    gc.disable()  # it would be seen as a late answer
    run_first(AFTER_THE_BEAT)  # the attackers run on its core
    witness = Witness()
    reader = asyncio.StreamReader()
    await witness.loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        command = json.loads(line)
        work = {"meet": witness.meet, "phase": witness.change_phase, "recall": witness.recall,
                "rounds": witness.go_round, "part": witness.part}[command.pop("do")]
        print(json.dumps(await work(**command)), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
