"""Three nodes with their database, and what they say of all calls in the end."""

import os
import pathlib
import shutil
import subprocess
import time

from agent import Agent, free_port, wait_for
from cluster import SECRET, Database, answers, owns, shown, tool
from tap import Tap
from way import Way

LIMITS = """limits = { keys_per_user = 1000000, keys = 10000000, calls_per_user = 0,
  connections_per_address = 100000 }
"""
# The moment of each commit, so that it can be seen who wrote after whom.
SETTINGS = ("track_commit_timestamp=on", "max_wal_size=4GB")
# When a takeover was committed: its row of `term` is written again later.
WATCH = """
CREATE TABLE begun (epoch bigint);
CREATE FUNCTION note_term() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO callagent.begun VALUES (NEW.epoch); RETURN NEW; END $$;
CREATE TRIGGER note_term AFTER INSERT ON term FOR EACH ROW EXECUTE FUNCTION note_term();
INSERT INTO begun SELECT epoch FROM term;
"""


class Pair:
    """A PostgreSQL with a standby that has every commit. After a promotion they change places."""

    def __init__(self):
        self.first = Database("wal_keep_size=1GB", *SETTINGS)
        self.folder = self.first.folder
        self.ports = [self.first.port, free_port()]
        self.data = [f"{self.folder}/data", f"{self.folder}/second"]
        self.place = 0  # of the primary
        self.address = (f"host=127.0.0.1,127.0.0.1 port={self.ports[0]},{self.ports[1]} "
                        f"user=callagent dbname=postgres password={SECRET}")
        self.add_standby()

    @property
    def port(self):
        return self.ports[self.place]

    def program(self, name, *words, check=True):
        binary = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))[-1]
        as_owner = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        subprocess.run([*as_owner, str(binary), *words], check=check, cwd="/",
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def control(self, *words):
        """pg_ctl for the primary."""
        self.control_at(self.place, *words)

    def control_at(self, place, *words, check=True):
        self.program("pg_ctl", "-D", self.data[place], "-w", "-t", "60",
                     "-l", f"{self.data[place]}.log", *words, check=check)

    def run(self, sql):
        return subprocess.run(
            ["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p",
             str(self.port), "-U", "callagent", "postgres"],
            input="SET search_path = callagent;\n" + sql, stdout=subprocess.PIPE, text=True,
            check=True, timeout=300).stdout.strip()

    def add_standby(self):
        """A copy of the primary that follows it; commits wait for it from now on."""
        other = 1 - self.place
        shutil.rmtree(self.data[other], ignore_errors=True)
        self.program("pg_basebackup", "-h", "127.0.0.1", "-p", str(self.port), "-U",
                     "callagent", "-D", self.data[other], "-R", "-c", "fast", "-X", "stream", "-d",
                     "application_name=other")
        with open(f"{self.data[other]}/postgresql.conf", "a") as settings:
            settings.write(f"port = {self.ports[other]}\n")
        with open(f"{self.data[other]}/postgresql.auto.conf", "a") as settings:
            settings.write("synchronous_standby_names = ''\n")
        self.control_at(other, "start")
        self.run("ALTER SYSTEM SET synchronous_standby_names = 'other'")
        self.run("SELECT pg_reload_conf()")
        wait_for("a standby in step", lambda: self.run(
            "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1")

    def fail_over(self):
        """The primary dies, and its standby is promoted."""
        self.control("stop", "-m", "immediate")
        self.place = 1 - self.place
        self.control("promote")

    def close(self):
        self.control_at(1, "stop", "-m", "immediate", check=False)
        self.first.close()


class Servers:
    """Three nodes, linked, with a database of their own. `holes`: what may swallow what goes
    between a node and the database, and between others and a node. `older`: the executable of one
    of them."""

    def __init__(self, folder, holes=False, pair=False, config="", plugins=None, older=None):
        self.folder = folder
        self.database = Pair() if pair else Database(*SETTINGS)
        self.aside = set()  # old calls that are looked at by themselves
        self.ways = {}  # node → those to the database, those of others to it
        self.nodes = [self.make(name, holes, config, plugins) for name in "abc"]
        if older:
            self.nodes[1].environment["CALLAGENT"] = older
        code, said = tool(self.nodes[0], "init")
        assert code == 0, said
        self.database.run(WATCH)
        self.nodes[0].start()
        for node in self.nodes[1:]:
            node.launch()
        self.ready()
        wait_for("all are seen", lambda: sum(
            one["alive"] for one in shown(self.nodes[0])["nodes"]) == len(self.nodes))

    def make(self, name, holes, config, plugins):
        address, place = self.database.address, free_port()
        link = f'link = "127.0.0.1:{place}"'
        if holes:
            to_database, to_node = self.ways[name] = Tap(self.database.port), Way(place)
            address = (f"host=127.0.0.1 port={to_database.port} user=callagent dbname=postgres "
                       f"password={SECRET}")
            link = f'link = "127.0.0.1:{to_node.port}", bind = "127.0.0.1:{place}"'
        table = (f'cluster = {{ database = secret "env:CALLAGENT_DATABASE", node = "{name}", '
                 f'{link} }}')
        return Agent(self.folder / name, table + "\n" + LIMITS + config, plugins,
                     environment={"CALLAGENT_DATABASE": address})

    def ready(self, nodes=None, patience=60):
        for node in nodes or self.nodes:
            code = node.process.poll()
            assert code is None, f"{node.folder.name} ended with {code}: {node.log_text()[-2000:]}"
            wait_for(f"{node.folder.name} serves", lambda one=node: answers(one), patience)

    def owner(self):
        return wait_for("somebody owns", lambda: next(filter(owns, self.alive()), None))

    def alive(self):
        return [node for node in self.nodes if node.process.poll() is None]

    def fronts(self):
        owner = self.owner()
        return [node for node in self.nodes if node is not owner]

    def swallow(self, node, which, swallows):
        """What goes between a node and the database (0), or comes from others to it (1)."""
        self.ways[node.folder.name][which].swallows = swallows

    def fail_over(self):
        """The standby becomes the primary. A way leads to the primary, as an address does that
        moves with it; without ways the nodes know both addresses."""
        self.database.fail_over()
        for way, _ in self.ways.values():
            way.target = self.database.port
            way.cut()

    def epoch(self):
        return int(self.database.run("SELECT max(epoch) FROM term;"))

    # In the end

    def truth(self, names, peace_ms, takeover_ms):
        """What the servers and the tables say, for the checker."""
        calls, views = {}, []
        for place, name in enumerate(names):
            for call in self.listed(name, self.nodes[place % len(self.nodes)]):
                if calls.setdefault(call["call_id"], call) != call:
                    views.append(call)
        for place, name in enumerate(list(calls)[::max(1, len(calls) // 60)]):
            node = self.nodes[place % len(self.nodes)]
            reply = node.get(f"/v1/call/{name}", calls[name]["caller"])
            assert reply.status == 200, reply.text
            views.append(reply.body["call"])
        return {"calls": calls, "views": views,
                "operator": [one["call_id"] for one in self.living()],
                "at": time.time() * 1_000, "peace_ms": peace_ms, "takeover_ms": takeover_ms,
                } | self.rows()

    @staticmethod
    def listed(user, node):
        """All calls of a user, page by page."""
        data = {"limit": 100}
        while True:
            reply = node.post("call.list", user, data)
            assert reply.status == 200, reply.text
            yield from reply.body["calls"]
            if reply.body["cursor"] is None:
                return
            data["cursor"] = reply.body["cursor"]

    def living(self):
        """The calls that live, as an operator is shown them at a front end, the newest first."""
        node, path, found = self.fronts()[0], "/admin/v1/calls?limit=100", []
        while True:
            reply = node.admin("GET", path + (f"&cursor={found[0]}" if found else ""))
            assert reply.status == 200, reply.text
            items = [one for one in reply.body["items"] if one["call_id"] not in self.aside]
            yield from items
            if reply.body["items"] and not items:
                return
            found = [reply.body["cursor"]]
            if found[0] is None:
                return

    def rows(self):
        """The rows of calls with the epoch and the moment of their commit."""
        found = {}
        for key, table in (("live", "live_call"), ("ended", "ended_call")):
            text = self.database.run(
                f"SELECT encode(id, 'hex'), epoch, "
                f"extract(epoch FROM pg_xact_commit_timestamp(xmin)) FROM {table};")
            found[key] = {name: (int(epoch), float(at) if at else None) for name, epoch, at in (
                line.split("|") for line in text.splitlines()) if name not in self.aside}
        text = self.database.run("SELECT epoch, extract(epoch FROM pg_xact_commit_timestamp(xmin)) "
                                 "FROM begun;")
        found["terms"] = {int(epoch): float(at) if at else None for epoch, at in (
            line.split("|") for line in text.splitlines())}
        return found

    def close(self):
        """Ends all of it; the owner last, or another one would begin to own just then."""
        hang = []
        for node in sorted(self.alive(), key=owns):
            try:
                node.stop()
            except subprocess.TimeoutExpired:
                node.crash()
                hang.append(node.folder.name)
        for ways in self.ways.values():
            for way in ways:
                way.close()
        self.database.close()
        assert not hang, f"did not end when they were told to: {hang}"
