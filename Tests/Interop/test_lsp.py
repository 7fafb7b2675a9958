"""`callagent lsp`, asked by a client that nobody here wrote (pygls)."""

import asyncio
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLANTED = ROOT / "Tests" / "PolicyHostTests" / "Mistaken" / "planted.txt"
CHANGED = PLANTED.with_name("changed.txt")


class Editor:
    """An editor with one server; what it is told of files is kept by address."""

    def __init__(self, folder):
        self.client = LanguageClient("tests", "1")
        self.folder = folder
        self.told = {}
        self.shown = []
        self.news = asyncio.Event()
        self.version = 0

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(parameters):
            self.told[parameters.uri] = parameters
            self.news.set()

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def _(parameters):
            self.shown.append(parameters.message)

    async def __aenter__(self):
        await self.client.start_io(os.environ["CALLAGENT"], "lsp")
        self.answer = await self.client.initialize_async(types.InitializeParams(
            capabilities=types.ClientCapabilities(), root_uri=self.folder.as_uri()))
        self.client.initialized(types.InitializedParams())
        return self

    async def __aexit__(self, *_):
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    def uri(self, name):
        return (self.folder / name).as_uri()

    def open(self, name, text):
        self.told.pop(self.uri(name), None)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(
            types.TextDocumentItem(self.uri(name), "lua", self.next(), text)))

    def next(self):
        self.version += 1
        return self.version

    def change(self, name, text, where=None):
        self.told.pop(self.uri(name), None)
        event = (types.TextDocumentContentChangePartial(range=where, text=text)
                 if where else types.TextDocumentContentChangeWholeDocument(text=text))
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(self.next(), self.uri(name)), [event]))

    async def found(self, name):
        """What is said of a file, once it is said of the version at hand."""
        async def wait():
            while (told := self.told.get(self.uri(name))) is None or told.version != self.version:
                self.news.clear()
                await self.news.wait()
            return list(told.diagnostics)
        return await asyncio.wait_for(wait(), 60)

    def at(self, name, line, column):
        return {"text_document": types.TextDocumentIdentifier(self.uri(name)),
                "position": types.Position(line, column)}

    async def labels(self, name, line, column):
        items = await self.client.text_document_completion_async(
            types.CompletionParams(**self.at(name, line, column)))
        return [item.label for item in items]


def span(line, start, end):
    return types.Range(types.Position(line, start), types.Position(line, end))


def planted(file=PLANTED):
    """Name, text, line, first and last column, and what is to be said, of each mistake."""
    for part in file.read_text().split("\n== ")[1:]:
        name, *lines = part.rstrip("\n").split("\n")
        text, mark = [], None
        for line in lines:
            found = re.match(r"-- *(\^+) (.*)$", line)
            if found:
                mark = (len(text) - 1, found.start(1), found.end(1), found.group(2))
            else:
                text.append(line)
        yield name, "\n".join(text) + "\n", mark


def run(body):
    asyncio.run(asyncio.wait_for(body, 600))


def test_planted_mistakes_are_named_at_their_places(tmp_path):
    async def body():
        missed, count = [], 0
        async with Editor(tmp_path) as editor:
            for name, text, (line, start, end, said) in planted():
                count += 1
                editor.open("p.lua", text)
                found = [(one.range, one.message) for one in await editor.found("p.lua")]
                if found != [(span(line, start, end), said)]:
                    missed.append((name, found))
        assert count >= 60
        assert missed == []
    run(body())


def change(name):
    return (f"a handler changes '{name}', a local of the file: reload, replay and debug begin "
            f"without it (state.{name} is kept)")


def test_locals_that_handlers_change_are_warnings_at_their_places(tmp_path):
    async def body():
        missed, count = [], 0
        async with Editor(tmp_path) as editor:
            for name, text, (line, start, end, local) in planted(CHANGED):
                count += 1
                editor.open("p.lua", text)
                found = [(one.range, one.severity, one.message)
                         for one in await editor.found("p.lua")]
                wanted = (span(line, start, end), types.DiagnosticSeverity.Warning, change(local))
                if found != [wanted]:
                    missed.append((name, found))
        assert count >= 30
        assert missed == []
    run(body())


