"""A web server that plugins fetch from: every path is a way to answer."""

import http.server
import json
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    """`/echo` tells what came, `/hang` says nothing, `/big` and `/chunk` too much, `/away` points
    elsewhere."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.seen.append((self.command, self.path, dict(self.headers.items()), body))
        kind = self.path.split("?")[0].strip("/")
        getattr(self, "say_" + kind, self.say_nothing_here)(body)

    def reply(self, status, body, **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def say_echo(self, body):
        told = {"method": self.command, "path": self.path, "body": body.decode()}
        self.reply(200, json.dumps(told).encode(), content_type="application/json")

    def say_hang(self, _):
        """Says nothing until the client goes away, and notes that it did."""
        self.close_connection = True
        try:
            self.connection.recv(1)
        except ConnectionResetError:
            pass
        self.server.left.set()

    def say_big(self, _):
        self.reply(200, b"x" * 300_000)

    def say_chunk(self, _):
        """A chunk whose size never ends: what stands behind `;` is for nobody."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;")
        try:
            while True:
                self.wfile.write(b"x" * 65_536)
        except OSError:
            self.server.left.set()
        self.close_connection = True

    def say_away(self, _):
        self.reply(302, b"", location="/echo")

    def say_nothing_here(self, _):
        self.reply(404, b"nothing here")

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """Says nothing of clients that went away."""

    daemon_threads = True

    def handle_error(self, *_):
        pass


class Web:
    """The server, on a port of its own; `seen` has the requests, `left` that a client gave up."""

    def __init__(self):
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.seen = self.seen = []
        self.server.left = self.left = threading.Event()
        self.url = f"http://localhost:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
