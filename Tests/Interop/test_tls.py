"""TLS of the server itself, seen by Python's ssl and by `openssl s_client`."""

import asyncio
import contextlib
import datetime
import json
import socket
import ssl
import subprocess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID
from websockets.asyncio.client import connect

from agent import wait_for

CONFIG = 'tls = { cert = "server.crt", key = "server.key" }\n'


def certify(folder, name="localhost"):
    """A new certificate, in the place of the old one if there is one."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "1", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", "server.key", "-out", "server.crt"],
        cwd=folder, check=True, capture_output=True)
    return ssl.PEM_cert_to_DER_cert((folder / "server.crt").read_text())


@pytest.fixture
def secure(make_agent):
    """Starts a server that speaks TLS, and nothing else."""

    def start(more=""):
        agent = make_agent(CONFIG + more)
        agent.shown = certify(agent.folder)
        agent.launch()
        agent.logs('"ready"')
        return agent

    return start


def context(agent, least=None, most=None, alpn=None, trusted="server.crt"):
    made = ssl.create_default_context(cafile=agent.folder / trusted)
    made.minimum_version = least or made.minimum_version
    made.maximum_version = most or made.maximum_version
    if alpn:
        made.set_alpn_protocols(alpn)
    return made


@contextlib.contextmanager
def secured(agent, *arguments, **options):
    made = context(agent, *arguments, **options)
    with socket.create_connection(("127.0.0.1", agent.port), timeout=10) as plain:
        with made.wrap_socket(plain, server_hostname="127.0.0.1") as wrapped:
            yield wrapped


def status(wrapped, path="/healthz"):
    wrapped.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    return int(wrapped.recv(65_536).split()[1])


VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


@pytest.mark.parametrize("version", VERSIONS)
def test_both_versions_are_spoken(secure, version):
    agent = secure()
    with secured(agent, VERSIONS[version], VERSIONS[version]) as wrapped:
        assert wrapped.version() == version
        assert status(wrapped) == 200


@pytest.mark.parametrize("version", VERSIONS)
def test_a_handshake_may_come_a_byte_at_a_time(secure, version):
    agent = secure()
    said, heard = ssl.MemoryBIO(), ssl.MemoryBIO()
    made = context(agent, VERSIONS[version], VERSIONS[version]).wrap_bio(
        heard, said, server_hostname="127.0.0.1")
    with socket.create_connection(("127.0.0.1", agent.port), timeout=10) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def until_done(step):
            while True:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    pieces = said.read()
                    for at in range(len(pieces)):
                        plain.sendall(pieces[at:at + 1])
                    heard.write(plain.recv(65_536))

        until_done(made.do_handshake)
        made.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert int(until_done(lambda: made.read(65_536)).split()[1]) == 200
        assert made.version() == version


def test_older_versions_are_refused(secure):
    agent = secure()
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{agent.port}", "-tls1_1",
         "-cipher", "ALL:@SECLEVEL=0"],
        input=b"", capture_output=True, timeout=20, check=False)
    assert done.returncode != 0 and b"Cipher is (NONE)" in done.stdout, done.stdout


def test_only_http_1_1_is_offered(secure):
    agent = secure()
    with secured(agent, alpn=["h2", "http/1.1"]) as wrapped:
        assert wrapped.selected_alpn_protocol() == "http/1.1"
        assert status(wrapped) == 200
    with pytest.raises(ssl.SSLError), secured(agent, alpn=["h2"]) as wrapped:
        status(wrapped)
    with secured(agent) as wrapped:
        assert wrapped.selected_alpn_protocol() is None and status(wrapped) == 200


def test_s_client_agrees(secure):
    agent = secure()
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{agent.port}", "-alpn", "h2,http/1.1",
         "-CAfile", agent.folder / "server.crt", "-verify_return_error", "-ign_eof"],
        input=b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        capture_output=True, timeout=20, check=False)
    said = done.stdout.decode()
    for word in ("TLSv1.3", "ALPN protocol: http/1.1", "Verify return code: 0", "HTTP/1.1 200"):
        assert word in said, said


def test_a_whole_call(secure):
    """By clients that read and write on one thread: Python's ssl loses bytes with two."""
    asyncio.run(call_over_tls(secure()))


async def call_over_tls(agent):
    url = f"wss://127.0.0.1:{agent.port}/v1/ws"

    async def heard(device):
        return json.loads(await asyncio.wait_for(device.recv(), 10))

    async with connect(url, ssl=context(agent)) as alice, connect(url, ssl=context(agent)) as bob:
        for name, device in (("alice", alice), ("bob", bob)):
            hello = {"token": f"dev:{name}", "device": "phone"}
            await device.send(json.dumps({"id": 1, "op": "hello", "data": hello}))
            assert "ok" in await heard(device)
        invitation = {"id": 2, "op": "call.invite", "data": {"invitees": ["bob"]}}
        await alice.send(json.dumps(invitation))
        call = (await heard(alice))["ok"]["call_id"]
        assert (await heard(bob))["event"] == "call.incoming"
        acceptance = {"id": 2, "op": "call.accept", "data": {"call_id": call}}
        await bob.send(json.dumps(acceptance))
        assert "ok" in await heard(bob)


