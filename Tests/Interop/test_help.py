"""The whole documentation under the console's Help: from disk, apart from the console itself."""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess

import pytest

from agent import free_port, wait_for
from browser import EMPTY, PATIENCE, ROOT, Browser, needs_browser
from console import ROLES, Console
from firefox import Firefox, needs_firefox
from test_console import proxy

SITE = ROOT / ".build" / "documentation" / "site"
MADE_FROM = ("examples/site*", "examples/site/*", "Sources/*/*.docc/**/*.md")
# Before any script of a page: what its policy forbids, and what fails in it.
WATCH = """
    globalThis.wrong = [];
    addEventListener('securitypolicyviolation',
        e => wrong.push(`${e.violatedDirective} ${e.blockedURI}`));
    addEventListener('error', e => wrong.push(String(e.message)));
    addEventListener('unhandledrejection', e => wrong.push(String(e.reason)));
"""
# A script of the site that tries to reach what is the console's, or elsewhere.
GREEDY = """
(async () => {
    const ways = {
        session: () => sessionStorage.getItem("callagent-token"),
        local: () => localStorage.length,
        cookie: () => { document.cookie = "a=b"; },
        api: () => fetch("/admin/v1/status"),
        blind: () => fetch("/admin/v1/reload", { method: "POST", mode: "no-cors" }),
        console: () => fetch("/main.js"),
        elsewhere: () => fetch("http://127.0.0.1:1/x", { mode: "no-cors" }),
        image: () => new Promise((done, fail) => Object.assign(
            document.createElement("img"),
            { onload: done, onerror: fail, src: "//elsewhere.example/x.png" })),
        window: () => window.open("/") ?? Promise.reject(),
        frame: () => new Promise((done, fail) => {
            const frame = Object.assign(document.createElement("iframe"), { src: "/" });
            frame.onload = () => frame.contentDocument?.body ? done() : fail();
            frame.onerror = fail;
            document.body.append(frame);
        }),
        code: () => eval("1"),
        own: () => fetch("/help/site/data/documentation.json"),
    };
    const open = [];
    for (const [name, way] of Object.entries(ways)) {
        try { await way(); open.push(name); } catch {}
    }
    document.title = `reached: ${open.join()}`;
})();
"""


@pytest.fixture
def serve(make_agent):
    """A console whose site is in a folder."""
    def start(folder):
        port = free_port()
        agent = make_agent(
            ROLES + f'console = {{ listen = "127.0.0.1:{port}" }}\n',
            environment={"CALLAGENT_SITE": str(folder)}).start()
        return Console(agent, port)
    return start


@pytest.fixture
def folder(tmp_path):
    """A site with things that are none of it."""
    top = tmp_path / "site"
    texts = {
        "js/callagent.js": "let a", "css/a.css": "a {}", "data/documentation.json": "{}",
        "documentation/index.html": "first", "documentation/a/index.html": "a",
        "data/documentation/a/==(_:_:).json": "[]", ".hidden": "secret",
        "empty/.keep": "", "../secret": "secret", "../outside/index.html": "secret"}
    for name, text in texts.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "link").symlink_to("../secret")
    (top / "own-link").symlink_to("js/callagent.js")
    (top / "folder-link").symlink_to("../outside")
    (top / "page-link").mkdir()
    (top / "page-link" / "index.html").symlink_to("../../secret")
    os.mkfifo(top / "pipe")
    with open(top / "long.json", "wb") as file:
        file.truncate((1 << 20) + 1)
    return top


