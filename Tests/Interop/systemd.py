"""A service manager, as far as a server can tell: it listens where NOTIFY_SOCKET says."""

import contextlib
import queue
import socket
import threading


class Manager:
    """Hears what sd_notify of systemd would. It reads all the time, as systemd does, unless it is
    `busy`: then its queue is full until `begin`."""

    def __init__(self, address, busy=False):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.told = queue.Queue()
        self.heard = []
        if busy:
            self.fill(address)
        else:
            self.begin()

    def fill(self, address):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    other.sendto(b"STATUS=another one", address)

    def begin(self):
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            try:
                text = self.socket.recv(4_096)
            except OSError:
                return
            if not text:
                return
            self.told.put(text.decode().splitlines())

    def hears(self, line):
        """The next message that has this line; those before it are passed over."""
        while True:
            try:
                lines = self.told.get(timeout=30)
            except queue.Empty:
                raise AssertionError(f"not told {line}, but {self.heard}") from None
            self.heard += lines
            if line in lines:
                return lines

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
