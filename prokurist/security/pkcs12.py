"""PKCS12 stores, by the extra `prokurist[pkcs12]`.

Thread: that of `stores`.
Invariant: a store costs what its size and `MOST_ROUNDS` allow, whatever stands in it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prokurist.config.secret import Secret
from prokurist.errors import ConfigException

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

LARGEST: Final = 4 << 20
"""Bytes of a store; Java's own, with all public authorities, has less than a tenth."""
MOST_ROUNDS: Final = 1_000_000
"""How often a password may be hashed for one key: Java does it 10 000 times, in 3 ms."""
DEEPEST: Final = 32
"""Elements in elements that are looked at."""
INTEGER, OCTET_STRING, CONSTRUCTED, INDEFINITE = 0x02, 0x04, 0x20, 0x80


def identity(path: str, password: Secret | None) -> tuple[str, str]:
    """Extract the certificate with its chain, and the key, as PEM.

    Raises:
        ConfigException: The store cannot be opened, or has no key.
    """
    store = _opened("ssl.keystore", path, password)
    if store.key is None or store.cert is None:
        raise ConfigException(f"ssl.keystore.location={path} has no private key")
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - an extra
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    chain = [store.cert, *store.additional_certs]
    text = b"".join(each.certificate.public_bytes(Encoding.PEM) for each in chain)
    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return text.decode(), key.decode()


def authorities(path: str, password: Secret | None) -> str:
    """Extract all certificates of a store, as PEM.

    Raises:
        ConfigException: The store cannot be opened, or has none.
    """
    store = _opened("ssl.truststore", path, password)
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415

    found = [each for each in (store.cert, *store.additional_certs) if each is not None]
    if not found:
        raise ConfigException(f"ssl.truststore.location={path} has no certificate")
    return b"".join(each.certificate.public_bytes(Encoding.PEM) for each in found).decode()


def _opened(key: str, path: str, password: Secret | None) -> "PKCS12KeyAndCertificates":
    try:
        from cryptography.hazmat.primitives.serialization import pkcs12  # noqa: PLC0415
    except ImportError as error:
        raise ConfigException(
            f"{key}.location={path} is a PKCS12 store, for which the package `cryptography` is "
            "needed: pip install 'prokurist[pkcs12]', or name PEM files with ssl.ca.location, "
            "ssl.certificate.location and ssl.key.location"
        ) from error
    secret = None if password is None else password.reveal().encode()
    if secret is not None and 0 in secret:
        raise ConfigException(f"{key}.password has a zero byte, which no store can have")
    try:
        return pkcs12.load_pkcs12(_modest(key, path), secret)
    except ConfigException:
        raise
    except Exception as error:
        raise ConfigException(
            f"{key}.location={path} cannot be opened as PKCS12: {key}.password is wrong or "
            "missing, or the file is damaged"
        ) from error


def _modest(key: str, path: str) -> bytes:
    """The bytes of a store.

    Raises:
        ConfigException: There are too many of them, or the password is to be hashed too often.
    """
    with Path(path).open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ConfigException(
            f"{key}.location={path} has more than {LARGEST} bytes: name a store with fewer "
            f"certificates, or a PEM file"
        )
    rounds = max(rounds_of(data, 0, len(data)), default=0)
    if rounds > MOST_ROUNDS:
        raise ConfigException(
            f"{key}.location={path} has its password hashed {rounds} times, and {MOST_ROUNDS} "
            f"times are done here: make it with fewer"
        )
    return data


def rounds_of(data: bytes, at: int, end: int, depth: int = 0) -> Iterator[int]:
    """How often a password is to be hashed: each number behind a salt.

    Args:
        data: DER, or what may be.
        at: Where it begins.
        end: Where it ends.
        depth: In how many elements it lies.
    """
    before = 0
    while at + 2 <= end and depth < DEEPEST:
        tag, size = data[at], data[at + 1]
        at += 2
        if size == INDEFINITE:
            size = end - at
        elif size > INDEFINITE:
            width = size - INDEFINITE
            size = int.from_bytes(data[at : at + min(width, end - at)], "big")
            at += width
        stop = min(end, at + size)
        if tag == INTEGER and before == OCTET_STRING:
            yield int.from_bytes(data[at : min(stop, at + 16)], "big")
        elif tag & CONSTRUCTED or (tag == OCTET_STRING and data[at : at + 1] == b"\x30"):
            yield from rounds_of(data, at, stop, depth + 1)
        if tag:  # In BER a zero ends an element of no length; parts of a salt are behind it.
            before = tag & ~CONSTRUCTED
        at = stop