def test_files_come_with_type_and_tag_and_a_policy_of_their_own(serve, folder):
    console = serve(folder)
    for path, kind, text in (
            ("documentation/", "text/html", "first"), ("documentation", "text/html", "first"),
            ("documentation/a", "text/html", "a"), ("js/callagent.js", "text/javascript", "let a"),
            ("css/a.css", "text/css", "a {}"),
            ("data/documentation.json", "application/json", "{}"),
            ("data/documentation/a/%3D%3D(_:_:).json", "application/json", "[]")):
        for credential in (None, console.viewer, console.operator):
            reply = console.request("GET", f"/help/site/{path}", token=credential)
            assert (reply.status, reply.text) == (200, text), path
        assert reply.headers["Content-Type"].startswith(kind)
        policy = reply.headers["Content-Security-Policy"]
        assert "sandbox allow-scripts;" in policy and "default-src 'none'" in policy
        assert "unsafe" not in policy and "*" not in policy
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        head = console.request("HEAD", f"/help/site/{path}")
        assert head.status == 200 and head.text == ""
        assert head.headers["Content-Length"] == str(len(text))
        tag = {"If-None-Match": f'"x", {reply.headers["ETag"]}'}
        again = console.request("GET", f"/help/site/{path}", headers=tag)
        assert again.status == 304 and again.text == ""
    (folder / "css/new.css").write_text("b {}")
    (folder / "css/new.css").rename(folder / "css/a.css")
    assert console.request("GET", "/help/site/css/a.css", headers=tag).text == "b {}"
    for path in ("/help/site", "/help/site/"):
        reply = console.request("GET", path)
        assert (reply.status, reply.headers["Location"]) == (302, "/help/site/documentation/")
    reply = console.request("POST", "/help/site/documentation/", {})
    assert reply.status == 405 and reply.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", [
    "../secret", "..%2fsecret", "%2e%2e/secret", "%2e%2e%2fsecret", "js/../../secret",
    "js/%2e%2e/%2e%2e/secret", "js/..", "..", "%2e", "/../secret", "js%2fcallagent.js",
    "link", "own-link", "folder-link", "folder-link/", "folder-link/index.html", "page-link",
    ".hidden", "%2ehidden", "pipe", "empty", "js", "js/callagent.js/x",
    "nothing", "x" * 300, "documentation\\..\\..\\secret", "%5c..%5csecret",
])
def test_nothing_else_comes_from_disk(serve, folder, path):
    console = serve(folder)
    # It answers in order, so what follows shows that nothing waits for ever.
    with console.open() as connection:
        for wanted, status in ((path, {404}), ("documentation/", {200})):
            connection.request("GET", f"/help/site/{wanted}")
            reply = connection.getresponse()
            text = reply.read()
            assert reply.status in status and b"secret" not in text, (wanted, reply.status)


def test_a_bad_address_and_a_long_file_are_refused(serve, folder):
    console = serve(folder)
    for path in ("%00", "js/%", "%ff"):
        assert console.request("GET", f"/help/site/{path}").status == 400
    reply = console.request("GET", "/help/site/long.json")
    assert reply.status == 500 and "too long" in reply.text and len(reply.text) < 100


def test_its_pages_have_no_origin_and_get_the_site_only(serve, folder):
    console = serve(folder)
    nobody = {"Origin": "null"}
    reply = console.request("GET", "/help/site/data/documentation.json", headers=nobody)
    assert reply.status == 200 and reply.headers["Access-Control-Allow-Origin"] == "null"
    for path in ("/", "/help/Operating", "/help/sites", "/admin/v1/status"):
        reply = console.request("GET", path, headers=nobody, token=console.operator)
        assert reply.status == 403 and "Access-Control-Allow-Origin" not in reply.headers, path
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        assert console.request("GET", "/help/site/documentation/", headers=headers).status == 403


def test_without_a_site_it_says_how_to_get_one(serve, tmp_path):
    for folder in (tmp_path, tmp_path / "gone"):
        console = serve(folder)
        for path, status in (("", 200), ("documentation/callcore", 404), ("../x", 404)):
            reply = console.request("GET", f"/help/site/{path}")
            assert reply.status == status
            assert reply.headers["Content-Type"].startswith("text/html")
            assert "<code>sh examples/site.sh</code>" in reply.text
            assert "sandbox" not in reply.headers["Content-Security-Policy"]
        console.agent.stop()


def test_an_executable_finds_the_site_that_was_installed_with_it(
        make_agent, folder, tmp_path, monkeypatch):
    top = tmp_path / "usr"
    (top / "bin").mkdir(parents=True)
    (top / "share").mkdir()
    monkeypatch.setenv("CALLAGENT", shutil.copy(os.environ["CALLAGENT"], top / "bin"))
    monkeypatch.delenv("CALLAGENT_SITE", raising=False)
    for place in ("share/callagent", "."):
        (top / place).mkdir(exist_ok=True)
        folder.rename(top / place / "site")
        folder = top / place / "site"
        agent = make_agent(folder=place.replace("/", "-").replace(".", "above")).start()
        # The command needs no configuration, and looks for it by itself.
        with proxy(agent) as (console, _):
            reply = console.request("GET", "/help/site/documentation/")
            assert (reply.status, reply.text) == (200, "first"), place
            assert console.request("GET", "/help/site/..%2fsecret").status == 404
        agent.stop()


# What DocC made, in browsers

