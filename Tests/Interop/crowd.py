"""Thousands of clients in one process: bare sockets that speak just enough of the protocol."""

import contextlib
import json
import os
import resource
import selectors
import socket
import time

from raw import CLOSE, KEY, TEXT, frame

UPGRADE = ("GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n\r\n").encode()


def hello(number):
    data = {"token": f"dev:user-{number}", "device": "phone"}
    return UPGRADE + frame(TEXT, json.dumps({"id": 1, "op": "hello", "data": data}).encode())


SPARE = 64  # descriptors for everything else in a process


def room_for(count):
    """How many of these clients this process and the server may have open, of `count`.

    Both get a limit that is high enough, as far as the machine allows.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (max(hard, count + SPARE), hard):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
            return min(count, wanted - SPARE)
    return min(count, soft - SPARE)


class Crowd:
    """Clients that are connected, or on their way."""

    def __init__(self, port):
        self.address = ("127.0.0.1", port)
        self.sockets = {}  # number → socket, once its hello was answered

    def come(self, numbers, patience, meanwhile=lambda: None):
        """Connects them all at once; returns the seconds until the last one is welcome.

        Whoever is turned away comes again a little later, as a client does.
        """
        begin = time.monotonic()
        waiting = list(numbers)[::-1]
        with selectors.DefaultSelector() as selector:
            open_ = 0
            left = len(waiting)
            while left:
                assert time.monotonic() - begin < patience, f"{left} are still away"
                meanwhile()
                while waiting and open_ < 4_000:
                    if not self.knock(waiting.pop(), selector):
                        break
                    open_ += 1
                for key, _ in selector.select(0.05):
                    number, is_sent = key.data
                    done = self.proceed(key, selector, is_sent)
                    if done is None:
                        continue
                    open_ -= 1
                    if done:
                        self.sockets[number] = key.fileobj
                        left -= 1
                    else:
                        key.fileobj.close()
                        waiting.insert(0, number)
        return time.monotonic() - begin

    def knock(self, number, selector):
        made = socket.socket()
        made.setblocking(False)
        made.connect_ex(self.address)
        selector.register(made, selectors.EVENT_WRITE, (number, False))
        return True

    def proceed(self, key, selector, is_sent):
        """None: not yet; True: welcome; False: turned away."""
        number = key.data[0]
        try:
            if not is_sent:
                key.fileobj.send(hello(number))
                selector.modify(key.fileobj, selectors.EVENT_READ, (number, True))
                return None
            data = key.fileobj.recv(65_536)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if data and b'"re":1' not in data:
            return None
        selector.unregister(key.fileobj)
        return bool(data)

    def gone(self):
        """The numbers of those to whom the server has said goodbye, or whose line is broken."""
        found = []
        for number, made in self.sockets.items():
            with contextlib.suppress(BlockingIOError):
                try:
                    data = made.recv(65_536)
                except ConnectionError:
                    data = b""
                # They are told nothing, so that all they can get is a close, or a ping before.
                if not data or bytes((0x80 | CLOSE,)) in data:
                    found.append(number)
        return found

    def vanish(self):
        """All of them lose the line at the same moment."""
        for made in self.sockets.values():
            os.close(made.detach())
        self.sockets = {}
