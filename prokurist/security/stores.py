"""PEM of TLS stores: authorities, certificates and private keys.

Thread: the application's while a client is built; later one that looks for changed files.
Invariants: a private key is written to no disk that others read: to memory where the system
has such files, else to a file of mode 0600 that is removed at once.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from prokurist.config.secret import Secret
from prokurist.config.tls import TlsKeys
from prokurist.errors import ConfigException
from prokurist.lazy_dataclasses import dataclass
from prokurist.security.rounds import check, read_bounded, rounds_in_pem

PEM_BEGINS: Final = b"-----BEGIN"
JKS_MAGIC: Final = bytes.fromhex("feedfeed")
JCEKS_MAGIC: Final = bytes.fromhex("cececece")
DER_SEQUENCE: Final = b"\x30"


@dataclass(frozen=True, slots=True)
class Pem:
    """PEM text, or the file that has it.

    Attributes:
        path: The file; None where the text was given.
        text: The text; None where it is in a file.
    """

    path: str | None = None
    text: str | None = None

    def __repr__(self) -> str:
        # It may be a private key.
        return f"Pem({self.path or '***'})"


@dataclass(frozen=True, slots=True)
class Identity:
    """This client's certificate and key.

    Attributes:
        chain: The certificate, with its chain.
        key: The private key; None where it stands in the chain's file.
        password: The password of the key; None if it is not encrypted.
    """

    chain: Pem
    key: Pem | None
    password: Secret | None


def authorities(keys: TlsKeys) -> Pem | None:
    """Find the authorities that broker certificates are verified by; None for the system's own.

    Raises:
        ConfigException: More than one key says so, or what one names cannot be read.
    """
    given = {
        "ssl.ca.location": keys.ssl_ca_location,
        "ssl.truststore.certificates": keys.ssl_truststore_certificates,
        "ssl.truststore.location": keys.ssl_truststore_location,
    }
    _only_one(given)
    if keys.ssl_ca_location is not None:
        return Pem(path=_readable("ssl.ca.location", keys.ssl_ca_location, folder=True))
    if keys.ssl_truststore_certificates is not None:
        return Pem(text=keys.ssl_truststore_certificates.reveal())
    if keys.ssl_truststore_location is not None:
        store = _store("truststore", keys.ssl_truststore_location, keys.ssl_truststore_type)
        if store == "PEM":
            return Pem(path=keys.ssl_truststore_location)
        from prokurist.security import pkcs12  # noqa: PLC0415 - an extra

        return Pem(
            text=pkcs12.authorities(keys.ssl_truststore_location, keys.ssl_truststore_password)
        )
    return None


def identity(keys: TlsKeys) -> Identity | None:
    """Find this client's certificate and key; None where it has none.

    Raises:
        ConfigException: More than one key names a certificate, there is a key without a
            certificate, or what one names cannot be read.
    """
    given = {
        "ssl.certificate.location": keys.ssl_certificate_location,
        "ssl.keystore.certificate.chain": keys.ssl_keystore_certificate_chain,
        "ssl.keystore.location": keys.ssl_keystore_location,
    }
    _only_one(given)
    _only_one(
        {"ssl.key.location": keys.ssl_key_location, "ssl.keystore.key": keys.ssl_keystore_key}
    )
    key = _private_key(keys)
    if key is not None:
        _check_rounds(
            "ssl.key.location" if keys.ssl_key_location is not None else "ssl.keystore.key", key
        )
    if keys.ssl_keystore_location is not None:
        if key is not None:
            raise ConfigException(
                "ssl.keystore.location holds the certificate and its key: leave "
                "ssl.key.location and ssl.keystore.key out"
            )
        return _of_keystore(keys, keys.ssl_keystore_location)
    if keys.ssl_certificate_location is not None:
        path = _readable("ssl.certificate.location", keys.ssl_certificate_location)
        return _of_chain("ssl.certificate.location", Pem(path=path), key, keys.ssl_key_password)
    if keys.ssl_keystore_certificate_chain is not None:
        chain = Pem(text=keys.ssl_keystore_certificate_chain.reveal())
        return _of_chain("ssl.keystore.certificate.chain", chain, key, keys.ssl_key_password)
    if key is not None:
        raise ConfigException(
            "a private key is given and no certificate: give ssl.certificate.location or "
            "ssl.keystore.certificate.chain too"
        )
    return None


def _private_key(keys: TlsKeys) -> Pem | None:
    if keys.ssl_key_location is not None:
        return Pem(path=_readable("ssl.key.location", keys.ssl_key_location))
    if keys.ssl_keystore_key is not None:
        return Pem(text=keys.ssl_keystore_key.reveal())
    return None


def _of_keystore(keys: TlsKeys, path: str) -> Identity:
    password = keys.ssl_key_password or keys.ssl_keystore_password
    if _store("keystore", path, keys.ssl_keystore_type) == "PEM":
        return _of_chain("ssl.keystore.location", Pem(path=path), None, password)
    from prokurist.security import pkcs12  # noqa: PLC0415 - an extra

    chain, key = pkcs12.identity(path, keys.ssl_keystore_password)
    return Identity(Pem(text=chain), Pem(text=key), None)


def _of_chain(name: str, chain: Pem, key: Pem | None, password: Secret | None) -> Identity:
    if key is None:
        _check_rounds(name, chain)
    return Identity(chain, key, password)


def _check_rounds(name: str, pem: Pem) -> None:
    """See that the password of a private key is not hashed without end.

    Raises:
        ConfigException: It is, or what has the key is too large.
    """
    data = (pem.text or "").encode() if pem.path is None else read_bounded(name, pem.path)
    check(
        name if pem.path is None else f"{name}={pem.path}",
        rounds_in_pem(data),
        "encrypt the key again with fewer, as openssl pkcs8 -topk8 -v2 aes256 does",
    )


def _only_one(given: Mapping[str, object]) -> None:
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ConfigException(f"{' and '.join(named)} say the same thing: give one of them")


def _readable(key: str, path: str, *, folder: bool = False) -> str:
    """Check that a path can be read, and return it.

    Raises:
        ConfigException: It cannot.
    """
    what = Path(path)
    if what.is_dir():
        if folder:
            return path
        raise ConfigException(f"{key}={path} is a directory; name a PEM file")
    try:
        with what.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise ConfigException(f"{key}={path} cannot be read: {error.strerror}") from error
    return path


def _store(name: str, path: str, declared: str) -> str:
    """Determine the format of a store: `PEM` or `PKCS12`.

    Java's JKS stands for both its own format and PKCS12, so what the file is decides.

    Raises:
        ConfigException: It is in a format of Java's alone, or in none that is known.
    """
    _readable(f"ssl.{name}.location", path)
    with Path(path).open("rb") as file:
        begins = file.read(4096)
    if begins.startswith((JKS_MAGIC, JCEKS_MAGIC)):
        raise ConfigException(
            f"ssl.{name}.location={path} is a Java keystore (JKS), which cannot be read here. "
            f"Make a PKCS12 file of it: keytool -importkeystore -srckeystore {path} "
            f"-destkeystore {name}.p12 -deststoretype PKCS12; or PEM files of that: openssl "
            f"pkcs12 -in {name}.p12 -out {name}.pem"
        )
    format_ = declared.upper()
    if PEM_BEGINS in begins and format_ in {"PEM", "JKS"}:
        return "PEM"
    if begins.startswith(DER_SEQUENCE) and format_ in {"PKCS12", "JKS"}:
        return "PKCS12"
    raise ConfigException(
        f"ssl.{name}.location={path} is not in the format ssl.{name}.type={declared}: PEM and "
        "PKCS12 can be read"
    )


def watched(keys: TlsKeys) -> tuple[str, ...]:
    """List the files whose change needs another context."""
    named = (
        keys.ssl_ca_location,
        keys.ssl_certificate_location,
        keys.ssl_key_location,
        keys.ssl_keystore_location,
        keys.ssl_truststore_location,
        keys.ssl_crl_location,
    )
    return tuple(path for path in named if path is not None)


@contextmanager
def as_file(pem: Pem) -> Iterator[str]:
    """A path under which PEM can be read, for as long as the block lasts."""
    if pem.path is not None:
        yield pem.path
        return
    data = (pem.text or "").encode()
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        number = os.memfd_create("prokurist-pem", os.MFD_CLOEXEC)
        try:
            os.write(number, data)
            yield f"/proc/self/fd/{number}"
        finally:
            os.close(number)
        return
    number, path = tempfile.mkstemp(prefix="prokurist-pem-")  # of mode 0600
    try:
        os.write(number, data)
        os.close(number)
        yield path
    finally:
        with suppress(FileNotFoundError):
            Path(path).unlink()