def test_check_warns_of_locals_that_handlers_change(tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "callagent.lua").write_text(
        'plugins = { "desk" }\nanswer_for = { "desk" }\nstate_dir = ":memory:"\n')
    desk = tmp_path / "plugins" / "desk.lua"
    desk.write_text("local count = 0\non.invite(function(call)\n  count = count + 1\nend)\n")

    def check(*words):
        done = subprocess.run([os.environ["CALLAGENT"], "check", *words], cwd=tmp_path, text=True,
                              capture_output=True)
        return done.returncode, done.stdout, done.stderr
    line = f"desk.lua:3: {change('count')}\n"
    code, out, err = check("plugins/desk.lua")
    assert (code, out, err) == (0, f"{line}plugins/desk.lua: good\n", "")
    code, out, err = check()
    assert code == 0 and line in out and err == ""
    desk.write_text("on.invite(function(call)\n  state.count = (state.count or 0) + 1\nend)\n")
    assert check("plugins/desk.lua") == (0, "plugins/desk.lua: good\n", "")


SWAPPED = "local a, b = 1, 2\na, b = b, a\na, b = b, a\nlog.info(a)"
TURNED = "local a, b, c = {}, {}, {}\na, b, c = b, c, a\na, b, c = c, a, b\na.x = b.y"
STORED = "local t, u = {}, {}\nt.x = u.x\nt.x = u.x\nu.x = t.x\nu.x = t.x\nlog.info(t.x)"
MAKERS = "\n".join(
    f"local function f{n}()\n" + f"if x == 0 then return f{n - 1}() end\n" * 4
    + f"return f{n - 1}()\nend" for n in range(1, 15))
NESTED = "\n".join(f"local t{n} = {{ {', '.join([f't{n - 1}'] * 4)} }}" for n in range(1, 19))


@pytest.mark.parametrize("head, text", [
    ("", SWAPPED), ("", TURNED), ("", STORED),
    (f"local kept = {{}}\nlocal function key(id)\nlocal t0 = id:lower()\n{NESTED}\n"
     "kept[id] = kept[id] or t18\nreturn kept[id]\nend\n", "log.info(key(call.caller.id))"),
    (f"local x = 1\nlocal function f0()\nreturn {{}}\nend\n{MAKERS}\nlocal store = f14()\n",
     "store.x = 1"),
], ids=["swapped", "turned", "stored", "nested", "makers"])
def test_check_follows_values_that_are_given_to_each_other_once(tmp_path, head, text):
    """There are more ways from one to the other than anybody can follow."""
    file = tmp_path / "desk.lua"
    file.write_text(f'{head}on.invite(function(call)\n{text}\nreturn reject "busy"\nend)\n')
    done = subprocess.run([os.environ["CALLAGENT"], "check", "desk.lua"], cwd=tmp_path, text=True,
                          capture_output=True, timeout=30)
    assert done.returncode == 0 and "desk.lua: good" in done.stdout, done


def test_nothing_is_said_of_good_plugins(tmp_path):
    async def body():
        async with Editor(tmp_path) as editor:
            files = [*(ROOT / "plugins").rglob("*.lua"), *(ROOT / "examples").rglob("*.lua")]
            assert len(files) >= 12
            for file in files:
                editor.open(file.name, file.read_text())
                assert [one.message for one in await editor.found(file.name)] == [], file
    run(body())


HALF = '''local cfg = config { lines = option.int(1, { help = "calls at once" }) }
timer("remind", function(data, call) end)
on.invite(function(call)
  call.
end)
'''


