"""The scene of attacks on a cluster: an owner, a front end that the witness is connected to, and
a database of their own."""

import dataclasses
import json
import shutil
import types

from agent import Agent, free_port, wait_for
from cluster import Database, see_each_other, tool
from link import RawLink
from registry import Attack
from stage import OTHER_CORE, SERVER_CORE, on_core

# One for all attacks: it ends with the process that began it.
databases = []


def cluster_attack(**more):
    """The declaration of an attack on two nodes, each with all the harm that its node can do."""
    return Attack(**({"rules": ("cluster 4",), "is_taken": False} | more))


def database():
    """A database without our tables."""
    if not databases:
        with on_core(OTHER_CORE):
            databases.append(Database())
    databases[0].run("DROP SCHEMA IF EXISTS callagent CASCADE;")
    return databases[0]


def table(name, link, more=""):
    return (f'cluster = {{ database = secret "env:CALLAGENT_DATABASE", node = "{name}", '
            f'link = "127.0.0.1:{link}"{more} }}\n')


def dress(scene, way=lambda port: port, more=lambda name: ""):
    """Two nodes, not started. `way` gives the port where the owner reaches the database, `more`
    what else the table of a node has."""
    made = database()
    address = made.address.replace(f"port={made.port}", f"port={way(made.port)}")
    scene.link, alone = free_port(), scene.base
    scene.front = Agent(scene.folder / "b", environment={"CALLAGENT_DATABASE": made.address})
    scene.front.configure(
        alone + scene.fill(scene.entry.attack.config) + table("b", free_port(), more("b")),
        scene.plugins)
    scene.agents.append(scene.front)
    for file in scene.folder.glob("*.*"):  # certificates and keys that the operator's file names
        if file.name != "callagent.lua":
            shutil.copy(file, scene.front.folder)
    scene.agent.environment["CALLAGENT_DATABASE"] = address
    scene.base = alone + table("a", scene.link, more("a"))
    scene.write()


def launch(scene):
    """Starts both. The witness, and attackers who do not say otherwise, come to the front end."""
    code, said = tool(scene.agent, "init")
    assert code == 0, said
    for node in scene.agents:
        node.launch()
        scene.await_start(node)
    # They keep connections to each other from then on, which are no trace of the attack.
    wait_for("both are seen", lambda: see_each_other(scene.agent, 2))
    scene.door = scene.front


BEHIND = ("peers", "ringing")  # the folders of attacks that are played at a front end, too


def behind_front_end(entry):
    """The same attack; its attackers and the witness are connected to a front end."""
    def dress_both(scene):
        own = entry.does("dress")
        if own:
            own(scene)
        dress(scene)

    module = vars(entry.module) | {"dress": dress_both, "launch": launch}
    return dataclasses.replace(entry, module=types.SimpleNamespace(**module))


class FalseNode(RawLink):
    """A node that means harm: its own link to the owner, with clients of its own."""

    def __init__(self, scene, node="x"):
        super().__init__(scene.link, node=node)
        self.scene, self.streams = scene, 0

    def brings(self, user):
        """A client that has said hello; returns its stream."""
        self.streams += 1
        self.opens(self.streams)
        self.text(self.streams, self.hello(self.scene.token(user)))
        assert self.hear("begins")
        return self.streams

    def hello(self, token):
        return json.dumps({"id": 1, "op": "hello", "data": {"token": token, "device": "phone"}})