@pytest.fixture(scope="session")
def site():
    """The site of these sources; made when there is none, by one of those who want it."""
    SITE.parent.mkdir(parents=True, exist_ok=True)
    with open(SITE.parent / "site.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        newest = max(path.stat().st_mtime for kind in MADE_FROM for path in ROOT.glob(kind))
        mark = SITE / "js" / "callagent.js"
        if not mark.exists() or mark.stat().st_mtime < newest:
            subprocess.run(["sh", "examples/site.sh", SITE], cwd=ROOT, check=True)
    return SITE


def follow(tab, name, then):
    """Clicks a link of the page, and waits for what stands on the next one."""
    link = f"[...document.querySelectorAll('a')].find(a => a.innerText.trim() === {name!r})"
    wait_for(f"the link {name!r}", lambda: tab.evaluate(f"{link} !== undefined"),
             patience=PATIENCE, pause=0.05)
    tab.evaluate(f"{link}.click()")
    title = "document.querySelector('h1')?.innerText"
    wait_for(f"{then!r}", lambda: tab.evaluate(f"{title} === {then!r}"),
             patience=PATIENCE, pause=0.05)


@needs_browser
def test_help_leads_to_all_pages_and_from_one_to_another(serve, site, tmp_path):
    console = serve(site)
    with contextlib.closing(Browser(tmp_path / "profile")) as browser:
        tab = browser.tab(EMPTY)
        tab.command("Page.enable")
        tab.command("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        tab.command("Page.navigate", url=f"http://127.0.0.1:{console.port}/#token={console.viewer}")
        wait_for("the console", lambda: "It takes calls" in (
            tab.evaluate("document.body?.innerText") or ""), patience=PATIENCE, pause=0.05)
        assert tab.evaluate("sessionStorage.length") == 1
        follow(tab, "Help", "Operating")
        follow(tab, "All documentation", "callagent")
        follow(tab, "CallCore", "CallCore")
        follow(tab, "Coming from ZIM", "Coming from ZIM")
        tab.evaluate("globalThis.stays = true")
        follow(tab, "CallSimulator", "CallSimulator")
        assert tab.evaluate("stays"), "the page was not kept"
        assert tab.evaluate("location.pathname") == "/help/site/documentation/callsimulator"
        names = tab.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
        begin = f"http://127.0.0.1:{console.port}/help/site/"
        assert len(names) > 10 and all(name.startswith(begin) for name in names), names
        assert tab.evaluate("wrong") == []
        # A page that is asked for by its address is there too.
        tab.command("Page.reload")
        wait_for("the page", lambda: tab.evaluate(
            "globalThis.stays === undefined && document.querySelector('h1')?.innerText"
            " === 'CallSimulator'"), patience=PATIENCE, pause=0.05)
        assert tab.evaluate("wrong") == []


@needs_browser
def test_a_script_of_the_site_reaches_nothing_but_the_site(serve, folder, tmp_path):
    console = serve(folder)
    (folder / "js/callagent.js").write_text(GREEDY)
    (folder / "documentation/index.html").write_text(
        '<!doctype html><title>x</title><body><script>document.title = "inline"</script>'
        '<script src="/help/site/js/callagent.js"></script>')
    begin = f"http://127.0.0.1:{console.port}"

    def looks(tab):
        wait_for("the console", lambda: "It takes calls" in (
            tab.evaluate("document.body?.innerText") or ""), patience=PATIENCE, pause=0.05)

    with contextlib.closing(Browser(tmp_path / "profile")) as browser:
        tab = browser.tab(f"{begin}/#token={console.operator}")
        looks(tab)
        tab.command("Page.navigate", url=f"{begin}/help/site/")
        wait_for("its end", lambda: "reached" in (tab.evaluate("document.title") or ""),
                 patience=PATIENCE, pause=0.05)
        assert tab.evaluate("document.title") == "reached: own"
        assert tab.evaluate("origin") == "null"
        # The console itself still has what the page could not see.
        tab.command("Page.navigate", url=f"{begin}/")
        looks(tab)
    audit = console.get("/audit", token=console.viewer).body["items"]
    assert audit == []


@needs_firefox
def test_another_browser_shows_it_too(serve, site, tmp_path):
    console = serve(site)
    with contextlib.closing(Firefox(tmp_path / "profile")) as browser:
        tab = browser.tab(f"http://127.0.0.1:{console.port}/help/Operating")
        follow(tab, "All documentation", "callagent")
        tab.evaluate("globalThis.stays = true")
        follow(tab, "CallCore", "CallCore")
        follow(tab, "Coming from ZIM", "Coming from ZIM")
        assert tab.evaluate("stays"), "the page was not kept"
        assert tab.evaluate("getComputedStyle(document.body).margin") == "0px", "without its style"
        assert tab.evaluate("origin") == "null"


def test_what_the_executable_has_of_it_leads_into_the_site(serve, site):
    console = serve(site)
    text = console.request("GET", "/help/Operating").text
    links = set()
    for page in set(re.findall(r'href="(/help/[A-Za-z]+)"', text)):
        links |= set(re.findall(r'href="(/help/site/[^"]+)"', console.request("GET", page).text))
    assert "/help/site/documentation/storage" in links
    for link in links - {"/help/site/"}:
        assert console.request("GET", link).status == 200, link


def test_the_largest_file_of_it_has_room(site):
    sizes = {path.stat().st_size: path for path in site.rglob("*") if path.is_file()}
    assert max(sizes) < 1 << 19, sizes[max(sizes)]
