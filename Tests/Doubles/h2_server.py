"""An HTTP/2 server over TLS whose every frame a test can spoil."""

import asyncio
import socket
import ssl
import struct

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
from hyperframe.frame import GoAwayFrame


class Request:
    """One request as it came, with the connection it came on."""

    def __init__(self, stream, fields, connection):
        self.stream = stream
        self.fields = [(name.decode(), value.decode()) for name, value in fields]
        self.body = b""
        self.connection = connection

    def header(self, name):
        """The first value of a field, or None."""
        return next((value for key, value in self.fields if key == name), None)

    @property
    def method(self):
        return self.header(":method")

    @property
    def path(self):
        return self.header(":path")

    def doubled(self):
        """Names that stand more than once."""
        names = [name for name, _ in self.fields]
        return sorted({name for name in names if names.count(name) > 1})


class Reply:
    """What to answer, and what to do to the connection.

    `act` is one of: reply, hang, refuse (REFUSED_STREAM), cancel (another reset instead of the
    reply), reset (after the headers), lose (the connection ends instead of the reply), break (it
    is reset), goaway (the stream was not processed), close (GOAWAY after the reply), truncate (the
    body ends in a reset).
    """

    def __init__(self, status=200, headers=(), body=b"", act="reply", delay=0.0):
        self.status = status
        self.headers = list(headers)
        self.body = body
        self.act = act
        self.delay = delay


class Http2(h2.connection.H2Connection):
    """A stream too many is refused by Connection.handle, as servers do for a client that has not
    seen the limit yet; h2 would end the whole connection."""

    open_inbound_streams = 0


class Connection(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, server):
        self.server = server
        self.requests = {}
        self.windows = asyncio.Event()
        self.early = b""
        self.has_greeted = False
        self.tasks = set()
        config = h2.config.H2Configuration(client_side=False, header_encoding=False)
        self.h2 = Http2(config)

    # asyncio calls these

    def connection_made(self, transport):
        self.transport = transport
        self.server.connections.append(self)
        self.server.accepted += 1
        self.start(self.greet())

    def connection_lost(self, error):
        if self in self.server.connections:
            self.server.connections.remove(self)
        for task in self.tasks:
            task.cancel()

    def data_received(self, data):
        if not self.has_greeted:
            self.early += data
            return
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.flush()
            self.transport.close()
            return
        for event in events:
            self.handle(event)
        self.flush()

    # frames

    async def greet(self):
        """The delay stands for a slow start; nothing is said before."""
        await asyncio.sleep(self.server.greeting_delay)
        limit = {h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: self.server.streams,
                 h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: self.server.window}
        self.h2.local_settings = h2.settings.Settings(client=False, initial_values=limit)
        self.h2.initiate_connection()
        self.flush()
        self.has_greeted = True
        self.data_received(self.early)

    def limit_streams(self, count):
        self.h2.update_settings({h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: count})
        self.flush()

    def open_window(self, size):
        """What a request may send before the server has read some of it."""
        self.h2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: size})
        self.flush()

    def go_away(self, last, code=0, debug=b""):
        """h2 would refuse to end the streams that go on, so the frame is made by hand."""
        frame = GoAwayFrame(0, last_stream_id=last, error_code=code, additional_data=debug)
        self.flush()
        self.transport.write(frame.serialize())

    def handle(self, event):
        if isinstance(event, h2.events.RequestReceived):
            if len(self.requests) >= self.server.streams:
                # A client may not have seen the limit yet.
                self.server.refused += 1
                self.h2.reset_stream(event.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
                return
            request = Request(event.stream_id, event.headers, self)
            self.requests[event.stream_id] = request
            running = len(self.requests)
            self.server.most_streams = max(self.server.most_streams, running)
        elif isinstance(event, h2.events.DataReceived):
            if event.stream_id in self.requests:
                self.requests[event.stream_id].body += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded) and event.stream_id in self.requests:
            self.start(self.answer(self.requests[event.stream_id]))
        elif isinstance(event, h2.events.StreamReset):
            self.requests.pop(event.stream_id, None)
            self.server.resets += 1
        elif isinstance(event, h2.events.WindowUpdated):
            self.windows.set()

    def start(self, work):
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def flush(self):
        data = self.h2.data_to_send()
        if data:
            self.transport.write(data)

    async def answer(self, request):
        reply = await self.server.respond(request)
        await asyncio.sleep(reply.delay)
        if request.stream not in self.requests:
            return
        try:
            await self.send(request, reply)
        except (h2.exceptions.StreamClosedError, h2.exceptions.ProtocolError):
            pass
        self.flush()
        self.server.answered += 1

    async def send(self, request, reply):
        stream = request.stream
        if reply.act == "hang":
            return
        if reply.act in ("lose", "break"):
            if reply.act == "break":
                self.transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()
            return
        self.requests.pop(stream, None)
        if reply.act == "cancel":
            self.h2.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
            return
        if reply.act == "refuse":
            self.h2.reset_stream(stream, h2.errors.ErrorCodes.REFUSED_STREAM)
            return
        if reply.act == "goaway":
            self.go_away(last=max(stream - 2, 0), debug=b'{"reason":"Shutdown"}')
            return
        fields = [(":status", str(reply.status))] + reply.headers
        self.h2.send_headers(stream, fields, end_stream=not reply.body and reply.act == "reply")
        if reply.act == "reset":
            self.h2.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
            return
        await self.send_body(stream, reply.body, keeps_open=reply.act == "truncate")
        if reply.act == "truncate":
            self.h2.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
        if reply.act == "close":
            self.go_away(last=stream)
            self.transport.close()

    async def send_body(self, stream, body, keeps_open):
        if not body:
            if not keeps_open:
                self.h2.end_stream(stream)
            return
        rest = body
        while rest:
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            if room == 0:
                self.windows.clear()
                self.flush()
                await self.windows.wait()
                continue
            chunk, rest = rest[:room], rest[room:]
            self.h2.send_data(stream, chunk, end_stream=not rest and not keeps_open)
            self.flush()
            await asyncio.sleep(0)


class Server:
    """Accepts connections and asks `respond`, a coroutine, for a `Reply` to each `Request`."""

    def __init__(self, respond):
        self.respond = respond
        self.connections = []
        self.streams = 500
        self.window = 65_535
        self.greeting_delay = 0.0
        self.accepted = 0
        self.answered = 0
        self.most_streams = 0
        self.resets = 0
        self.refused = 0

    async def listen(self, certificate, key):
        """Listens on a free port of the loopback and returns it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["h2"])
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(
            lambda: Connection(self), "127.0.0.1", 0, ssl=context, backlog=512)
        return listener.sockets[0].getsockname()[1]
