"""Where an attack happens: a server on one core, the witness and the attackers on the other."""

import contextlib
import json
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import measure
from agent import Agent, free_port, wait_for
from device import Device
from measure import SETTLES_WITHIN, Run
from metronome import Metronome, without
from raw import RawSocket
from registry import HERE
from test_admission import KEYS, token
from test_tls import certify

LOW = 19  # the attackers' priority
LOOKS_EVERY = 0.05  # seconds between two looks at the server's memory
CALM = 0.2  # seconds of the witness that must be as quiet as before
GONE_WITHIN = 5  # seconds that attackers have to leave

fork = multiprocessing.get_context("fork")


def cores():
    """The core of the server, and the one of everybody else; the same one if there is only one."""
    there = sorted(os.sched_getaffinity(0))
    return there[0], there[-1]


SERVER_CORE, OTHER_CORE = cores()


def temporary_folder():
    """In memory where that can be: what a disk takes is no matter of an attack."""
    memory = pathlib.Path("/dev/shm")
    usable = memory.is_dir() and os.access(memory, os.W_OK)
    return pathlib.Path(tempfile.mkdtemp(prefix="callagent-", dir=memory if usable else None))


class Outsider:
    """The process of the witness, and the beat that tells whether the machine was there."""

    def __init__(self):
        self.metronome = Metronome((SERVER_CORE, OTHER_CORE))
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "witness.py")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)

    def do(self, what, **fields):
        self.process.stdin.write(json.dumps({"do": what} | fields) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the witness has ended"
        return json.loads(answer)

    def phase(self, bears=False):
        """A phase begins; returns the figures of the one before."""
        return measure.figures(self.do("phase", bears=bears), self.metronome.stalls())

    def took(self, since):
        """How long it is since then, in milliseconds, while the machine was there."""
        return without(self.metronome.stalls(), since, time.monotonic()) * 1_000

    def stood_still(self, since):
        """How long the machine was not there, in milliseconds."""
        return (time.monotonic() - since) * 1_000 - self.took(since)

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.metronome.close()


class Scene:
    """What an attack sees: the server, its own time, and short ways to do harm."""

    def __init__(self, entry, folder, full, outsider):
        self.entry, self.folder, self.full, self.outsider = entry, folder, full, outsider
        self.quiet, self.notes = {}, []  # the witness before; figures of the attack's own
        self.seconds = entry.attack.seconds[1 if full else 0]
        self.ends_at = 0
        self.number = 0  # of this attacker among its kind
        self.blows = fork.Value("q", 0, lock=False)  # rounds of the attack
        self.asked = fork.Value("b", False, lock=False)  # something that is answered
        self.taken = fork.Value("q", 0, lock=False)  # requests that were not refused, about
        attack = entry.attack
        # What a file of an attack cannot know beforehand, such as a port, stands as @NAME@ in it.
        self.words = {
            "FOLDER": str(folder), "PORT": str(free_port()), "CONSOLE": str(free_port())}
        accounts = ", ".join(f'"{one}"' for one in ("witness", "desk", *attack.answer_for))
        names = ", ".join(f'"{one}"' for one in (*attack.plugins, "house"))
        self.base = KEYS + f"answer_for = {{ {accounts} }}\nplugins = {{ {names} }}\n"
        if attack.tls:
            self.base += 'tls = { cert = "server.crt", key = "server.key" }\n'
        self.plugins = attack.plugins | {"house": attack.house}
        self.agent = Agent(folder)
        self.agents = [self.agent]  # all servers: an attack on a cluster has more
        self.door = self.agent  # where the witness and the attackers connect
        self.write()
        if attack.tls:
            certify(folder)

    def write(self):
        """Writes the operator's file and the plugins, with the words that are known by now."""
        self.agent.configure(self.base + self.fill(self.entry.attack.config),
                             {name: self.fill(text) for name, text in self.plugins.items()})

    def fill(self, text):
        for word, value in self.words.items():
            text = text.replace(f"@{word}@", value)
        return text

    def await_start(self, agent):
        """Waits until a server that was launched serves its clients."""
        def serves():
            assert agent.process.poll() is None, f"ended with {agent.process.poll()}"
            with contextlib.suppress(OSError):
                return agent.metrics().get("callagent_ready")
        wait_for("a start", serves)

    @property
    def port(self):
        return self.door.port

    @property
    def pid(self):
        return self.agent.process.pid

    def goes_on(self):
        return time.monotonic() < self.ends_at

    def rest(self, seconds):
        """Waits, but not beyond the end."""
        time.sleep(max(0, min(seconds, self.ends_at - time.monotonic())))

    def each_while(self, seconds=0.0):
        """Goes on until the end, with so long a pause between two rounds."""
        while self.goes_on():
            yield self.blows.value
            self.blows.value += 1
            self.rest(seconds)

    # The attackers' ways in

    def token(self, user, **claims):
        return token(sub=user, expires_in=3_600, **claims)

    def bearer(self, user):
        return {"Authorization": f"Bearer {self.token(user)}"}

    def raw(self, **options):
        return RawSocket(self.port, **options)

    def enter(self, user, device="phone", **options):
        """A bare socket that has said hello."""
        raw = RawSocket(self.port, **options).upgrade()
        raw.send_json({"id": 0, "op": "hello",
                       "data": {"token": self.token(user), "device": device}})
        assert "ok" in raw.message()
        return raw

    def device(self, user, device="phone"):
        return Device(self.door.url, user, device, token=self.token(user))

    # The operator

    def configure(self, more=""):
        """Writes the operator's file anew, with something added."""
        self.agent.configure(self.base + self.fill(self.entry.attack.config) + more)

    def reload(self):
        return self.agent.tool("reload")


@contextlib.contextmanager
def on_core(core):
    """What is begun meanwhile stays on this core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def play_attacker(scene, number, attack):
    """The whole life of an attacker's process."""
    os.sched_setaffinity(0, {OTHER_CORE})
    os.nice(LOW)
    scene.number = number
    try:
        while scene.goes_on():
            # Being thrown out, or not let in, is what an attacker has to expect: it comes again.
            with contextlib.suppress(OSError, AssertionError):
                attack(scene)
            scene.rest(0.01)
    except Exception as error:  # the attack itself is wrong
        (scene.folder / f"attacker-{number}").write_text(f"{type(error).__name__}: {error}")
    os._exit(0)


class Stage:
    """One run of one attack."""

    def __init__(self, entry, outsider, full):
        self.entry, self.outsider, self.full = entry, outsider, full
        self.folder = temporary_folder()
        self.scene = Scene(entry, self.folder, full, outsider)
        self.quiet_for = 3.0 if full else 0.35

    def run(self):
        scene, entry, begin = self.scene, self.entry, time.monotonic()
        try:
            self.begin()
            does_harm = entry.attack.kind == "machine"
            run = self.bear(entry.does("fault")) if does_harm else self.suffer(
                entry.does("attack"))
            run.stood_still = self.outsider.stood_still(begin)
            return run
        except AssertionError as error:
            logs = [f"--- log\n{agent.log_text()[-3_000:]}" for agent in scene.agents]
            raise AssertionError("\n".join([str(error), *logs])) from error
        finally:
            self.end()

    def begin(self):
        scene, prepare = self.scene, self.entry.does("prepare")
        dress = self.entry.does("dress")  # what must be there before the server starts
        if dress:
            dress(scene)
        with on_core(SERVER_CORE):
            self.launch()
        if prepare:
            prepare(scene)
        self.meet()
        self.outsider.phase()
        self.warm_up()
        self.outsider.phase()
        time.sleep(self.quiet_for)
        self.quiet = scene.quiet = self.outsider.phase()
        assert not measure.is_lost(self.quiet), f"lost without any attack: {self.quiet}"
        self.before = self.look()

    def launch(self):
        agent, launch = self.scene.agent, self.entry.does("launch")
        if launch:
            launch(self.scene)
        else:
            agent.launch()
        self.scene.await_start(agent)

    def meet(self):
        tls = str(self.folder / "server.crt") if self.entry.attack.tls else None
        assert self.outsider.do("meet", port=self.scene.port, tls=tls)["met"], "nobody was let in"

    def warm_up(self):
        """The first rounds find everything cold."""
        self.outsider.do("rounds", count=3)

    def end(self):
        self.outsider.do("part")
        for agent in self.scene.agents:
            if agent.process and agent.process.poll() is None:
                agent.crash()
        finish = self.entry.does("finish")
        if finish:
            finish(self.scene)
        shutil.rmtree(self.folder, ignore_errors=True)

    # Attacks by accounts

    def suffer(self, attack):
        scene, least = self.scene, self.memory()
        hands = getattr(self.entry.module, "HANDS", 1)
        scene.ends_at = time.monotonic() + scene.seconds
        attackers = [fork.Process(target=play_attacker, args=(scene, number, attack))
                     for number in range(hands)]
        for one in attackers:
            one.start()
        most = least
        while scene.goes_on():
            time.sleep(LOOKS_EVERY)
            assert all(one.process.poll() is None for one in scene.agents), "the server has ended"
            most = list(map(max, most, self.memory()))
        meanwhile = self.outsider.phase()
        troubles = self.send_away(attackers)
        end = self.entry.does("end")
        if end:
            end(scene)
        run = Run(self.quiet, meanwhile, max(grown(least, most), grown(least, self.memory())))
        run.blows = scene.blows.value
        run.troubles += troubles
        return self.settle(run)

    def send_away(self, attackers):
        deadline = time.monotonic() + GONE_WITHIN
        for one in attackers:
            one.join(max(0, deadline - time.monotonic()))
            if one.is_alive():
                one.kill()
                one.join()
        troubles = [f"the attack is wrong: {path.read_text()}"
                    for path in sorted(self.folder.glob("attacker-*"))]
        if not self.scene.blows.value:
            return [*troubles, "the attack never began"]
        must_be = self.scene.asked.value and self.entry.attack.is_taken
        if must_be and not self.scene.taken.value:
            return [*troubles, "the server refused all of the attack: it shows nothing"]
        return troubles

    # Faults of the machine

    def bear(self, fault):
        scene, least = self.scene, self.memory()
        self.outsider.phase(bears=True)
        scene.ends_at = time.monotonic() + scene.seconds
        fault(scene)
        scene.rest(scene.seconds)
        run = self.settle(Run(self.quiet, {}), bears=True)
        run.grown, run.notes = grown(least, self.memory()), scene.notes
        found = self.outsider.do("recall")
        if not found["asked"]:
            run.troubles.append("nothing was acknowledged")
        if found["missing"]:
            run.troubles.append(f"acknowledged and not there: {len(found['missing'])} of "
                                f"{found['asked']} calls")
        return run

    # Afterwards

    def memory(self):
        """Of each server, in bytes."""
        return [measure.memory(agent.process.pid) for agent in self.scene.agents]

    def look(self):
        """What must be again as it was, of each server."""
        return [look_at(agent) for agent in self.scene.agents]

    def is_as_before(self):
        return all(map(is_as_then, self.look(), self.before))

    def settle(self, run, bears=False):
        """Waits until all is as before: what is open on the server, and what the witness sees."""
        begin, gathered = time.monotonic(), []
        while not gathered or (
                run.settled_after is None and time.monotonic() - begin < SETTLES_WITHIN):
            since = time.monotonic() - begin
            if not bears:
                self.outsider.phase()
            time.sleep(CALM)
            figures = self.outsider.phase(bears)
            gathered.append(figures)
            calm = (figures["rounds"] > 0 and not measure.is_lost(figures)
                    and figures["most"] <= measure.bound(self.quiet))
            if calm and self.is_as_before():
                run.settled_after = since
        if bears:
            run.meanwhile = combine(gathered)
        if run.settled_after is None:
            run.troubles.append(f"before {self.before}, now {self.look()}, the witness "
                                f"{gathered[-1]}")
        holds = self.entry.does("holds")
        if holds:
            try:
                holds(self.scene)
            except AssertionError as error:
                run.troubles.append(str(error).splitlines()[0])
        return run


def grown(least, most):
    """The bytes that a server has grown by; of several servers the one that grew most."""
    return max(after - before for before, after in zip(least, most))


def look_at(agent):
    pid = agent.process.pid
    seen = {"descriptors": measure.descriptors(pid), "threads": measure.threads(pid)}
    with contextlib.suppress(OSError, AssertionError):
        figures = agent.metrics()
        for name in ("connections", "policy_backlog"):
            seen[name] = figures.get(f"callagent_{name}", 0)
    return seen


def is_as_then(now, then):
    if set(now) != set(then):
        return False
    return (now["descriptors"] <= then["descriptors"] + measure.SPARE_DESCRIPTORS
            and all(now[name] <= then[name] for name in now if name != "descriptors"))


def combine(parts):
    """Figures of several phases as those of one."""
    whole = max(parts, key=lambda part: part["most"]) | {"lost": {}, "refusals": {}}
    for part in parts:
        for kind in ("lost", "refusals"):
            for name, count in part[kind].items():
                whole[kind][name] = whole[kind].get(name, 0) + count
    return whole
