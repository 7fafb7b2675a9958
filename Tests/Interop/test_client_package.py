"""The JavaScript client as a package: what is served, what npm and TypeScript make of it."""

import gzip
import http.client
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import pytest

from browser import CLIENT

HERE = pathlib.Path(__file__).parent / "javascript"
TOOLS = pathlib.Path(__file__).parents[2] / ".build" / "interop"
CORE_BYTES = 8 * 1_024  # of `callagent`, in gzip
MEDIA_BYTES = 6 * 1_024  # of `callagent/media`, likewise
VERSION = json.loads((CLIENT / "package.json").read_text())["version"]
NAMES = [str(path.relative_to(CLIENT)) for path in CLIENT.rglob("*.*")]
PATH = f"/v1/client/callagent-{VERSION}.tgz"


def needs(*tools):
    missing = [tool for tool in tools if not shutil.which(tool)]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {missing}")


def run(*words, cwd=None):
    """What a program says; those of Debian find its modules, which others must be told of."""
    done = subprocess.run(
        words, cwd=cwd, env=os.environ | {"NODE_PATH": "/usr/share/nodejs"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
        check=False)
    assert done.returncode == 0, f"{words}: {done.stdout.decode()}"
    return done.stdout.decode()


def fetch(agent, path, **headers):
    """The bytes, which may be no text."""
    connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


@pytest.fixture
def app(agent, tmp_path):
    """A folder in which the package is installed as npm does it, or without npm unpacked."""
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "package.json").write_text('{"name": "app", "private": true, "type": "module"}')
    packed = folder / f"callagent-{VERSION}.tgz"
    packed.write_bytes(fetch(agent, PATH)[2])
    if shutil.which("npm"):
        run("npm", "install", "--offline", "--no-audit", "--no-fund", f"./{packed.name}",
            cwd=folder)
    else:
        with tarfile.open(packed) as archive:
            archive.extractall(folder / "unpacked", filter="data")
        (folder / "node_modules").mkdir()
        (folder / "unpacked/package").rename(folder / "node_modules/callagent")
    return folder


# Serving


def test_every_file_is_served_to_every_origin(make_agent):
    agent = make_agent('origins = { "https://only.example.com" }\n').start()
    files = sorted(NAMES)
    assert {"index.js", "media.js", "push.js", "sw.js", "react.js"} <= set(files)
    for name in files:
        status, headers, body = fetch(
            agent, f"/v1/client/{name}", Origin="https://elsewhere.example.com")
        assert status == 200 and body == (CLIENT / name).read_bytes(), name
        assert headers["Access-Control-Allow-Origin"] == "*"
        assert headers["Cross-Origin-Resource-Policy"] == "cross-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"
        kind = {".js": "text/javascript", ".ts": "text/plain", ".json": "application/json"}
        assert headers["Content-Type"].startswith(kind[pathlib.Path(name).suffix])
        again = fetch(agent, f"/v1/client/{name}", **{"If-None-Match": headers["ETag"]})
        assert again[0] == 304 and again[2] == b""
        other = fetch(agent, f"/v1/client/{name}", **{"If-None-Match": '"0"'})
        assert other[0] == 200


@pytest.mark.parametrize("path", [
    "/v1/client/", "/v1/client/none.js", "/v1/client/../ws", "/v1/client/%2e%2e/index.js",
    "/v1/client/index.js/"])
def test_what_is_no_file_of_the_client_is_not_found(agent, path):
    status, headers, _ = fetch(agent, path)
    assert status == 404 and "json" in headers["Content-Type"]


def test_a_file_is_only_read(agent):
    answer = agent.request("POST", "/v1/client/index.js", "{}")
    assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD, OPTIONS"
    assert agent.request("HEAD", "/v1/client/index.js").text == ""


# The package


def test_the_package_is_what_is_served(agent):
    status, headers, packed = fetch(agent, PATH)
    assert status == 200 and headers["Content-Type"] == "application/gzip"
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed))) as archive:
        members = {member.name: member for member in archive.getmembers()}
        assert set(members) == {f"package/{name}" for name in NAMES}
        for name, member in members.items():
            assert member.isfile() and member.mode == 0o644 and member.uid == 0
            there = archive.extractfile(member).read()
            assert there == (CLIENT / name.removeprefix("package/")).read_bytes()


def version_of(node):
    return run(str(node), "--version").strip().split(".")[0]


# That of the machine, and those that run.sh has brought.
NODES = [node for node in [shutil.which("node")] if node] + sorted(TOOLS.glob("node*/*/bin/node"))


