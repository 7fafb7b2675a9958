"""A network between two programs that swallows what goes over it, or is slow."""

import selectors
import socket
import threading


class Talk:
    """What one client says, as it is."""

    def pass_on(self, data):
        """What goes on of `data`, which the client has said."""
        return data

    def sent(self):
        """What goes on is on its way."""


class Way:
    """The way to a port: it may swallow all that goes over it, or be slow."""

    def __init__(self, port):
        self.target = port
        self.swallows = False
        self.delay = 0
        self.over = threading.Event()
        self.ends = []
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while not self.over.is_set():
            try:
                near, _ = self.door.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(near,), daemon=True).start()

    def talk(self):
        """What becomes of what the next client says."""
        return Talk()

    def carry(self, near):
        try:
            while self.swallows and not self.over.wait(0.02):
                pass
            far = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            near.close()
            return
        self.ends += [near, far]
        talk = self.talk()
        with near, far, selectors.DefaultSelector() as ready:
            ready.register(near, selectors.EVENT_READ, far)
            ready.register(far, selectors.EVENT_READ, near)
            try:
                while not self.over.is_set():
                    for key, _ in ready.select(0.1):
                        data = key.fileobj.recv(65_536)
                        if not data:
                            return
                        if self.delay:
                            self.over.wait(self.delay)
                        if key.fileobj is near:
                            data = talk.pass_on(data)
                        # What is swallowed once is gone: both ends notice it much later.
                        if data and not self.swallows:
                            key.data.sendall(data)
                        if key.fileobj is near:
                            talk.sent()
            except OSError:
                return

    def cut(self):
        """Ends all connections that go over it; new ones may come at once."""
        ends, self.ends = self.ends, []
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended already

    def close(self):
        self.over.set()
        self.door.close()