def test_what_can_be_written_is_offered_in_time(tmp_path):
    async def body():
        async with Editor(tmp_path) as editor:
            text = (ROOT / "plugins" / "forward-no-answer.lua").read_text() + HALF
            editor.open("p.lua", text)
            line = text[:text.index("  call.\n")].count("\n")
            assert "caller" in await editor.labels("p.lua", line, 7)
            spans = []
            for column in range(60):
                where = types.Range(types.Position(line, 7), types.Position(line, 7))
                editor.change("p.lua", "x" if column % 2 else " ", where)
                begin = time.perf_counter()
                await editor.labels("p.lua", line, 7)
                spans.append(time.perf_counter() - begin)
            # A loaded machine may be late now and then, not most of the time.
            assert sorted(spans)[len(spans) // 2] < 0.2, spans
    run(body())


def test_places_and_notes(tmp_path):
    async def body():
        async with Editor(tmp_path) as editor:
            editor.open("p.lua", HALF.replace("  call.\n", '  if call.callee.calls > cfg.lines '
                                              'then return reject "busy" end\n'))
            assert await editor.found("p.lua") == []
            client, at = editor.client, editor.at("p.lua", 3, 32)
            note = await client.text_document_hover_async(types.HoverParams(**at))
            assert "cfg.lines: integer" in note.contents.value
            place = await client.text_document_definition_async(types.DefinitionParams(**at))
            assert [one.range.start.line for one in place] == [0]
            uses = await client.text_document_references_async(types.ReferenceParams(
                context=types.ReferenceContext(include_declaration=True), **at))
            assert [one.range.start.line for one in uses] == [0, 3]
    run(body())


TESTED = '''on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
end)
test("busy", function(t)
  t.user("bob", { calls = 1 })
  t.expect(t.invite { to = "bob" }, reject "busy")
end)
test("wrong", function(t) t.expect(t.invite { to = "bob" }, reject "busy") end)
'''


def test_a_lens_runs_one_test(tmp_path):
    async def body():
        async with Editor(tmp_path) as editor:
            editor.open("p.lua", TESTED)
            lenses = await editor.client.text_document_code_lens_async(
                types.CodeLensParams(types.TextDocumentIdentifier(editor.uri("p.lua"))))
            assert [one.range.start.line for one in lenses] == [3, 7]
            for lens, passed in zip(lenses, (True, False)):
                answer = await editor.client.workspace_execute_command_async(
                    types.ExecuteCommandParams(lens.command.command, lens.command.arguments))
                assert answer["passed"] is passed
            assert editor.shown[0].startswith("ok") and editor.shown[1].startswith("FAILED")
    run(body())


OWN_MODE = """on.invite(function(call)
  if call.mode == "clinic" then return reject "busy" end
end)
test("own", function(t) t.expect(t.invite { mode = "clinic" }, reject "busy") end)
"""


def test_a_lens_knows_the_operators_own_modes(tmp_path):
    async def body():
        async with Editor(tmp_path) as editor:
            editor.open("plugins/p.lua", OWN_MODE)
            lenses = await editor.client.text_document_code_lens_async(
                types.CodeLensParams(types.TextDocumentIdentifier(editor.uri("plugins/p.lua"))))
            (press,) = [one.command for one in lenses]
            for like, passed, said in [
                    (None, False, "unknown mode 'clinic'"), ("managed", True, "ok"),
                    ("managd", False, "callagent.lua:1: modes: clinic: ")]:
                if like:
                    (tmp_path / "callagent.lua").write_text(
                        f'modes = {{ clinic = {{ like = "{like}" }} }}\n')
                answer = await editor.client.workspace_execute_command_async(
                    types.ExecuteCommandParams(press.command, press.arguments))
                assert answer["passed"] is passed and said in answer["text"], answer
    run(body())


def test_nothing_runs_and_no_secret_is_read_before(tmp_path):
    """A plugin that would never end when run, and a secret that is not there."""
    async def body():
        (tmp_path / "callagent.lua").write_text(
            'auth = { { alg = "HS256", key = secret "file:nothing" } }\nplugins = { "p" }\n')
        async with Editor(tmp_path) as editor:
            text = "while true do end\non.invite(function(call) call:finnish() end)\n"
            editor.open("p.lua", text)
            assert [one.message for one in await editor.found("p.lua")] == [
                "this is never reached", "a call has no method 'finnish' (did you mean 'finish'?)"]
            editor.open("callagent.lua", (tmp_path / "callagent.lua").read_text())
            assert await editor.found("callagent.lua") == []
            editor.change("callagent.lua", "listn = 'x'\nmodes = { a = { ringtime = '3s' } }\n")
            found = await editor.found("callagent.lua")
            assert [(one.range, one.message.split(" (")[0]) for one in found] == [
                (span(0, 0, 5), "unknown name 'listn'"),
                (span(1, 16, 24), "modes: a: unknown field 'ringtime'")]
    run(body())


def test_a_folder_is_one_plugin(tmp_path):
    async def body():
        folder = tmp_path / "desk"
        folder.mkdir()
        (folder / "init.lua").write_text(
            'local words = require "words"\ntimer("remind", function() words.say() end)\n')
        async with Editor(folder) as editor:
            editor.open("words.lua", 'return { say = function() later("1s", "remnd") end }\n')
            found = await editor.found("words.lua")
            assert [one.message for one in found] == [
                "unknown timer 'remnd' (did you mean 'remind'?)"]
            editor.open("init.lua", (folder / "init.lua").read_text())
            await editor.found("init.lua")
            place = await editor.client.text_document_definition_async(
                types.DefinitionParams(**editor.at("init.lua", 0, 24)))
            assert [one.uri for one in place] == [editor.uri("words.lua")]
    run(body())


@pytest.mark.parametrize("text", [
    "(" * 100_000, "x = " + "{" * 100_000, "return " + "not " * 100_000,
    "x = 1" + " + 1" * 100_000, "local x = x\n" * 50_000, "if a then " * 100_000,
    "\0" * 10_000, "'" * 100_001, "[" * 100_000, "--[[" * 100_000,
])
def test_odd_files_are_read_and_forgotten(tmp_path, text):
    async def body():
        async with Editor(tmp_path) as editor:
            editor.open("p.lua", text)
            await editor.found("p.lua")
            await editor.labels("p.lua", 0, 5)
            editor.change("p.lua", "call:finnish()")
            assert len(await editor.found("p.lua")) == 1
    run(body())


def test_ten_megabytes_and_back(tmp_path):
    async def body():
        async with Editor(tmp_path) as editor:
            editor.open("p.lua", "log.info 'x'\n" * 800_000)
            found = await editor.found("p.lua")
            assert ["no plugin is that large" in one.message for one in found] == [True]
            assert await editor.labels("p.lua", 3, 3) == []
            editor.change("p.lua", "", types.Range(
                types.Position(2, 0), types.Position(800_000, 0)))
            assert await editor.found("p.lua") == []
    run(body())


def test_edits_without_end_are_answered(tmp_path):
    async def body():
        async with Editor(tmp_path) as editor:
            editor.open("p.lua", HALF)
            here = types.Range(types.Position(3, 7), types.Position(3, 7))
            for _ in range(3_000):
                editor.change("p.lua", "a", here)
            assert len(await editor.found("p.lua")) == 1
            assert await editor.labels("p.lua", 3, 7)
    run(body())


NVIM = """
vim.o.hidden = true
vim.cmd("edit " .. vim.env.PLUGIN)
vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 end, 20)
for _, one in ipairs(vim.diagnostic.get(0)) do
  print(one.lnum .. ":" .. one.col .. "-" .. one.end_col .. " " .. one.message)
end
vim.api.nvim_buf_set_lines(0, 1, 2, false, { "  call:finish()" })
vim.wait(30000, function() return #vim.diagnostic.get(0) == 0 end, 20)
print("left: " .. #vim.diagnostic.get(0))
vim.cmd("qall!")
"""


@pytest.mark.skipif(shutil.which("nvim") is None, reason="there is no nvim")
def test_neovim_shows_what_is_wrong(tmp_path):
    """With the settings that `callagent new` writes."""
    agent = os.environ["CALLAGENT"]
    (tmp_path / "callagent.lua").write_text("")
    subprocess.run([agent, "new", "first"], cwd=tmp_path, check=True, capture_output=True)
    plugin = tmp_path / "plugins" / "p.lua"
    plugin.write_text("on.invite(function(call)\n  call:finnish()\nend)\n")
    (tmp_path / "play.lua").write_text(NVIM)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "callagent").symlink_to(pathlib.Path(agent).resolve())
    environment = {**os.environ, "PLUGIN": str(plugin), "HOME": str(tmp_path),
                   "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    done = subprocess.run(
        ["nvim", "--headless", "-u", ".nvim.lua", "-c", "luafile play.lua"], cwd=tmp_path,
        env=environment, capture_output=True, text=True, timeout=120)
    said = (done.stdout + done.stderr).replace("\r", "").split("\n")
    assert "1:7-14 a call has no method 'finnish' (did you mean 'finish'?)" in said, said
    assert "left: 0" in said, said


async def talk(data, *options):
    process = await asyncio.create_subprocess_exec(
        os.environ["CALLAGENT"], "lsp", *options, stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    out, err = await asyncio.wait_for(process.communicate(data), 60)
    return process.returncode, out, err.decode()


def frame(body):
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.mark.parametrize("data", [b"hello\r\n\r\n", b"x" * 20_000, b"Content-Length: -3\r\n\r\n"])
def test_a_stream_that_is_none_ends_with_a_reason(data):
    code, out, err = asyncio.run(talk(data))
    assert (code, out) == (1, b"")
    assert err.startswith("callagent lsp: ") and err.count("\n") == 1


def test_a_message_over_the_limit_is_left_out():
    data = frame(b"x" * 2_000) + frame(b"{}") + frame(b'{"method":"exit"}')
    code, out, err = asyncio.run(talk(data, "--max-message", "1KB"))
    assert code == 1 and b"over the limit of 1024" in out
    assert out.count(b"Content-Length") == 2 and err == ""


def test_an_editor_that_is_gone_leaves_nothing_behind():
    assert asyncio.run(talk(b"Content-Length: 100\r\n\r\nhalf"))[0] == 0
