"""A service manager, as far as a server can tell: it listens where NOTIFY_SOCKET says."""

import socket


class Manager:
    """Hears what sd_notify of systemd would."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.settimeout(30)
        self.heard = []

    def hears(self, line):
        """The next message that has this line; those before it are passed over."""
        while True:
            lines = self.socket.recv(4_096).decode().splitlines()
            self.heard += lines
            if line in lines:
                return lines

    def close(self):
        self.socket.close()