@needs("node")
@pytest.mark.parametrize("node", NODES, ids=version_of)
def test_npm_installs_it_and_node_runs_it(agent, app, node):
    files = json.loads((CLIENT / "package.json").read_text())["exports"]
    names = [name for name, file in files.items() if "default" in file and name != "./sw"]
    for name in names:
        if name == "./react":
            continue  # needs React
        run(str(node), "--input-type=module", "-e",
            f'await import("{name.replace(".", "callagent", 1)}")', cwd=app)
    client = app / "node_modules/callagent/index.js"
    script = HERE / "client.test.mjs"
    if not pathlib.Path("/usr/share/nodejs/ws").exists():
        pytest.skip("not installed: node-ws")
    said = run(str(node), str(script), str(client), f"http://127.0.0.1:{agent.port}")
    assert "all is well" in said


@needs("tsc", "node")
def test_types_accept_good_use_and_refuse_misuse(app):
    shutil.copy(HERE / "consumer.ts", app)
    options = ("--strict", "--noEmit", "--target", "es2022", "--module", "node16",
               "--moduleResolution", "node16", "--lib", "es2022,dom,dom.iterable")
    run("tsc", *options, "consumer.ts", cwd=app)
    # The check itself can fail: without a mark the first misuse is told.
    text = (app / "consumer.ts").read_text()
    (app / "misuse.ts").write_text(re.sub(r"// @ts-expect-error.*", "", text))
    done = subprocess.run(
        ("tsc", *options, "misuse.ts"), cwd=app, stdout=subprocess.PIPE, check=False)
    errors = re.findall(r"misuse\.ts\((\d+),", done.stdout.decode())
    assert len(set(errors)) == text.count("@ts-expect-error:"), done.stdout.decode()


# What the sources are held against. Parameters of functions have no types of their own here, and
# nothing is said of null.
CHECKED = ("--allowJs", "--checkJs", "--noEmit", "--strict", "--noImplicitAny", "false",
           "--strictNullChecks", "false", "--useUnknownInCatchVariables", "false", "--target",
           "es2022", "--module", "es2022", "--moduleResolution", "node", "--lib",
           "es2022,dom,dom.iterable")


@needs("tsc")
@pytest.mark.parametrize("folder", [CLIENT, CLIENT.parent / "CWebFiles" / "console"],
                         ids=["client", "console"])
def test_the_compiler_finds_nothing_in_the_sources(tmp_path, folder):
    """The worker, whose names are not a page's, is left out."""
    for path in folder.rglob("*.js"):
        copy = tmp_path / path.relative_to(folder)
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(path, copy)
    (tmp_path / "react.d.ts").write_text(
        'declare module "react" { export function useSyncExternalStore(...given: any[]): any; }')
    (tmp_path / "sw.js").unlink(missing_ok=True)
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.?s"))
    assert len(files) > 10
    run("tsc", *CHECKED, *files, cwd=tmp_path)
    # It would find something: a name that an object does not have.
    (tmp_path / "mistake.js").write_text("export const mistake = document.tittle;\n")
    done = subprocess.run(("tsc", *CHECKED, *files, "mistake.js"), cwd=tmp_path, check=False,
                          stdout=subprocess.PIPE)
    assert done.returncode != 0 and b"tittle" in done.stdout


@pytest.fixture
def with_react(tmp_path):
    """The client in a folder that has React beside it."""
    modules = tmp_path / "node_modules"
    shutil.copytree(CLIENT, modules / "callagent")
    for name in ("react", "react-dom"):
        package = pathlib.Path("/usr/share/nodejs") / name
        if not package.exists():
            pytest.skip(f"not installed: node-{name}")
        (modules / name).symlink_to(package)
    return modules / "callagent"


@needs("tsc", "node")
def test_types_tell_of_what_is_there(with_react):
    names = ("index", "media", "push", "react")
    said = run("node", str(HERE / "surface.mjs"), str(with_react), *names)
    assert said.strip() == ""


@needs("node")
def test_hooks_work_in_react(agent, with_react):
    said = run("node", str(HERE / "hooks.test.mjs"), str(with_react), agent.url)
    assert "all is well in React 18" in said


@needs("node")
def test_the_worker_rings_and_is_never_silent():
    said = run("node", str(HERE / "worker.test.mjs"), str(CLIENT / "sw.js"))
    assert "all is well" in said


@needs("node")
@pytest.mark.parametrize("node", NODES, ids=version_of)
def test_a_hostile_server_ends_neither_the_agent_nor_the_process(node):
    said = run(str(node), str(HERE / "hostile.test.mjs"), str(CLIENT / "index.js"))
    assert "all is well" in said


@needs("esbuild")
@pytest.mark.parametrize("name, limit", [("index", CORE_BYTES), ("media", MEDIA_BYTES)])
def test_it_is_small(tmp_path, name, limit):
    """As an app's bundler makes it."""
    made = tmp_path / "made.js"
    run("esbuild", str(CLIENT / f"{name}.js"), "--bundle", "--minify", "--format=esm",
        f"--outfile={made}")
    assert len(gzip.compress(made.read_bytes(), 9)) <= limit
