"""What people who write plugins use of the real command line: new, check, test, try and others."""

import json
import re
import shutil
import subprocess
import tomllib

import pytest

GOOD = """
local cfg = config {
  hours = option.hours("mon-fri 09:00-18:00", { help = "when calls are taken" }),
  key = option.secret(nil, { required = true, min = 8 }),
}
on.invite(function(call)
  if not cfg.hours:open() then return reject "closed" end
  if call.callee.calls > 0 then return reject "busy" end
end)
test("closed on Sunday", function(t)
  t.expect(t.invite { at = "Sun 10:00" }, reject "closed")
end)
"""


@pytest.fixture
def desk(make_agent):
    """A folder with an operator's file and a plugin; nothing runs."""
    options = 'options["desk"] = { key = "12345678", hours = "sun 00:00-24:00" }'
    config = f'plugins = {{ "desk" }}\n{options}\n'
    return make_agent(config, {"desk": GOOD})


def test_new_writes_a_plugin_that_passes_its_tests(make_agent):
    folder = make_agent()
    code, output = folder.tool("new", "greeter")
    assert code == 0, output
    written = {path.name for path in folder.folder.iterdir()} | {"greeter.lua"}
    assert {".luacheckrc", ".luarc.json", "callagent.meta.lua"} <= written
    assert folder.tool("check", "plugins/greeter.lua") == (0, "plugins/greeter.lua: good\n")
    code, output = folder.tool("test", "plugins/greeter.lua")
    assert (code, output.splitlines()[-1]) == (0, "2 passed, 0 failed")
    assert "greeter.lua: 100 %" in output
    for name in (".luarc.json", ".vscode/tasks.json", ".vscode/extensions.json"):
        json.loads((folder.folder / name).read_text())
    helix = tomllib.loads((folder.folder / ".helix/languages.toml").read_text())
    assert helix["language-server"]["callagent"] == {"command": "callagent", "args": ["lsp"]}
    task = json.loads((folder.folder / ".vscode/tasks.json").read_text())["tasks"][0]
    found = re.match(task["problemMatcher"]["pattern"]["regexp"], "greeter.lua:7: no such thing")
    assert found.groups() == ("greeter.lua", "7", "no such thing")


def test_a_plugin_that_no_list_names_is_told(make_agent):
    folder = make_agent()
    assert folder.tool("new", "greeter")[0] == 0
    told = "plugins/greeter: not listed in plugins, so not tested: callagent test greeter"
    assert folder.tool("test") == (0, f"{told}\n0 passed, 0 failed\n")
    assert folder.tool("test", "greeter")[1].endswith("\n2 passed, 0 failed\n")
    assert told not in folder.tool("test", "greeter")[1]


def test_new_overwrites_nothing_that_is_not_its_own(make_agent):
    folder = make_agent(plugins={"mine": "-- mine"})
    (folder.folder / ".luarc.json").write_text("{}")
    code, output = folder.tool("new", "mine")
    assert code == 1 and "is there already" in output
    assert (folder.folder / "plugins/mine.lua").read_text() == "-- mine"
    code, output = folder.tool("new", "other", "--from", "busy")
    assert code == 0 and "kept .luarc.json" in output, output
    assert (folder.folder / ".luarc.json").read_text() == "{}"
    assert "refuse a second call" in (folder.folder / "plugins/other.lua").read_text()
    code, output = folder.tool("new", "other2", "--from", "bussy")
    assert code == 1 and "did you mean 'busy'?" in output
    assert folder.tool("new", "a/b")[0] == 2


def test_luacheck_finds_typing_errors_in_a_new_folder(make_agent):
    luacheck = shutil.which("luacheck")
    assert luacheck, "luacheck is missing: sh examples/install.sh --checks"
    folder = make_agent('plugins = { "desk" }\nlisten_ = 1\n')
    folder.tool("new", "desk")

    def run(*files):
        done = subprocess.run(
            [luacheck, "--no-color", *files], cwd=folder.folder, capture_output=True, text=True,
            check=False)
        return done.returncode, done.stdout

    code, output = run("plugins")
    assert code == 0, output
    code, output = run("--only", "0", "--", "callagent.meta.lua")
    assert code == 0, f"the types are no Lua: {output}"
    code, output = run("callagent.lua")
    assert code == 1 and output.count("listen_") == 1 and "plugins" not in output, output
    plugin = folder.folder / "plugins/desk.lua"
    plugin.write_text(plugin.read_text().replace("on.invite", "on.invte"))
    code, output = run("plugins")
    assert code == 1 and "invte" in output, output


