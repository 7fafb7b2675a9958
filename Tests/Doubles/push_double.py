"""One local HTTP/2 server that plays APNs, FCM, Web Push and a receiver of webhooks.

usage: push_double.py FOLDER

Certificates and keys are written to FOLDER. The first line on standard output is a JSON object with
ports and keys; after that each line on standard input is a command and gets one line in reply. The
program ends when its standard input does.

Commands, each an object with "do":

    plan     for requests whose device token (path, name) begins with "prefix": "replies", a list
             used up one by one, the last one for good; each may hold status, reason, detail,
             headers, body, act, delay (seconds), dead_for (seconds since Apple knows that the
             token is dead). Without replies the plan is lifted.
    seen     the requests so far: service, subject, verdict, fields, payload; forgets them
    server   sets streams, window, greeting_delay, lifetime, clock_skew; tells the counters
    goaway   every connection is told to go away; "code"
    drop     every connection dies at once
    freeze   nobody reads the connections that are there any more; new ones are served
    phone    a device that fetches what it was pushed for; see phone.py
"""

import asyncio
import http.server
import json
import sys
import threading

from credentials import Credentials
from h2_server import Reply, Server
from phone import Phones
from services import Apple, Browser, Google, Mirror, Receiver, Refused


class Double:
    """The services behind one server, with the plans of the test."""

    def __init__(self, credentials):
        self.credentials = credentials
        self.server = Server(self.respond)
        self.wrong = Server(self.respond)
        self.phones = Phones()
        self.plans = {}
        self.seen = []

    async def start(self):
        port = await self.server.listen(*self.credentials.certificate)
        wrong_port = await self.wrong.listen(*self.credentials.wrong_certificate)
        base = f"https://localhost:{port}"
        hello = self.credentials.describe(port, wrong_port, start_plain())
        self.google = Google(self.credentials, base)
        self.apple = Apple(self.credentials)
        self.services = [
            self.apple, self.google, Browser(self.credentials, base),
            Receiver(self.credentials, hello["hook_secrets"]), Mirror()]
        return hello

    async def respond(self, request):
        service = next((s for s in self.services if s.accepts(request)), None)
        if service is None:
            return Reply(404, [], b'{"reason":"BadPath"}')
        subject = service.subject(request)
        payload = None
        plan = self.take_plan(subject)
        try:
            # Also when a plan decides the answer: a wrong request must not hide behind it.
            reply, payload = service.handle(request)
            verdict = reply.status
        except Refused as refusal:
            reply, verdict = service.refuse(refusal), str(refusal)
        except Exception as error:  # a request that the checks did not foresee
            reply, verdict = Reply(500), repr(error)
        if plan is not None:
            reply = self.planned(service, plan, reply)
        self.seen.append({
            "service": type(service).__name__, "subject": subject, "verdict": verdict,
            "status": reply.status if reply.act == "reply" else reply.act,
            "fields": dict(request.fields), "payload": payload, "size": len(request.body)})
        if 200 <= reply.status < 300 and reply.act in ("reply", "lose", "close"):
            self.phones.deliver(subject, payload)
        return reply

    def take_plan(self, subject):
        fits = [prefix for prefix in self.plans if subject.startswith(prefix)]
        if not fits:
            return None
        replies = self.plans[max(fits, key=len)]
        return replies.pop(0) if len(replies) > 1 else replies[0]

    def planned(self, service, plan, usual):
        reply = usual
        if "reason" in plan:
            refusal = Refused(plan["status"], plan["reason"], plan.get("detail", ""),
                              plan.get("dead_for", 0))
            reply = service.refuse(refusal)
        elif "status" in plan:
            reply = Reply(plan["status"], [], plan.get("body", "").encode())
        reply.headers += [tuple(field) for field in plan.get("headers", {}).items()]
        reply.act = plan.get("act", "reply")
        reply.delay = plan.get("delay", 0.0)
        return reply

    # Commands

    def do_plan(self, command):
        if command.get("replies"):
            self.plans[command["prefix"]] = list(command["replies"])
        else:
            self.plans.pop(command["prefix"], None)
        return {}

    def do_seen(self, _):
        seen, self.seen = self.seen, []
        return {"seen": seen}

    def do_server(self, command):
        if "streams" in command:
            self.server.streams = command["streams"]
            for connection in self.server.connections:
                connection.limit_streams(command["streams"])
        if "window" in command:
            self.server.window = command["window"]
            for connection in self.server.connections:
                connection.open_window(command["window"])
        self.server.greeting_delay = command.get("greeting_delay", self.server.greeting_delay)
        self.google.lifetime = command.get("lifetime", self.google.lifetime)
        self.google.clock_skew = command.get("clock_skew", self.google.clock_skew)
        counters = {
            "accepted": self.server.accepted, "open": len(self.server.connections),
            "most_streams": self.server.most_streams, "resets": self.server.resets,
            "refused": self.server.refused, "answered": self.server.answered,
            "grants": len(self.google.issued),
            "provider_tokens": len(self.apple.tokens_seen), "lost": PlainHandler.lost}
        self.server.most_streams = 0
        return counters

    def do_goaway(self, command):
        for connection in list(self.server.connections):
            last = max(connection.requests, default=0)
            connection.go_away(last, command.get("code", 0))
            if not connection.requests:
                connection.transport.close()
        return {}

    def do_drop(self, _):
        for connection in list(self.server.connections):
            connection.transport.abort()
        return {}

    def do_freeze(self, _):
        for connection in self.server.connections:
            connection.data_received = lambda _: None
        return {}

    def do_phone(self, command):
        return self.phones.command(command)


class PlainHandler(http.server.BaseHTTPRequestHandler):
    """HTTP/1.1 without TLS: everything is echoed. For `/lose` the connection ends instead of the
    answer; the answers to `/meet-N` wait until N requests for it are there."""

    protocol_version = "HTTP/1.1"
    lost = 0
    lock = threading.Lock()
    barriers = {}

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path.startswith("/meet-"):
            self.meet(int(self.path.removeprefix("/meet-")))
        if self.path == "/lose":
            PlainHandler.lost += 1
            self.close_connection = True
            return
        text = json.dumps({"method": self.command, "path": self.path,
                           "fields": self.headers.items(), "body": body.decode("latin-1")}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def meet(self, count):
        with PlainHandler.lock:
            barrier = PlainHandler.barriers.setdefault(count, threading.Barrier(count))
        barrier.wait(60)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = answer

    def log_message(self, *_):
        pass


def start_plain():
    plain = http.server.ThreadingHTTPServer(("127.0.0.1", 0), PlainHandler)
    plain.daemon_threads = True
    threading.Thread(target=plain.serve_forever, daemon=True).start()
    return plain.server_address[1]


def say(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


async def main():
    double = Double(Credentials(sys.argv[1]))
    loop = asyncio.get_running_loop()
    say(await double.start())
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        say(getattr(double, "do_" + command["do"])(command))


asyncio.run(main())
