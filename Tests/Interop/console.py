"""Asks the management API over TCP, by a client that nobody here wrote."""

import base64
import hashlib
import hmac
import http.client
import json
import time

import pytest

from agent import PATIENCE, HTTPReply, free_port
from support import ACCEPT, SUPPORT

SECRET = "a secret of at least 32 bytes, for tests"
ROLES = (
    f'auth = {{ {{ alg = "HS256", key = "{SECRET}", '
    'roles = { "server", "operator", "viewer" } } }\n')


def encode(part):
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def token(user, role=None, expires_in=600, secret=SECRET, **claims):
    payload = {"sub": user, "exp": int(time.time()) + expires_in, **claims}
    if role:
        payload["role"] = role
    parts = [encode(json.dumps(one).encode()) for one in ({"alg": "HS256"}, payload)]
    signed = ".".join(parts)
    return signed + "." + encode(hmac.digest(secret.encode(), signed.encode(), hashlib.sha256))


def get(connection, path, credential):
    """One more request over an open connection."""
    connection.request("GET", path, headers={"Authorization": f"Bearer {credential}"})
    return HTTPReply(connection.getresponse())


class OpenConnection:
    """A connection that stays open."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def __enter__(self):
        return self.connection

    def __exit__(self, *_):
        self.connection.close()


class Console:
    """The listener `console` of an agent."""

    def __init__(self, agent, port):
        self.agent = agent
        self.port = port
        self.operator = token("olga", "operator")
        self.viewer = token("vera", "viewer")

    def open(self):
        return OpenConnection(self.port)

    def request(self, method, path, body=None, token=None, headers=None):
        given = dict(headers or {})
        if token is not None:
            given["Authorization"] = f"Bearer {token}"
        with self.open() as connection:
            data = None if body is None else json.dumps(body)
            if "Host" in given:
                connection.putrequest(method, path, skip_host=True)
                for name, value in given.items():
                    connection.putheader(name, value)
                connection.endheaders()
            else:
                connection.request(method, path, data, given)
            return HTTPReply(connection.getresponse())

    def get(self, path, token=None, headers=None):
        return self.request("GET", "/admin/v1" + path, token=token, headers=headers)


# Fixtures of the tests that import them.

@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def agent(make_agent, port):
    config = ROLES + SUPPORT + f'console = {{ listen = "127.0.0.1:{port}" }}\n'
    return make_agent(config, {"support": ACCEPT}).start()


@pytest.fixture
def console(agent, port):
    return Console(agent, port)
