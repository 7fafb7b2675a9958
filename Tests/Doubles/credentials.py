"""Certificates and keys of the double, made anew at each start."""

import base64
import datetime
import ipaddress
import json
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID


def url64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def private_pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()).decode()


def public_pem(key):
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def point(key):
    return key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


class Credentials:
    """Everything both sides have to know, in memory and as files in one folder."""

    def __init__(self, folder):
        self.folder = folder
        self.apns = ec.generate_private_key(ec.SECP256R1())
        self.vapid = ec.generate_private_key(ec.SECP256R1())
        self.service = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.browser = ec.generate_private_key(ec.SECP256R1())
        self.browser_secret = os.urandom(16)
        self.hook_secrets = [os.urandom(32), os.urandom(24)]
        self.certificate = self.certify("good", "localhost")
        self.wrong_certificate = self.certify("wrong", "elsewhere.example")

    def path(self, name):
        return os.path.join(self.folder, name)

    def certify(self, label, name):
        """A self-signed certificate and its key as two files."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.datetime.now(datetime.timezone.utc)
        names = [x509.DNSName(name)]
        if name == "localhost":
            names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
        certificate = (
            x509.CertificateBuilder().subject_name(subject).issuer_name(subject)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=2))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256()))
        files = self.path(label + ".crt"), self.path(label + ".key")
        with open(files[0], "wb") as file:
            file.write(certificate.public_bytes(serialization.Encoding.PEM))
        with open(files[1], "w", encoding="ascii") as file:
            file.write(private_pem(key))
        return files

    def write_trust(self):
        """One file with both certificates: the wrong one fails by its name only."""
        with open(self.path("trust.pem"), "w", encoding="ascii") as out:
            for file in (self.certificate[0], self.wrong_certificate[0]):
                with open(file, encoding="ascii") as certificate:
                    out.write(certificate.read())
        return self.path("trust.pem")

    def account(self, token_url):
        """A service account file as Google writes it."""
        return json.dumps({
            "type": "service_account", "project_id": "double", "private_key_id": "service-1",
            "private_key": private_pem(self.service),
            "client_email": "push@double.example", "token_uri": token_url})

    def describe(self, port, wrong_port, plain_port):
        base = f"https://localhost:{port}"
        return {
            "port": port, "wrong_port": wrong_port, "plain_port": plain_port,
            "trust": self.write_trust(),
            "certificate": self.certificate[0], "key": self.certificate[1],
            "apns": {"key": private_pem(self.apns), "key_id": "ABC123DEFG", "team": "TEAM123456"},
            "fcm": {"account": self.account(base + "/token")},
            "web": {"vapid": private_pem(self.vapid), "vapid_point": url64(point(self.vapid)),
                    "p256dh": url64(point(self.browser)), "auth": url64(self.browser_secret)},
            "hook_secrets": ["whsec_" + base64.b64encode(s).decode() for s in self.hook_secrets],
        }
