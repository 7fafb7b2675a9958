"""The tap holds up what it should, however the bytes come."""

import types

import pytest

from tap import PLAIN, ReadTalk, Trap

SSL = 80_877_103


def start(number):
    return (8).to_bytes(4, "big") + number.to_bytes(4, "big")


def message(kind, body=b""):
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def statement(name):
    return message(b"B", b"\0" + name.encode() + b".0\0...") + message(b"E", b"\0" * 5)


BEGIN = start(SSL) + start(PLAIN)
LOOK = statement("fence") + message(b"S")
COMMIT = [statement(name) for name in ("fence", "put_keys", "put_live", "put_turn")]


def passed(data, statements, step):
    tap = types.SimpleNamespace(trap=Trap(statements, lambda: None))
    talk = ReadTalk(tap)
    found = b""
    for at in range(0, len(data), step):
        found += talk.pass_on(data[at:at + step])
    talk.sent()
    return found, tap.trap


@pytest.mark.parametrize("step", (1, 7, 10_000))
def test_a_commit_is_held_up_after_so_many_statements(step):
    data = BEGIN + LOOK + b"".join(COMMIT) + message(b"S") + LOOK
    for count in (1, 2, 3, 4):
        found, trap = passed(data, count, step)
        # The first statement of a look is that of a commit.
        before = BEGIN + LOOK if count > 1 else BEGIN
        assert found == before + b"".join(COMMIT[:count])
        assert trap.sprung.is_set() and trap.held[0] == "fence" and len(trap.held) == count
    # One that is shorter is held up before its end.
    found, trap = passed(data, 9, step)
    assert found == BEGIN + LOOK + b"".join(COMMIT) and trap.held[-1] == "put_turn"
    found, trap = passed(data, None, step)
    assert found == BEGIN + LOOK + b"".join(COMMIT) + message(b"S") and len(trap.held) == 4


def test_what_commits_nothing_goes_through():
    found, trap = passed(BEGIN + LOOK * 3, 9, 5)
    assert found == BEGIN + LOOK * 3 and not trap.sprung.is_set()
