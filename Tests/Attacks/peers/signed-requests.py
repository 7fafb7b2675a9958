"""One user asks over as many connections as they may have, and each request has its own token."""

import time

import jwt
from blows import Flood, post
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from registry import Attack
from test_admission import SECRET

ATTACK = Attack(
    aims_at="tokens that are checked for one user", rules=(28, 95),
    config=f'auth = {{ {{ alg = "HS256", key = "{SECRET}" }},'
           ' { alg = "ES256", kid = "pair", key = secret "file:public.pem" } }\n')
HANDS = 10
LINES = 10  # of each
KEY = ec.generate_private_key(ec.SECP256R1())


def dress(scene):
    (scene.folder / "public.pem").write_bytes(KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))


def attack(scene):
    token = jwt.encode({"sub": "mallory", "exp": int(time.time()) + 3_600}, KEY, "ES256",
                       headers={"kid": "pair"})
    asked = post("/v1/call/get", b'{"call_id":"%s"}' % (b"0" * 32),
                 [f"Authorization: Bearer {token}"])
    lines = [Flood(scene.raw) for _ in range(LINES)]
    for _ in scene.each_while():
        for line in lines:
            line.push(lambda: asked * 100)
