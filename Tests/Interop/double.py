"""The push services, the token endpoint and a receiver of webhooks, as one process beside ours."""

import json
import pathlib
import subprocess
import sys

DOUBLES = pathlib.Path(__file__).resolve().parent.parent / "Doubles"
TOPIC = "com.example.app"


class Double:
    """`push_double.py`, with the configuration that makes an agent use it."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.process = subprocess.Popen(
            [sys.executable, str(DOUBLES / "push_double.py"), str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.hello = json.loads(self.process.stdout.readline())
        self.base = f"https://localhost:{self.hello['port']}"
        self.environment = {"SSL_CERT_FILE": self.hello["trust"]}
        for name, text in {
                "apns.p8": self.hello["apns"]["key"], "account.json": self.hello["fcm"]["account"],
                "vapid.pem": self.hello["web"]["vapid"],
                "hook": self.hello["hook_secrets"][0],
                "next_hook": self.hello["hook_secrets"][1]}.items():
            (folder / name).write_text(text)

    @property
    def push_config(self):
        apns = self.hello["apns"]
        return f"""push = {{
  apns = {{ key = secret "file:{self.folder}/apns.p8", key_id = "{apns["key_id"]}",
    team_id = "{apns["team"]}", bundle_id = "{TOPIC}", server = "{self.base}",
    sandbox_server = "{self.base}" }},
  fcm = {{ account = secret "file:{self.folder}/account.json", server = "{self.base}" }},
  web = {{ key = secret "file:{self.folder}/vapid.pem", subject = "mailto:ops@example.com",
    allow = {{ "127.0.0.0/8", "::1" }} }},
  webhook = {{ url = "{self.base}/hook/gateway", secret = secret "file:{self.folder}/hook" }},
}}
"""

    def hook_config(self, *receivers, more=""):
        """Receivers by name; each posts to `/hook/NAME`."""
        entries = "".join(
            f'  {{ name = "{name}", url = "{self.base}/hook/{name}", '
            f'secret = secret "file:{self.folder}/hook", '
            f'allow = {{ "127.0.0.0/8", "::1" }}{more} }},\n' for name in receivers)
        return f"webhooks = {{\n{entries}}}\n"

    def subscription(self, name):
        """What a browser would give, with keys that the double knows."""
        web = self.hello["web"]
        return {"endpoint": f"{self.base}/web/{name}",
                "keys": {"p256dh": web["p256dh"], "auth": web["auth"]}}

    # Commands

    def do(self, what, **fields):
        self.process.stdin.write(json.dumps({"do": what} | fields) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def plan(self, prefix, *replies):
        self.do("plan", prefix=prefix, replies=list(replies))

    def seen(self):
        """The requests since the last time."""
        return self.do("seen")["seen"]

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(10)


def token(prefix):
    """A device token of Apple that begins with these hexadecimal digits."""
    return prefix.ljust(64, "0")
