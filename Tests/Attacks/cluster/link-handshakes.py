"""Strangers begin TLS handshakes at the owner's port for links: without a certificate or an end."""

import contextlib
import socket
import ssl

import nodes
from nodes import cluster_attack, launch
from test_link_certificates import authority, certify

ATTACK = cluster_attack(
    aims_at="TLS handshakes at the port for links", accounts=4, seconds=(3.0, 8.0))
HALF = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


def dress(scene):
    authority(scene.folder)

    def more(name):
        certify(scene.folder, "ca", name, name)
        at = f"{scene.folder}/{name}"
        return (f', ca = "{scene.folder}/ca.pem", cert = "{at}.pem", '
                f'key = secret "file:{at}.key"')

    nodes.dress(scene, more=more)


def attack(scene):
    said = ssl.MemoryBIO()
    made = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), said, server_hostname="a")
    with contextlib.suppress(ssl.SSLWantReadError):
        made.do_handshake()
    held, words = [], (HALF, said.read())
    for number in scene.each_while():
        stranger = socket.create_connection(("127.0.0.1", scene.link), 5)
        stranger.send(words[number % 4 > 0])
        held.append(stranger)
        if len(held) > 2_000:
            held.pop(0).close()