def test_tests_know_nothing_of_the_operators_options(desk):
    code, output = desk.tool("test")
    assert code == 0, output
    assert "desk.lua: 90 % of 10 lines; not run: 8" in output, output
    assert desk.tool("test", "--coverage", "91")[0] == 1
    assert desk.tool("test", "--only", "nothing of it") == (
        1, "no test has 'nothing of it' in its name\n")


def test_try_asks_under_the_operators_options(desk):
    call = '{"from":"ann","to":"bob"}'
    assert desk.tool("try", "desk", "--invite", call, "--at", "Sun 10:00") == (
        0, "nothing: the next plugin decides\n")
    code, output = desk.tool("try", "plugins/desk.lua", "--invite", call, "--at", "Mon 10:00")
    assert (code, output) == (
        0, 'reject("declined", { extended_data = {"reason":"closed"} })\n')
    code, output = desk.tool(
        "try", "desk", "--invite", call, "--at", "Mon 10:00", "--users", '{"bob":{"calls":1}}',
        "--options", '{"key":"12345678"}')
    assert (code, output) == (0, 'reject "busy"\n')


def test_try_asks_all_plugins_as_the_server_would(desk):
    (desk.folder / "plugins" / "first.lua").write_text(
        'on.invite(function(call) if call.kind == "x" then error "oops" end end)\n')
    desk.configure(
        'answer_for = { "bob" }\nplugins = { "first", "desk" }\ninvite = { default = "reject" }\n'
        'options["desk"] = { key = "12345678" }\n')
    ask = ["try", "--at", "Mon 10:00", "--invite"]
    assert desk.tool(*ask, '{"to":"bob"}') == (
        0, "on.invite for bob: first: no opinion, desk: no opinion\n"
        "nothing: the operator's default: reject\n")
    assert desk.tool(*ask, '{"to":"carl"}') == (
        0, "nothing: carl is not in answer_for, so on.invite is not asked\n")
    code, output = desk.tool(*ask, '{"to":"bob","kind":"x"}', "--users", '{"bob":{"calls":1}}')
    assert code == 1 and "first.lua:1: oops" in output, output
    assert 'first: failed (error), desk: decided\nreject "busy"\n' in output, output
    assert desk.tool(*ask, "{}", "--options", "{}")[0] == 2


@pytest.mark.parametrize("words, code, text", [
    (["--invite", "{"], 2, "--invite takes JSON"),
    (["--invite", "[]"], 2, "--invite takes a JSON object"),
    (["--invite", '{"frm":"ann"}'], 1, "unknown field 'frm' (did you mean 'from'?)"),
    (["--invite", "{}", "--at", "Mo 10"], 1, "bad time 'Mo 10'"),
    (["--invite", "{}", "--dial", "{}"], 2, "exclude each other"),
    ([], 2, "nothing to ask"),
])
def test_try_says_what_is_wrong(desk, words, code, text):
    found, output = desk.tool("try", "desk", *words)
    assert found == code and text in output, output


def test_a_wrong_option_is_told_at_the_operators_line(desk):
    desk.configure('plugins = { "desk" }\n\noptions["desk"] = { key = "12345678", hour = "" }\n')
    for words in (["check"], ["try", "desk", "--invite", "{}"]):
        code, output = desk.tool(*words)
        assert code == 1, output
        assert 'callagent.lua:5: options["desk"]: unknown option' in output, output
        assert "(did you mean 'hours'?)" in output


def test_config_prints_the_names_and_the_options(desk):
    code, output = desk.tool("config")
    assert code == 0 and output.startswith("listen "), output
    code, output = desk.tool("config", "desk")
    assert code == 0 and '  hours = "mon-fri 09:00-18:00",' in output, output
    assert '  key = secret "env:NAME",' in output
    code, output = desk.tool("config", "invite")
    assert code == 0 and len(output.splitlines()) == 5
    code, output = desk.tool("config", "bussy")
    assert code == 1 and "did you mean 'busy'?" in output


def test_the_printed_options_can_be_pasted(desk):
    """Every bundled plugin's block, with what must be set filled in, is good."""
    for name in ("blocklist", "flood-limit", "do-not-disturb", "ios-voip", "extended-data"):
        code, block = desk.tool("config", name)
        assert code == 0, block
        desk.configure(f'plugins = {{ "{name}" }}\n{block}')
        code, output = desk.tool("check")
        assert code == 0, output