def test_a_reload_shows_the_new_certificate_and_drops_nobody(secure):
    agent = secure()
    with secured(agent) as old:
        assert old.getpeercert(binary_form=True) == agent.shown
        fresh = certify(agent.folder, "renewed")
        with pytest.raises(ssl.SSLError), secured(agent):
            pass  # the file is another one, what is shown is not yet
        assert agent.tool("reload")[0] == 0
        with secured(agent) as new:
            assert new.getpeercert(binary_form=True) == fresh != agent.shown
            assert status(new) == 200
        assert status(old) == 200


def test_a_certificate_that_is_no_good_changes_nothing(secure):
    agent = secure()
    with secured(agent) as wrapped:
        kept = (agent.folder / "server.key").read_text()
        certify(agent.folder, "renewed")
        (agent.folder / "server.key").write_text(kept)
        code, output = agent.tool("reload")
        assert code == 1 and "server.key does not belong to the certificate" in output, output
        (agent.folder / "server.crt").write_text("")
        code, output = agent.tool("reload")
        assert code == 1 and "server.crt" in output, output
        assert status(wrapped) == 200


def test_a_chain_that_no_client_would_take_changes_nothing(secure):
    """As when the authorities of a whole system are appended, and not only the issuers."""
    agent = secure()
    file = agent.folder / "server.crt"
    one = file.read_text()
    # To load thousands of certificates takes the client longer than a handshake may.
    (agent.folder / "trusted.crt").write_text(one)
    for count, why in ((400, "more certificates than clients take"), (2_000, "are allowed")):
        file.write_text(one * count)
        code, output = agent.tool("reload")
        assert code == 1 and "server.crt" in output and why in output, output
        with secured(agent, trusted="trusted.crt") as wrapped:
            assert status(wrapped) == 200
    file.write_text(one * 100)
    assert agent.tool("reload")[0] == 0
    with secured(agent, trusted="trusted.crt") as wrapped:
        assert status(wrapped) == 200


def test_a_key_file_of_any_size_is_not_read_to_its_end(secure):
    agent = secure()
    with open(agent.folder / "server.key", "wb") as file:
        file.truncate(1 << 30)
    for tool in ("check", "reload"):
        code, output = agent.tool(tool)
        assert code == 1, output
        assert "server.key: it has 1073741824 bytes, and 1048576 are allowed" in output, output


def test_a_certificate_that_has_run_out_is_told_by_whoever_puts_it_into_force(secure):
    """The new one may be an old one: to renew it at night and hear 'good' lets nobody in."""
    agent = secure()
    key = serialization.load_pem_private_key((agent.folder / "server.key").read_bytes(), None)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    old = (x509.CertificateBuilder().subject_name(name).issuer_name(name)
           .public_key(key.public_key()).serial_number(1)
           .not_valid_before(now - datetime.timedelta(days=9))
           .not_valid_after(now - datetime.timedelta(days=2)).sign(key, hashes.SHA256()))
    (agent.folder / "server.crt").write_bytes(old.public_bytes(serialization.Encoding.PEM))
    for command in ("check", "reload"):
        code, output = agent.tool(command)
        assert code == 0 and "the certificate of tls has run out" in output, output
    agent.logs("the certificate of tls has run out")


def test_a_start_without_its_certificate_says_so(make_agent):
    assert "server.crt" in make_agent(CONFIG).refuses_to_start()


def test_what_is_no_tls_is_sent_away(secure):
    agent = secure()
    with socket.create_connection(("127.0.0.1", agent.port), timeout=10) as plain:
        plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            while plain.recv(65_536):
                pass
    with secured(agent) as wrapped:
        assert status(wrapped) == 200


def test_who_does_not_shake_hands_counts_and_is_dropped(secure):
    """Before TLS is agreed upon a connection has its limits already."""
    agent = secure('limits = { newcomers = 3, tls_time = "2s" }\n')
    silent = [socket.create_connection(("127.0.0.1", agent.port), timeout=10) for _ in range(3)]
    with secured(agent) as wrapped:
        assert status(wrapped) == 200, "the oldest of the silent ones goes for a new one"
    for one in silent:
        with contextlib.suppress(ConnectionResetError):
            assert one.recv(10) == b""

    def served():
        try:
            with secured(agent) as wrapped:
                return status(wrapped) == 200
        except OSError:
            return False

    wait_for("room again", served)
