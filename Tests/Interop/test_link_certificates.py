"""Nodes show each other certificates: whose they must be, and what is refused."""

import hashlib
import socket
import ssl
import subprocess
import urllib.request

import pytest

from agent import free_port, wait_for
from cluster import answers, shown, stands_by
from link import RawLink, counted
from test_links import linked_config, links_of


def authority(folder, name="ca"):
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "1", "-subj", f"/CN={name}", "-keyout", f"{name}.key",
            "-out", f"{name}.pem")


def certify(folder, ca, name, file):
    openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-subj", f"/CN={name}", "-keyout", f"{file}.key", "-out", f"{file}.csr")
    (folder / "names").write_text(f"subjectAltName = DNS:{name}\n")
    openssl(folder, "x509", "-req", "-in", f"{file}.csr", "-CA", f"{ca}.pem", "-CAkey",
            f"{ca}.key", "-CAcreateserial", "-days", "1", "-extfile", "names",
            "-out", f"{file}.pem")


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def secure_config(folder, name, place, file=None, ca="ca"):
    file = file or name
    return linked_config(
        name, place,
        f', ca = "{folder}/{ca}.pem", cert = "{folder}/{file}.pem", '
        f'key = secret "file:{folder}/{file}.key"')


def test_doctor_tells_of_a_certificate_of_links_that_runs_out(nodes, tmp_path):
    """Those of all nodes were mostly made on one day, and then no front end serves anybody."""
    node = nodes[0]
    authority(tmp_path)
    certify(tmp_path, "ca", "a", "a")
    node.place = free_port()
    node.configure(secure_config(tmp_path, "a", node.place))
    node.start()
    said = node.tool("doctor")[1]
    assert [line for line in said.splitlines()
            if line.startswith("warn") and "a.pem" in line and "runs out" in line], said


def test_figures_tell_when_a_certificate_of_links_runs_out(nodes, tmp_path):
    owner, b, _ = nodes
    authority(tmp_path)
    metrics = free_port()
    for node in (owner, b):
        name = node.folder.name
        certify(tmp_path, "ca", name, name)
        node.place = free_port()
        node.configure(secure_config(tmp_path, name, node.place)
                       + (f'metrics = "127.0.0.1:{metrics}"\n' if node is b else ""))
    owner.start()
    b.launch()
    wait_for("b serves", lambda: answers(b))

    def end(name):
        certificate = ssl._ssl._test_decode_cert(str(tmp_path / f"{name}.pem"))
        return ssl.cert_time_to_seconds(certificate["notAfter"])

    figure = "callagent_link_not_after_timestamp_seconds"
    assert owner.metrics()[figure] == end("a")
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics") as reply:
        text = reply.read().decode()
    assert f"\n{figure} {end('b')}\n" in text, text
    # Clients are shown the certificate of the node that has their connections.
    assert "# HELP callagent_tls_not_after_timestamp_seconds " in text


def test_nodes_show_each_other_certificates_and_a_wrong_one_is_refused(nodes, tmp_path):
    owner, b, c = nodes
    authority(tmp_path)
    authority(tmp_path, "other")
    for name in "ab":
        certify(tmp_path, "ca", name, name)
    certify(tmp_path, "ca", "b", "not-c")
    certify(tmp_path, "other", "c", "foreign")
    for node in nodes:
        node.place = free_port()
    for node in (owner, b):
        node.configure(secure_config(tmp_path, node.folder.name, node.place))
    owner.start()
    b.launch()
    wait_for("b serves", lambda: answers(b))
    alice = b.connect("alice")
    # The certificate of another node, and one of an authority that nobody knows.
    c.configure(secure_config(tmp_path, "c", c.place, "not-c"))
    c.launch()
    owner.logs("its certificate is not that of node c")
    assert stands_by(c)
    assert c.stop() == 0
    c.configure(secure_config(tmp_path, "c", c.place, "foreign"))
    c.launch()
    owner.logs("certificate not accepted")
    assert stands_by(c)
    # A link without TLS, and what only says that it is b.
    plain = RawLink(owner.place, greets=False)
    plain.say("greets", b"\x01" + counted("default") + counted("b"))
    assert plain.is_ended()
    assert alice.ok("ping") == {}
    wait_for("the link of b is shown, and no other", lambda: links_of(owner) == ["b"])