def test_meta_prints_types(desk):
    code, output = desk.tool("meta")
    assert code == 0 and output.startswith("---@meta callagent\n")
    assert "---@class Call\n" in output and "\nfunction config(schema) end\n" in output


MISTAKES = {
    "cfg": ("local cfg = config { lines = option.int(1) }\n"
            "on.invite(function(call) if cfg.linse > 1 then return reject 'busy' end end)\n",
            "cfg.lua:2: no option 'linse' is declared (did you mean 'lines'?)"),
    "method": ("on.ended(function(call) call:finnish() end)\n",
               "method.lua:1: a call has no method 'finnish' (did you mean 'finish'?)"),
    "dropped": ("on.invite(function(call)\n  local no = reject 'busy'\nend)\n",
                "dropped.lua:2: the decision in 'no' is not returned"),
    "text": ("on.invite(function(call)\n  return 'busy'\nend)\n",
             "text.lua:2: on.invite returns a text, which is no decision"),
    "compare": ("on.invite(function(call)\n  if call.caller == 'ann' then return end\nend)\n",
                "compare.lua:2: a user object never equals a text: compare its 'id'"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_check_finds_what_lua_does_not_mind(make_agent, name):
    text, words = MISTAKES[name]
    config = f'plugins = {{ "{name}" }}\nanswer_for = {{ "*" }}\n'
    agent = make_agent(config, {name: text})
    for arguments in ((), (f"plugins/{name}.lua",)):
        code, output = agent.tool("check", *arguments)
        assert code == 1 and words in output and "good" not in output, output
    agent.start()  # it loads all the same, and the log tells of it
    agent.logs(words)


def test_check_warns_of_who_can_never_be_asked(make_agent):
    plugin = {"desk": "on.invite(function() return reject 'busy' end)\n"}
    agent = make_agent('plugins = { "desk" }\n', plugin)
    code, output = agent.tool("check")
    assert code == 0 and "desk.lua: on.invite is never asked: answer_for names no" in output, output
    agent.configure(
        'plugins = { { "desk", users = { "desk-*" } } }\nanswer_for = { "support" }\n')
    code, output = agent.tool("check")
    assert code == 0 and "answer_for names none of its users" in output, output
    agent.configure('plugins = { "desk" }\nanswer_for = { "support" }\n')
    code, output = agent.tool("check")
    assert code == 0 and "never asked" not in output, output


def test_reload_says_what_looks_wrong(make_agent):
    agent = make_agent('plugins = { "desk" }\nanswer_for = { "support" }\n', {
        "desk": "on.invite(function() return reject 'busy' end)\n"}).start()
    code, output = agent.tool("reload")
    assert code == 0 and "desk.lua" not in output, output
    agent.configure('plugins = { "desk" }\n')
    code, output = agent.tool("reload")
    assert code == 0 and "desk.lua: on.invite is never asked: answer_for names no" in output, output
    agent.configure('plugins = { "desk" }\nanswer_for = { "support" }\n', {
        "desk": "on.invite(function() return 'busy' end)\n"})
    code, output = agent.tool("reload")
    assert code == 0 and "desk.lua:1: on.invite returns a text" in output, output


def test_a_reload_comes_back_from_values_that_are_given_to_each_other(make_agent):
    agent = make_agent('plugins = { "desk" }\nanswer_for = { "support" }\n', {
        "desk": "on.invite(function() return reject 'busy' end)\n"}).start()
    agent.configure('plugins = { "desk" }\nanswer_for = { "support" }\n', {
        "desk": "on.invite(function()\n  local old, new = 'busy', 'closed'\n"
                "  old, new = new, old\n  old, new = new, old\n  return reject(new)\nend)\n"})
    assert agent.admin("POST", "/admin/v1/reload", {}).status == 200
    assert agent.stop() == 0


CLINIC = """
on.invite(function(call)
  if call.mode == "clinic" then return reject "busy" end
end)
test("the clinic", function(t)
  t.expect(t.invite { mode = "clinic" }, reject "busy")
  t.expect(t.invite { mode = "advanced" }, nil)
end)
"""
CLINIC_FILE = """auth = { { alg = "HS256", key = secret "env:CALLAGENT_NO_SUCH_KEY" } }
modes = { clinic = { like = "managed", ring_time = "30s" } }
plugins = { "desk" }
"""


@pytest.fixture
def clinic(make_agent):
    """An operator's file with a mode of its own, and a plugin that knows of it."""
    return make_agent(CLINIC_FILE, {"desk": CLINIC})


@pytest.mark.parametrize("words", [["desk"], ["plugins/desk.lua"], []])
def test_tests_know_the_operators_own_modes(clinic, words):
    code, output = clinic.tool("test", *words)
    assert code == 0 and "1 passed, 0 failed" in output, output
    # Another file than the one in the folder.
    (clinic.folder / "callagent.lua").rename(clinic.folder / "other.lua")
    code, output = clinic.tool("test", "plugins/desk.lua")
    assert code == 1 and "desk.lua:6: t.invite: unknown mode 'clinic' (your own" in output, output
    code, output = clinic.tool("test", *words, "--config", "other.lua")
    assert code == 0 and "1 passed, 0 failed" in output, output


@pytest.mark.parametrize("words", [["plugins/desk.lua"], []])
def test_wrong_modes_of_the_operator_are_named_with_their_line(clinic, words):
    file = clinic.folder / "callagent.lua"
    file.write_text(CLINIC_FILE.replace("ring_time", "ring_tme"))
    assert clinic.tool("test", *words) == (
        1, "callagent.lua:2: modes: clinic: unknown parameter 'ring_tme' "
        "(did you mean 'ring_time'?)\n")
    assert clinic.tool("test", *words, "--config", "no.lua") == (
        1, "cannot read no.lua: No such file or directory\n")


def test_try_fuzz_and_reload_know_them_too(make_agent):
    agent = make_agent(
        'answer_for = { "bob" }\ntest_on_reload = true\nplugins = { "desk" }\n'
        'modes = { clinic = { like = "managed" } }\n',
        {"desk": CLINIC}).start()
    call = '{"from":"ann","to":"bob","mode":"clinic"}'
    assert agent.tool("try", "desk", "--invite", call) == (0, 'reject "busy"\n')
    assert agent.tool("try", "--invite", call)[1].endswith('reject "busy"\n')
    plugin = agent.folder / "plugins/desk.lua"
    plugin.write_text(CLINIC + "-- another\n")
    code, output = agent.tool("reload")
    assert code == 0, output
    plugin.write_text(CLINIC.replace("return reject", "error(call.mode) return reject"))
    code, output = agent.tool("reload")
    assert code == 1 and "desk.lua:3: clinic" in output, output
    code, output = agent.tool("fuzz", "desk", "--for", "10s")
    assert code == 1 and 'mode = "clinic"' in output, output


def test_try_needs_no_secrets_and_shows_none(make_agent):
    config = """
auth = { { alg = "HS256", key = secret "env:CALLAGENT_NO_SUCH_KEY" } }
answer_for = { "desk" }
plugins = { "door" }
options["door"] = { key = secret "env:CALLAGENT_NO_SUCH_WORD" }
"""
    plugin = """
local cfg = config { key = option.secret(nil, { required = true }) }
on.invite(function() return reject(cfg.key) end)
"""
    agent = make_agent(config, {"door": plugin})
    for words in ([], ["door"]):
        code, output = agent.tool("try", *words, "--invite", '{"from":"ann","to":"desk"}')
        assert code == 0 and "secret:CALLAGENT_NO_SUCH_WORD" in output, output


def test_try_asks_a_plugin_that_wants_a_long_secret(make_agent):
    agent = make_agent('''answer_for = { "desk" }
plugins = { "livekit-token" }
options["livekit-token"] = { url = "wss://m", key = "k", secret = secret "env:SHORT" }
''')
    code, output = agent.tool("try", "--token", '{"from":"ann","to":"desk"}')
    assert code == 0 and "wss://m" in output, output


def test_tests_need_neither_secrets_nor_a_time_zone(make_agent):
    config = """
timezone = "Asia/Tokyo"
auth = { { alg = "HS256", key = secret "env:CALLAGENT_NO_SUCH_KEY" } }
push = { webhook = { url = "https://example.com", secret = secret "file:no/such/file" } }
plugins = { "clock" }
"""
    plugin = """
on.invite(function() return reject(time.format "%H:%M") end)
test("UTC", function(t)
  t.clock "2030-07-01 10:00"
  t.expect(t.invite {}, reject "10:00")
  t.timezone "Europe/Berlin"
  t.expect(t.invite {}, reject "12:00")
end)
"""
    agent = make_agent(config, {"clock": plugin})
    code, output = agent.tool("test")
    assert code == 0 and "1 passed, 0 failed" in output, output
