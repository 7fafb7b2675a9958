"""Passes bytes on to a server and its answers back later, so that a fast server seems far away.

usage: delay.py PORT SECONDS

Prints the port that it listens on. Each line on standard input is a command: "hang" keeps the
answers back, "go" lets them go. Ends when standard input does. It never looks into the bytes, so it
costs little even when thousands of requests pass.
"""

import asyncio
import sys


class Far(asyncio.Protocol):
    """The connection to the server: what comes from it goes to the client later."""

    def __init__(self, relay, client):
        self.relay = relay
        self.client = client

    def data_received(self, data):
        self.relay.loop.call_later(self.relay.seconds, self.relay.answer, self.client, data)

    def connection_lost(self, _):
        self.relay.loop.call_later(self.relay.seconds, self.client.close)


class Near(asyncio.Protocol):
    """A connection of a client: what comes from it goes to the server at once."""

    def __init__(self, relay):
        self.relay = relay
        self.early = []
        self.server = None

    def connection_made(self, transport):
        self.transport = transport
        self.dialling = asyncio.ensure_future(self.dial())

    async def dial(self):
        self.server, _ = await self.relay.loop.create_connection(
            lambda: Far(self.relay, self.transport), "127.0.0.1", self.relay.port)
        for data in self.early:
            self.server.write(data)

    def data_received(self, data):
        if self.server is None:
            self.early.append(data)
        else:
            self.server.write(data)

    def connection_lost(self, _):
        if self.server is not None:
            self.server.close()


class Relay:
    """All connections, and what is kept back while the server hangs."""

    def __init__(self, port, seconds):
        self.loop = asyncio.get_running_loop()
        self.port = port
        self.seconds = seconds
        self.kept = None

    def answer(self, client, data):
        if self.kept is not None:
            self.kept.append((client, data))
        elif not client.is_closing():
            client.write(data)

    def command(self, word):
        if word == "hang":
            self.kept = self.kept or []
            return
        kept, self.kept = self.kept or [], None
        for client, data in kept:
            self.answer(client, data)


async def main():
    relay = Relay(int(sys.argv[1]), float(sys.argv[2]))
    listener = await relay.loop.create_server(lambda: Near(relay), "127.0.0.1", 0)
    print(listener.sockets[0].getsockname()[1], flush=True)
    while line := await relay.loop.run_in_executor(None, sys.stdin.readline):
        relay.command(line.strip())


asyncio.run(main())
