"""coturn on loopback, which knows nothing but a secret."""

import shutil
import socket
import subprocess

from agent import PATIENCE, free_port, wait_for

ATTEMPTS = 3


class Turn:
    def __init__(self, folder, secret):
        self.folder, self.secret = folder, secret
        self.port = None
        self.process = None
        folder.mkdir(exist_ok=True)
        assert shutil.which("turnserver"), "coturn is missing: sh examples/install.sh --checks"

    def start(self):
        """At its port again; at first at a free one, which a browser beside may take before."""
        if self.port:
            return self.launch()
        for attempt in range(1, ATTEMPTS + 1):
            self.port = free_port()
            try:
                return self.launch()
            except AssertionError:
                self.crash()
                if attempt == ATTEMPTS:
                    raise

    def launch(self):
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                ["turnserver", "-n", "--no-cli", "--no-tls", "--no-dtls", "--listening-ip",
                 "127.0.0.1", "--relay-ip", "127.0.0.1", "--listening-port", str(self.port),
                 "--allow-loopback-peers", "--use-auth-secret", "--static-auth-secret",
                 self.secret, "--realm", "example.com", "--pidfile", str(self.folder / "pid"),
                 "--userdb", str(self.folder / "db"), "--log-file", "stdout", "--simple-log"],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for("coturn", self.is_ready, patience=10)
        return self

    def is_ready(self):
        said = (self.folder / "log").read_text(errors="replace")
        assert self.process.poll() is None, said
        if "Relay ports initialization done" not in said:
            return False
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE).close()
            return True
        except OSError:
            return False

    def crash(self):
        if self.process:
            self.process.kill()
            self.process.wait(PATIENCE)
