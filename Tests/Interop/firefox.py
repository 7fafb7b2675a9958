"""A headless Firefox, told over WebDriver BiDi what to do, and the push service that it uses."""

import base64
import contextlib
import http.server
import itertools
import json
import shutil
import ssl
import subprocess
import threading
import time
import uuid

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.server import serve

from agent import free_port, wait_for
from browser import end

PATIENCE = 30  # seconds that anything in the browser may take
PREFERENCES = {
    "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.auto": False, "browser.startup.page": 0, "network.captive-portal-service.enabled":
    False, "network.connectivity-service.enabled": False, "services.settings.server": "",
    # A microphone that nobody has to allow, and voice that stays on this machine.
    "media.navigator.streams.fake": True, "media.navigator.permission.disabled": True,
    "media.peerconnection.ice.loopback": True, "media.autoplay.default": 0,
    "media.peerconnection.ice.obfuscate_host_addresses": False,
    # Notifications of its own, which nobody has to allow.
    "permissions.default.desktop-notification": 1, "alerts.useSystemBackend": False,
    "dom.push.testing.ignorePermission": True,
}

needs_firefox = pytest.mark.skipif(
    not shutil.which("firefox-esr"), reason="no Firefox: apt-get install firefox-esr")


class Firefox:
    """The process, with a profile of its own."""

    def __init__(self, folder, **preferences):
        self.open = contextlib.ExitStack()
        folder.mkdir()
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
                 for name, value in (PREFERENCES | preferences).items()]
        (folder / "user.js").write_text("".join(lines))
        port = free_port()
        log = self.open.enter_context(open(f"{folder}.log", "wb"))
        self.process = subprocess.Popen(
            ["firefox-esr", "--headless", "--no-remote", "--profile", str(folder),
             "--remote-debugging-port", str(port), "--remote-allow-system-access", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.ids = itertools.count(1)
        try:
            self.socket = self.open.enter_context(wait_for("Firefox", lambda: self.dial(port)))
            self.command("session.new", capabilities={})
        except BaseException:
            self.close()  # nobody else could: it is not there for them
            raise

    def dial(self, port):
        assert self.process.poll() is None, f"ended with {self.process.poll()}"
        with contextlib.suppress(OSError):
            return connect(f"ws://127.0.0.1:{port}/session", max_size=None)

    def command(self, method, **params):
        number = next(self.ids)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            reply = json.loads(self.socket.recv(timeout=PATIENCE))
            if reply.get("id") == number:
                assert reply["type"] == "success", reply
                return reply["result"]

    def tab(self, address):
        """A page in a tab of its own, which has loaded."""
        made = self.command("browsingContext.create", type="tab")["context"]
        self.command("browsingContext.navigate", context=made, url=address, wait="complete")
        return FirefoxTab(self, made)

    def tabs(self):
        """All tabs that are open, by address; those that pages opened, too."""
        tree = self.command("browsingContext.getTree")["contexts"]
        return {one["url"]: FirefoxTab(self, one["context"]) for one in tree}

    def press_notification(self):
        """Presses the notification that is shown. It is a window of the browser's own."""
        tree = self.command("browsingContext.getTree", **{"moz:scope": "chrome"})["contexts"]
        (window,) = (one["context"] for one in tree if one["url"].endswith("/alert.xhtml"))
        FirefoxTab(self, window).evaluate("document.getElementById('alertTextBox').click()")

    def close(self):
        end(self.process)
        with contextlib.suppress(ConnectionClosed):
            self.open.close()


class FirefoxTab:
    """One page; what is asked of it is asked as of a tab of Chromium."""

    def __init__(self, browser, context):
        self.browser = browser
        self.context = context

    def evaluate(self, script):
        """The value of an expression in the page; a promise is waited for."""
        wrapped = f"(async () => JSON.stringify((await ({script})) ?? null))()"
        result = self.browser.command(
            "script.evaluate", expression=wrapped, target={"context": self.context},
            awaitPromise=True, userActivation=True)
        assert result["type"] == "success", result
        return json.loads(result["result"]["value"])

    def command(self, *_, **__):
        """Has no commands of Chromium."""
        raise AssertionError("Firefox has no debugging protocol")

    def loads(self):
        wait_for("the page", lambda: self.evaluate("document.readyState === 'complete'"))

    def reload(self):
        self.browser.command("browsingContext.reload", context=self.context, wait="complete")

    def close(self):
        self.browser.command("browsingContext.close", context=self.context)


class PushService:
    """What a browser's vendor runs: Firefox connects to it and is woken through it."""

    def __init__(self, certificate, key):
        self.channels = {}
        # Each push that came over HTTPS: when, and what the browser said of it.
        self.pushes = []
        self.acknowledged = []
        self.sockets = serve(self.browser, "127.0.0.1", 0)
        self.port = self.sockets.socket.getsockname()[1]
        self.web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.web.socket = context.wrap_socket(self.web.socket, server_side=True)
        for one in (self.sockets, self.web):
            threading.Thread(target=one.serve_forever, daemon=True).start()

    @property
    def preferences(self):
        """Those of a Firefox that uses it."""
        return {"dom.push.serverURL": f"ws://127.0.0.1:{self.port}/",
                "dom.push.connection.enabled": True,
                "dom.push.testing.allowInsecureServerURL": True}

    def browser(self, socket):
        """One connection of a browser, in the protocol of Mozilla's service."""
        with contextlib.suppress(ConnectionClosed):
            for text in socket:
                said = json.loads(text)
                answer = getattr(self, "on_" + said.get("messageType", "ping"), None)
                reply = answer(said, socket) if answer else None
                if text == "{}":
                    reply = {}
                if reply is not None:
                    socket.send(json.dumps(reply))

    def on_hello(self, said, _):
        return {"messageType": "hello", "status": 200, "use_webpush": True,
                "uaid": said.get("uaid") or uuid.uuid4().hex, "broadcasts": {}}

    def on_register(self, said, socket):
        channel = said["channelID"]
        self.channels[channel] = socket
        return {"messageType": "register", "channelID": channel, "status": 200,
                "pushEndpoint": f"https://localhost:{self.web.server_port}/wpush/{channel}"}

    def on_unregister(self, said, _):
        self.channels.pop(said["channelID"], None)
        return {"messageType": "unregister", "channelID": said["channelID"], "status": 200}

    def on_ack(self, said, _):
        self.acknowledged.extend(said["updates"])

    def handler(self):
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                channel = self.path.rsplit("/", 1)[-1]
                body = self.rfile.read(int(self.headers["Content-Length"]))
                socket = service.channels.get(channel)
                self.send_response(201 if socket else 410)
                self.send_header("Location", f"/message/{uuid.uuid4().hex}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                service.pushes.append(time.monotonic())
                if socket:
                    socket.send(json.dumps({
                        "messageType": "notification", "channelID": channel,
                        "version": uuid.uuid4().hex,
                        "data": base64.urlsafe_b64encode(body).rstrip(b"=").decode(),
                        "headers": {"encoding": self.headers["Content-Encoding"]}}))

            def log_message(self, *arguments):
                pass

        return Handler

    def close(self):
        self.sockets.shutdown()
        self.web.shutdown()
        self.web.server_close()
