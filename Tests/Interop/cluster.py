"""Several servers with one PostgreSQL: how tests make them, ask them and find who serves."""

import json
import os
import pathlib
import subprocess

from agent import free_port, wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECRET = "hush-hush"


class Database:
    """A PostgreSQL of the test's own, on loopback."""

    def __init__(self, *settings, **environment):
        self.port = free_port()
        self.process = subprocess.Popen(
            ["sh", str(ROOT / "Tests/Cluster/postgres.sh"), str(self.port), *settings],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | environment)
        line = self.process.stdout.readline()
        assert line, "PostgreSQL did not start"
        self.folder = line.split()[0].removeprefix("host=")
        self.address = (
            f"host=127.0.0.1 port={self.port} user=callagent dbname=postgres password={SECRET}")

    def session(self, user="callagent"):
        """psql, which takes statements from its input."""
        made = subprocess.Popen(
            ["psql", "-qAtX", "-h", "127.0.0.1", "-p", str(self.port), "-U", user, "postgres"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        made.stdin.write("SET search_path = callagent; SELECT 'here';\n")
        made.stdin.flush()
        line = made.stdout.readline()
        assert line == "here\n", line
        return made

    def control(self, *words):
        """pg_ctl: `restart`, `stop`, `start`, `promote`."""
        binary = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))[-1]
        as_owner = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        subprocess.run(
            [*as_owner, str(binary), "-D", f"{self.folder}/data", "-w",
             "-l", f"{self.folder}/server.log", *words],
            check=True, cwd="/", stdout=subprocess.DEVNULL)

    def run(self, sql):
        """What a statement gives."""
        text, _ = self.session().communicate(sql, timeout=60)
        return text.strip()

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def tool(node, *words):
    """`callagent cluster …` beside a node, with its environment."""
    done = subprocess.run(
        [os.environ["CALLAGENT"], "cluster", *words], cwd=node.folder, env=node.environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
        check=False)
    return done.returncode, done.stdout.decode()


def shown(node):
    return json.loads(tool(node, "--json")[1])


def see_each_other(node, count):
    """Whether there are so many nodes, each seen by all others."""
    nodes = shown(node)["nodes"]
    return len(nodes) == count and all(len(one["seen_by"]) == count - 1 for one in nodes)


def stands_by(node):
    try:
        reply = node.get("/readyz")
    except OSError:
        return False
    return reply.status == 503 and reply.text.startswith("standby")


def begin(nodes):
    """The first serves, the others stand by."""
    nodes[0].start()
    for node in nodes[1:]:
        node.launch()
    for node in nodes[1:]:
        wait_for("standing by", lambda one=node: stands_by(one))
    names = {node.folder.name for node in nodes}
    wait_for("all are seen", lambda: names <= {
        node["name"] for node in shown(nodes[0])["nodes"] if node["alive"]})


def serving(nodes):
    """The node that serves, once one does."""
    def ready():
        return [node for node in nodes if node.process.poll() is None and answers(node)]
    return wait_for("somebody serves", ready)[0]


def owns(node):
    """Whether it decides: else it has no socket for tools, or hands on what is asked there."""
    try:
        reply = node.admin("GET", "/admin/v1/status")
    except OSError:
        return False
    return reply.status == 200 and "X-Node" not in reply.headers


def answers(node):
    try:
        return node.get("/readyz").status == 200
    except OSError:
        return False
