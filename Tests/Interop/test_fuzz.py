"""`callagent fuzz` on the real command line."""

import re

FAULTY = """
on.invite(function(call)
  if call.extended_data.topic == "sales" then return forward "sales" end
end)
"""

LIMIT = """
on.invite(function(call)
  if call.callee.calls >= %d then return reject "busy" end
end)
"""


def block(output):
    """The test that is printed."""
    return re.search(r"^test\(.*?^end\)$", output, re.MULTILINE | re.DOTALL).group(0)


def fails(agent, name, test):
    path = agent.folder / "plugins" / f"{name}.lua"
    text = path.read_text()
    path.write_text(f"{text}\n{test}\n")
    code, output = agent.tool("test", f"plugins/{name}.lua", "--only", "fuzz: ")
    path.write_text(text)
    return code, output


def test_a_fault_is_printed_as_a_test_that_fails(make_agent):
    agent = make_agent(plugins={"desk": FAULTY})
    code, output = agent.tool("fuzz", "plugins/desk.lua", "--for", "5s")
    assert code == 1 and "1 finding\n" in output, output
    test = block(output)
    assert "t.invite {}" in test
    code, output = fails(agent, "desk", test)
    assert code == 1 and "extended_data" in output, output


def test_a_good_plugin_is_left_alone(make_agent):
    agent = make_agent(plugins={"desk": LIMIT % 1})
    code, output = agent.tool("fuzz", "plugins/desk.lua", "--for", "2s", "--seed", "9")
    assert code == 0 and re.fullmatch(r"desk: [1-9]\d* tests, 0 findings\n", output), output


def test_another_decision_than_a_kept_generation(make_agent):
    agent = make_agent('plugins = { "desk" }\n', {"desk": LIMIT % 2}).start()
    before = agent.tool("status")[1]
    kept = re.search(r"generation\W+([0-9a-f]{12})", before).group(1)
    path = agent.folder / "plugins" / "desk.lua"
    path.write_text(LIMIT % 3)
    code, output = agent.tool("fuzz", "desk", "--for", "10s", "--against", kept)
    assert code == 1, output
    assert fails(agent, "desk", block(output))[0] == 1
    path.write_text(LIMIT % 2)
    assert fails(agent, "desk", block(output))[0] == 0
    code, output = agent.tool("fuzz", "desk", "--against", "nonsense")
    assert code == 1 and "no kept generation 'nonsense'" in output


def test_what_cannot_be_done_is_told(make_agent):
    agent = make_agent(plugins={"desk": "on.invte(print)"})
    code, output = agent.tool("fuzz", "plugins/desk.lua")
    assert code == 1 and "did you mean 'on.invite'?" in output
    assert agent.tool("fuzz", "--for", "soon")[0] == 2
    assert agent.tool("fuzz", "--seed", "-1")[0] == 2
