"""What an attack says of itself, and all attacks there are: one file each below this folder."""

import dataclasses
import importlib.util
import pathlib

from test_admission import SECRET

HERE = pathlib.Path(__file__).resolve().parent

HOUSE = """
on.invite(function(call)
  if call.callee.id == "desk" then return reject("busy") end
  if call.callee.id == "witness" then return ring {} end
  %s
end)
"""


def house(asked="", before=""):
    """The plugin that is asked about the witness, and answers for the desk.

    Attacks that are aimed at a plugin give it more to do: `asked` when it is asked about others,
    `before` at its top.
    """
    return before + HOUSE % asked.strip()


def console(more=""):
    """A file with keys and a console, of which `more` is said."""
    return (
        f'auth = {{ {{ alg = "HS256", key = "{SECRET}", aud = "calls",'
        ' roles = { "operator", "viewer" } } }\n'
        f'console = {{ listen = "127.0.0.1:@CONSOLE@"{more} }}\n')


@dataclasses.dataclass(frozen=True)
class Attack:
    """The declaration at the head of an attack's file, under the name `ATTACK`."""

    aims_at: str  # what is bounded, in words
    rules: tuple = ()  # numbers of the contract's rules
    accounts: int = 1  # that attack
    kind: str = "account"  # or `machine`: a fault that nobody causes
    config: str = ""  # more of the operator's file
    plugins: dict = dataclasses.field(default_factory=dict)  # asked before `house`, in this order
    house: str = house()
    answer_for: tuple = ()  # beside the witness and the desk
    tls: bool = False
    seconds: tuple = (0.5, 8.0)  # how long it lasts, short and whole
    is_taken: bool = True  # some of its requests, if they are answered, are not refused


@dataclasses.dataclass(frozen=True)
class Entry:
    """An attack with its name and what its file does.

    `prepare(scene)` runs before the quiet measure; `attack(scene)` in processes at low priority,
    one for each of its `HANDS`, or `fault(scene)` for faults of the machine; `holds(scene)` after
    all has settled: it asserts what else must be. `dress(scene)` comes before the server starts,
    `launch(scene)` starts it another way, `end(scene)` ends what the attackers left behind, and
    `finish(scene)` tidies up.
    """

    name: str
    folder: str
    attack: Attack
    module: object

    def does(self, what):
        return getattr(self.module, what, None)


def load(path):
    spec = importlib.util.spec_from_file_location(f"attack_{path.stem.replace('-', '_')}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Entry(path.stem, path.parent.name, module.ATTACK, module)


def every():
    """All attacks by name, in the order of their folders and names."""
    found = {}
    for path in sorted(HERE.glob("*/*.py")):
        assert path.stem not in found, f"two attacks are called {path.stem}"
        found[path.stem] = load(path)
    return found
