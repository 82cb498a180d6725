"""Certificates for a secured Kafka of a test: an authority, with its certificates and CRLs.

Thread: any. Needs the package `cryptography`, which `prokurist[testing]` brings.
Invariants: every key stays in the folder that was given.
"""

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

from prokurist.events.clock import epoch_milliseconds

LIFE: Final = timedelta(days=30)
LOCAL: Final = ("localhost", "127.0.0.1")
PASSWORD: Final = "not-a-secret"  # noqa: S105 - of a test's own key


class Authority:
    """A certificate authority of a test.

    Args:
        folder: Where its files are written.
        name: Its common name, and the first part of its file's name.

    Attributes:
        location: The file with its certificate: `ssl.ca.location`.
    """

    def __init__(self, folder: Path, name: str = "authority") -> None:
        folder = folder.resolve()  # A broker does not run where the test does.
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        now = _now()
        self._certificate = (
            x509.CertificateBuilder()
            .subject_name(self._name)
            .issuer_name(self._name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=400))
            .not_valid_after(now + LIFE)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        self.location: Path = folder / f"{name}.pem"
        self.location.write_bytes(self._certificate.public_bytes(Encoding.PEM))

    def __repr__(self) -> str:
        return f"Authority({self.location})"

    def issue(
        self,
        name: str,
        hosts: Sequence[str] = LOCAL,
        *,
        ends: timedelta = LIFE,
        password: str | None = None,
    ) -> Path:
        """Issue a certificate; its file has the chain and, in PKCS#8, the private key.

        Args:
            name: The common name, and the first part of the file's name.
            hosts: The names and addresses it is for.
            ends: When it expires from now on; in the past for one that has.
            password: The password of the key.
        """
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        certificate = self._signed(name, hosts, key, ends)
        path = self._folder / f"{name}.pem"
        hidden = _encryption(password)
        # A file that is read meanwhile is whole.
        fresh = path.with_suffix(".new")
        fresh.write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden)
            + certificate.public_bytes(Encoding.PEM)
            + self._certificate.public_bytes(Encoding.PEM)
        )
        fresh.replace(path)
        return path

    def issue_pkcs12(self, name: str, password: str = PASSWORD) -> Path:
        """Issue a certificate for a client, in a PKCS12 store."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        certificate = self._signed(name, (), key, LIFE)
        path = self._folder / f"{name}.p12"
        path.write_bytes(
            pkcs12.serialize_key_and_certificates(
                name.encode(), key, certificate, [self._certificate], _encryption(password)
            )
        )
        return path

    def revocation_list(self, *revoked: Path) -> Path:
        """A list of revoked certificates, by their files."""
        now = _now()
        made = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self._name)
            .last_update(now - timedelta(days=1))
            .next_update(now + LIFE)
        )
        for each in revoked:
            certificate = x509.load_pem_x509_certificate(each.read_bytes())
            made = made.add_revoked_certificate(
                x509.RevokedCertificateBuilder()
                .serial_number(certificate.serial_number)
                .revocation_date(now - timedelta(days=1))
                .build()
            )
        path = self._folder / "revoked.pem"
        path.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))
        return path

    def _signed(
        self, name: str, hosts: Sequence[str], key: rsa.RSAPrivateKey, ends: timedelta
    ) -> x509.Certificate:
        now = _now()
        made = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=365))
            .not_valid_after(now + ends)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )
        if hosts:
            names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            made = made.add_extension(names, critical=False)
        return made.sign(self._key, hashes.SHA256())


def _now() -> datetime:
    return datetime.fromtimestamp(epoch_milliseconds() / 1000, UTC)


def _encryption(password: str | None) -> KeySerializationEncryption:
    return NoEncryption() if password is None else BestAvailableEncryption(password.encode())


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
