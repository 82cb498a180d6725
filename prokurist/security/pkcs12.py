"""PKCS12 stores, by the extra `prokurist[pkcs12]`.

Thread: that of `stores`.
Invariant: a store costs what `rounds` allows.
"""

from typing import TYPE_CHECKING

from prokurist.config.secret import Secret
from prokurist.errors import ConfigException
from prokurist.security.rounds import check, read_bounded, rounds_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates


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
    data = read_bounded(f"{key}.location", path)
    check(f"{key}.location={path}", rounds_of(data), "make it with fewer")
    try:
        return pkcs12.load_pkcs12(data, secret)
    except Exception as error:
        raise ConfigException(
            f"{key}.location={path} cannot be opened as PKCS12: {key}.password is wrong or "
            "missing, or the file is damaged"
        ) from error