def shows(folder, file, purpose=ssl.PROTOCOL_TLS_CLIENT):
    """TLS with this certificate, and those of the authority are good whatever their name is."""
    context = ssl.SSLContext(purpose)
    context.check_hostname = False
    context.load_verify_locations(folder / "ca.pem")
    context.load_cert_chain(folder / f"{file}.pem", folder / f"{file}.key")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_only_the_certificate_in_the_node_table_counts(nodes, tmp_path):
    owner, b, _ = nodes
    authority(tmp_path)
    for name, file in (("a", "a"), ("b", "b"), ("b", "b-before")):
        certify(tmp_path, "ca", name, file)
    for node in (owner, b):
        node.place = free_port()
        node.configure(secure_config(tmp_path, node.folder.name, node.place))
    owner.start()
    b.launch()
    wait_for("b serves", lambda: answers(b))
    alice = b.connect("alice")
    # Its name and its authority are right, but b has another one now.
    for brings_clients in (False, True):
        stolen = RawLink(owner.place, greets=False, tls=shows(tmp_path, "b-before"))
        stolen.say("greets", b"\x01" + counted("default") + counted("b"))
        if brings_clients:
            stolen.opens(1)
        assert stolen.is_ended()
        # Whether a client is heard of before the database answers is chance; neither is let in.
        if not brings_clients:
            owner.logs("its certificate is not the one that node b has now")
    assert alice.ok("ping") == {}
    wait_for("the link of b is shown, and no other", lambda: links_of(owner) == ["b"])
    # A node that is given another certificate needs nobody else to be told.
    before = {node["name"]: node["fingerprint"] for node in shown(owner)["nodes"]}
    assert b.stop() == 0
    b.configure(secure_config(tmp_path, "b", b.place, "b-before"))
    b.launch()
    wait_for("b serves", lambda: answers(b))
    after = {node["name"]: node["fingerprint"] for node in shown(owner)["nodes"]}
    assert after["a"] == before["a"] and after["b"] != before["b"]
    der = ssl.PEM_cert_to_DER_cert((tmp_path / "b-before.pem").read_text())
    assert after["b"] == hashlib.sha256(der).hexdigest()


def test_a_front_end_talks_to_no_other_certificate_than_the_owners(nodes, tmp_path):
    owner, b, _ = nodes
    authority(tmp_path)
    for name, file in (("a", "a"), ("a", "a-before"), ("b", "b")):
        certify(tmp_path, "ca", name, file)
    (owner.place, b.place) = (free_port(), free_port())
    pem = f'ca = "{tmp_path}/ca.pem", cert = "{tmp_path}/a.pem", '
    with socket.create_server(("127.0.0.1", 0)) as door:
        # Whoever is in the way to a has an earlier certificate of it.
        more = (f', bind = "127.0.0.1:{owner.place}", {pem}'
                f'key = secret "file:{tmp_path}/a.key"')
        owner.configure(linked_config("a", door.getsockname()[1], more))
        b.configure(secure_config(tmp_path, "b", b.place))
        owner.start()
        b.launch()
        door.settimeout(15)
        reached, _ = door.accept()
        between = shows(tmp_path, "a-before", ssl.PROTOCOL_TLS_SERVER)
        with between.wrap_socket(reached, server_side=True) as reached:
            reached.settimeout(15)
            said = b""
            try:
                said = reached.recv(100)
            except OSError:
                pass
            assert said == b"", "b has greeted it"
        b.logs("its certificate is not the one that the node has now")
        assert stands_by(b)


@pytest.mark.parametrize("more,words", [
    (', link = "10.0.0.1:1"', "ca, cert and key are needed beyond loopback"),
    (', link = "127.0.0.1:1", bind = "0.0.0.0:1"', "ca, cert and key are needed beyond loopback"),
    (', link = "127.0.0.1:1", ca = "x"', "ca, cert and key belong together"),
    (', bind = "127.0.0.1:1"', "link is missing"),
    (', link = "127.0.0.1:1", ca = "no.pem", cert = "no.pem", key = "hush-hush"', "no.pem"),
])
def test_links_that_cannot_be_are_refused_in_one_line(make_agent, database, more, words):
    node = make_agent(
        f'cluster = {{ database = secret "env:CALLAGENT_DATABASE", node = "a"{more} }}\n',
        environment={"CALLAGENT_DATABASE": database.address})
    node.refuses_to_start()
    said = [line for line in node.log_text().splitlines() if line.startswith("callagent:")]
    assert words in said[-1], said
    assert "hush-hush" not in node.log_text()
