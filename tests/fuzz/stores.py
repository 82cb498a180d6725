"""Certificates, keys and PKCS12 stores that are harmed: what a client is given in files.

Thread: any; the files of an input are its own.
Invariants: everything comes of the `Random` that is handed in, and of keys that are made once
for each process.
"""

import base64
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

from prokurist.config import ConsumerConfig
from prokurist.errors import ConfigException
from prokurist.security.context import built
from tests.fuzz.hostile import harmed

PASSWORD: Final = "hush-hush-secret"  # noqa: S105 - made up
ROUNDS: Final = 3
"""Of deriving a key, so that an input takes less than a millisecond."""
LONGEST_WORDS: Final = 1000


class Told(AssertionError):
    """Something was told that must not be, or in too many words."""


class Good(NamedTuple):
    """What is harmed.

    Attributes:
        certificate: In DER.
        key: In DER, not encrypted.
        texts: PEM files with both, the key once without and once with a password.
        stores: In PKCS12, with a password and with none.
    """

    certificate: bytes
    key: bytes
    texts: tuple[bytes, bytes]
    stores: tuple[bytes, bytes]


@cache
def good() -> Good:
    """A certificate and its key, in every form."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fuzz")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=100))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    text = certificate.public_bytes(Encoding.PEM)
    few = PrivateFormat.PKCS12.encryption_builder().kdf_rounds(ROUNDS)
    hidden = few.build(PASSWORD.encode())

    def key_text(encryption: Any) -> bytes:
        return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)

    return Good(
        certificate.public_bytes(Encoding.DER),
        key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()),
        (
            key_text(NoEncryption()) + text,
            key_text(BestAvailableEncryption(PASSWORD.encode())) + text,
        ),
        (
            pkcs12.serialize_key_and_certificates(
                b"a", key, certificate, [certificate], hidden
            ),
            pkcs12.serialize_key_and_certificates(b"a", key, certificate, None, NoEncryption()),
        ),
    )


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """Where the files lie, until this process ends."""
    return tempfile.TemporaryDirectory(prefix="prokurist-fuzz-")


@cache
def good_file() -> str:
    """A file with an authority that is well."""
    path = Path(folder().name, "good.pem")
    path.write_bytes(good().texts[0])
    return str(path)


def stores(lot: Random) -> None:
    """A context is built of them, or refused with words that name a key."""
    path = Path(folder().name, "store")
    given: dict[str, Any] = {}
    password = lot.choice((PASSWORD, PASSWORD, "", "x" * 2000, "ü\x00", None))
    match lot.randrange(7):
        case 0 | 1:
            path.write_bytes(store(lot))
            place = lot.choice(("keystore", "truststore"))
            given[f"ssl.{place}.location"] = str(path)
            given[f"ssl.{place}.type"] = lot.choice(("PKCS12", "JKS", "PEM"))
            given[f"ssl.{place}.password"] = password
        case 2:
            path.write_bytes(text(lot))
            given["ssl.keystore.location"] = str(path)
            given["ssl.key.password"] = password
        case 3:
            path.write_bytes(text(lot))
            given["ssl.certificate.location"] = str(path)
            given["ssl.key.password"] = password
        case 4:
            path.write_bytes(text(lot))
            given[lot.choice(("ssl.ca.location", "ssl.crl.location"))] = str(path)
        case 5:
            given["ssl.truststore.certificates"] = text(lot).decode("latin-1")
        case _:
            given["ssl.keystore.certificate.chain"] = text(lot).decode("latin-1")
            given["ssl.keystore.key"] = text(lot).decode("latin-1")
            given["ssl.key.password"] = password
    if not any(name.startswith(("ssl.ca", "ssl.truststore")) for name in given):
        given["ssl.ca.location"] = good_file()  # The system's own take thirty milliseconds.
    context_of({name: each for name, each in given.items() if each is not None})


def context_of(given: dict[str, Any]) -> None:
    """Build a context, and look at what is said where it cannot be."""
    try:
        made = built(
            ConsumerConfig(
                {"bootstrap.servers": "localhost:1", "security.protocol": "SSL", **given}
            )
        )
    except ConfigException as error:
        words = str(error)
        if PASSWORD in words or "PRIVATE KEY" in words or len(words) > LONGEST_WORDS:
            raise Told(words) from error
        return
    if made.verify_mode is not ssl.CERT_REQUIRED:
        raise Told("a context that verifies nothing")


def store(lot: Random) -> bytes:
    """A PKCS12 store, harmed or not."""
    data = lot.choice(good().stores)
    return harmed(data, lot) if lot.random() < 0.9 else data


def text(lot: Random) -> bytes:
    """PEM of several parts, harmed within their DER or as they are."""
    match lot.randrange(4):
        case 0:
            return lot.choice(good().texts)
        case 1:
            return harmed(lot.choice(good().texts), lot)
        case _:
            return b"".join(part(lot) for _ in range(lot.choice((1, 2, 2, 3))))


def part(lot: Random) -> bytes:
    """One part, under a name that may be another's."""
    name, data = lot.choice((("CERTIFICATE", good().certificate), ("PRIVATE KEY", good().key)))
    if lot.random() < 0.7:
        data = harmed(data, lot)
    if lot.random() < 0.2:
        name = lot.choice(
            ("X509 CRL", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "CERTIFICATE", "", "A\x00B")
        )
    begins, ends = f"-----BEGIN {name}-----\n".encode(), f"-----END {name}-----\n".encode()
    return begins + base64.encodebytes(data) + ends
