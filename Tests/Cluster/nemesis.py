"""What goes wrong in a cluster: each kind strikes, is over, and leaves all nodes serving."""

import signal
import time

from agent import wait_for
from cluster import see_each_other, shown, tool
from tap import Trap


class Nemesis:
    """One kind of fault. `strike` notes when it began and when all nodes served again."""

    name = "nothing"
    needs_holes = needs_pair = False

    def __init__(self, servers, load, dice):
        self.servers, self.load, self.dice = servers, load, dice
        self.history = load.history
        self.struck = []  # the records of its faults

    def victim(self):
        return self.servers.owner()

    def strike(self, choice=None):
        """`choice`: for so many seconds, or what else the kind of fault takes."""
        node = self.victim()
        fault = self.history.add("fault", name=self.name, node=node.folder.name)
        self.struck.append(fault)
        self.harm(node, fault, choice)
        self.servers.ready()
        self.history.add("healed", name=self.name, node=node.folder.name)
        return fault

    def harm(self, node, fault, seconds):
        raise NotImplementedError

    @staticmethod
    def last(seconds):
        """How long it lasts is what makes the fault: nothing else says when it is over."""
        end = time.monotonic() + seconds
        wait_for("the fault is over", lambda: time.monotonic() >= end, seconds + 60)

    def all_see_each_other(self):
        """Of what comes before, nothing is left in the node table."""
        count = len(self.servers.nodes)
        wait_for("all see each other", lambda: see_each_other(self.servers.nodes[0], count))

    def another_owns(self, node):
        wait_for("another one owns", lambda: self.servers.owner() is not node)


class KillOwner(Nemesis):
    """`kill -9` of the owner, which starts again when another one owns."""

    name = "kill"

    def harm(self, node, fault, seconds):
        node.crash()
        self.another_owns(node)
        node.launch()


class KillFront(Nemesis):
    """`kill -9` of a front end, which starts again."""

    name = "kill front"

    def victim(self):
        return self.dice.choice(self.servers.fronts())

    def harm(self, node, fault, seconds):
        node.crash()
        self.load.goes_on(self.dice.uniform(0, 0.5))
        node.launch()


class StopOwner(Nemesis):
    """The owner stands still for some seconds, as a machine does whose memory is moved."""

    name = "stop"

    def harm(self, node, fault, seconds):
        node.signal(signal.SIGSTOP)
        try:
            self.last(seconds or self.dice.uniform(0.5, 5))
        finally:
            node.signal(signal.SIGCONT)


class StopInCommit(Nemesis):
    """The owner stands still when some of the statements of a commit have left it, and the rest has
    not. What the database has of it holds the row that says who owns."""

    name = "stop in a commit"
    needs_holes = True

    def harm(self, node, fault, statements):
        """After so many; None: after the whole commit, whose answer is not read."""
        tap, epoch = self.servers.ways[node.folder.name][0], self.servers.epoch()
        trap = tap.trap = Trap(statements, lambda: node.signal(signal.SIGSTOP))
        try:
            assert trap.sprung.wait(20), "nothing was committed"
            fault["since"], fault["held"] = time.time(), trap.held
            wait_for("another one owns", lambda: self.servers.epoch() > epoch, pause=0.05)
        finally:
            tap.trap = None
            node.signal(signal.SIGCONT)


class Hole(Nemesis):
    """Nothing goes through for some seconds, and nobody is told."""

    needs_holes = True
    which = None

    def harm(self, node, fault, seconds):
        self.servers.swallow(node, self.which, True)
        self.last(seconds or self.dice.uniform(1, 6))
        self.servers.swallow(node, self.which, False)


class HoleToDatabase(Hole):
    """Between the owner and the database."""

    name = "hole to the database"
    which = 0


class HoleToOwner(Hole):
    """Between the front ends and the owner, which goes on to beat."""

    name = "hole to the owner"
    which = 1

    def victim(self):
        # One that comes at once after another one goes on with its seconds.
        self.all_see_each_other()
        return super().victim()


class LongHoleToOwner(HoleToOwner):
    """The same until all nodes serve: another one must own for that."""

    name = "long hole to the owner"

    def harm(self, node, fault, seconds):
        self.servers.swallow(node, self.which, True)
        try:
            self.another_owns(node)
            self.servers.ready()
        finally:
            self.servers.swallow(node, self.which, False)


class KillBesideUnseen(Nemesis):
    """`kill -9` of the owner while one of the others is reached by nobody: another one takes over,
    whichever looks first."""

    name = "kill beside unseen"
    needs_holes = True

    def harm(self, node, fault, seconds):
        self.all_see_each_other()
        unseen = self.dice.choice(self.servers.fronts())
        self.servers.swallow(unseen, HoleToOwner.which, True)
        try:
            wait_for("the table says that nobody sees it", lambda: self.why_not(unseen))
            fault["since"] = time.time()
            node.crash()
            self.another_owns(node)
            fault["wrong"] = self.servers.owner() is unseen
            self.servers.ready([one for one in self.servers.nodes if one is not node])
        finally:
            self.servers.swallow(unseen, HoleToOwner.which, False)
        node.launch()

    @staticmethod
    def why_not(node):
        return next(one["why_not"] for one in shown(node)["nodes"]
                    if one["name"] == node.folder.name)


class RestartDatabase(Nemesis):
    """PostgreSQL is killed and starts again."""

    name = "restart"

    def harm(self, node, fault, seconds):
        self.servers.database.control("restart", "-m", "immediate")
        fault["since"] = time.time()


class Promote(Nemesis):
    """The primary dies and its synchronous standby is promoted; later it gets one again."""

    name = "promote"
    needs_pair = True

    def harm(self, node, fault, seconds):
        self.servers.fail_over()
        fault["since"] = time.time()
        self.servers.ready()
        self.servers.database.add_standby()


class HandOver(Nemesis):
    """An operator hands over to another node."""

    name = "hand-over"

    def harm(self, node, fault, seconds):
        target = self.dice.choice(self.servers.fronts())
        code, said = tool(self.dice.choice(self.servers.nodes), "hand-over", target.folder.name)
        assert code == 0, said


class Scatter(Nemesis):
    """A part of the clients goes to other nodes at once."""

    name = "scatter"

    def harm(self, node, fault, seconds):
        self.load.do(self.load.scatter(0.5))


ALL = (KillOwner, KillFront, StopOwner, HoleToDatabase, HoleToOwner, RestartDatabase, Promote,
       HandOver, Scatter)
