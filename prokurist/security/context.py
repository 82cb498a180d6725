"""The TLS context of a client, built from its configuration and again when its files change.

Thread: `current` and `look` are the network thread's; building is the application's at first,
then that of a thread which lives as long as one look at the files.
Invariants: nothing below TLS 1.2 is spoken; certificates are verified, and host names, unless
the configuration says otherwise; a file that cannot be used leaves the context as it was.
"""

import os
import re
import ssl
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TypeAlias

from prokurist.config.tls import TlsKeys
from prokurist.errors import ConfigException, KafkaException
from prokurist.security.stores import Identity, as_file, authorities, identity, watched

LOOK_PAUSE: Final = 1.0
"""Seconds between two looks at the files at the least."""

LOOK_TAKES: Final = 0.02
"""Seconds that a new connection waits for a look that has not ended: it goes on with the
context at hand where a file system is slow."""

VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
ANY_VERSION: Final = frozenset({"TLS", "SSL"})
"""Values of Java's `ssl.protocol` for the newest version."""

_HASHED: Final = re.compile(r"[0-9a-f]{8}\.[0-9]+")
"""An authority's file in a directory, as `openssl rehash` names it."""

Stamp: TypeAlias = tuple[tuple[int, int, int] | None, ...]


def no_listener(_error: KafkaException | None) -> None:
    """Ignore a renewal: no listener was set."""


class TlsContexts:
    """The TLS context of new connections, rebuilt when one of its files changes.

    Args:
        keys: The configuration.
        now: Seconds of a monotonic clock.
        on_renewed: Called after files have changed, with None or with why the context was
            left as it was; by the thread that looked.
    """

    def __init__(
        self,
        keys: TlsKeys,
        now: Callable[[], float],
        on_renewed: Callable[[KafkaException | None], None] = no_listener,
    ) -> None:
        self._on_renewed = on_renewed
        self._keys = keys
        self._files = watched(keys)
        self._stamp = self._stamps()
        self._context = built(keys)
        self._now = now
        self._looked_at = now()
        self._looking: threading.Thread | None = None

    def look(self) -> None:
        """See whether the files have changed, on a thread of its own."""
        now = self._now()
        busy = self._looking is not None and self._looking.is_alive()
        if not self._files or busy or now < self._looked_at + LOOK_PAUSE:
            return
        self._looked_at = now
        self._looking = threading.Thread(
            target=self._renew, name="prokurist-tls-files", daemon=True
        )
        try:
            self._looking.start()
        except RuntimeError:  # no more threads for this process
            self._looking = None

    def current(self) -> ssl.SSLContext:
        """The context of a new connection."""
        if self._looking is not None:
            self._looking.join(LOOK_TAKES)
            if not self._looking.is_alive():
                self._looking = None
        return self._context

    def _renew(self) -> None:
        stamp = self._stamps()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._context = built(self._keys)
        except KafkaException as error:
            self._on_renewed(error)
        else:
            self._on_renewed(None)

    def _stamps(self) -> Stamp:
        return tuple(_stamp(path) for path in self._files)

    def __repr__(self) -> str:
        return f"<TlsContexts of {len(self._files)} files>"


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        seen = os.stat(path)  # noqa: PTH116 - three numbers of one call
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size, seen.st_ino


def built(keys: TlsKeys) -> ssl.SSLContext:
    """Build the context that a configuration asks for.

    Raises:
        ConfigException: A key cannot be used; the text names it.
    """
    # `create_default_context` would write keys where SSLKEYLOGFILE says.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    _set_versions(context, keys)
    _set_suites(context, keys)
    context.check_hostname = (
        keys.ssl_endpoint_identification_algorithm == "https"
        and keys.enable_ssl_certificate_verification
    )
    context.hostname_checks_common_name = False
    context.verify_mode = (
        ssl.CERT_REQUIRED if keys.enable_ssl_certificate_verification else ssl.CERT_NONE
    )
    _load_authorities(context, keys)
    ours = identity(keys)
    if ours is not None:
        _load_identity(context, ours)
    return context


def _set_versions(context: ssl.SSLContext, keys: TlsKeys) -> None:
    for name in keys.ssl_enabled_protocols:
        if name not in VERSIONS:
            raise ConfigException(
                f"ssl.enabled.protocols has {name!r}: TLSv1.2 and TLSv1.3 are spoken here"
            )
    enabled = [VERSIONS[name] for name in keys.ssl_enabled_protocols] or [*VERSIONS.values()]
    newest = keys.ssl_protocol
    if newest not in VERSIONS and newest not in ANY_VERSION:
        raise ConfigException(f"ssl.protocol={newest} must be TLSv1.2, TLSv1.3 or TLS")
    if newest in VERSIONS:
        enabled = [each for each in enabled if each <= VERSIONS[newest]]
    if not enabled:
        raise ConfigException(
            f"ssl.protocol={newest} is older than each of ssl.enabled.protocols="
            f"{','.join(keys.ssl_enabled_protocols)}: raise it, or enable that version"
        )
    context.minimum_version, context.maximum_version = min(enabled), max(enabled)


def _set_suites(context: ssl.SSLContext, keys: TlsKeys) -> None:
    """Allow the suites that are named, all of which TLS 1.2 has, and no other.

    The standard library cannot choose among those of TLS 1.3; with a list of suites that
    version is not offered, or the list would not hold.
    """
    if not keys.ssl_cipher_suites:
        return
    for name in keys.ssl_cipher_suites:
        if name.startswith("TLS_") and "_WITH_" not in name:
            raise ConfigException(
                f"ssl.cipher.suites names {name}, a suite of TLS 1.3: this Python cannot "
                "choose among those. Leave it out and all of TLS 1.3's are offered, or name "
                "suites of TLS 1.2"
            )
        try:
            context.set_ciphers(openssl_name(name))
        except ssl.SSLError as error:
            raise ConfigException(
                f"ssl.cipher.suites names {name!r}, which the TLS library does not have"
            ) from error
    if context.minimum_version is ssl.TLSVersion.TLSv1_3:
        raise ConfigException(
            "ssl.cipher.suites names suites of TLS 1.2, which ssl.enabled.protocols does not "
            "allow: enable TLSv1.2, or leave the suites out"
        )
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(":".join(openssl_name(name) for name in keys.ssl_cipher_suites))


def openssl_name(suite: str) -> str:
    """Translate a TLS 1.2 suite's IANA name, as Java has it, to OpenSSL's; both are taken."""
    if not suite.startswith("TLS_"):
        return suite
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    parts = [] if exchange == "RSA" else [exchange.replace("_", "-")]
    name = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256")
    name = name.replace("_CBC", "").replace("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305")
    return "-".join([*parts, name.replace("_", "-")])


def _authorities_key(keys: TlsKeys) -> str:
    if keys.ssl_ca_location:
        return "ssl.ca.location"
    if keys.ssl_truststore_certificates is not None:
        return "ssl.truststore.certificates"
    return "ssl.truststore.location"


def _load_authorities(context: ssl.SSLContext, keys: TlsKeys) -> None:
    if not keys.enable_ssl_certificate_verification:
        return
    found = authorities(keys)
    if found is None:
        context.load_default_certs()
    else:
        key = _authorities_key(keys)
        with as_file(found) as path:
            folder = Path(path).is_dir()
            if folder and not any(
                _HASHED.fullmatch(each.name) for each in Path(path).iterdir()
            ):
                # OpenSSL finds authorities in a folder by these names alone.
                raise ConfigException(
                    f"{key}={path} is a directory without certificates that are named by their "
                    f"hash: run `openssl rehash {path}`, or name one PEM file"
                )
            try:
                context.load_verify_locations(
                    cafile=None if folder else path, capath=path if folder else None
                )
            except (ssl.SSLError, OSError) as error:
                raise ConfigException(
                    f"{key}{f'={found.path}' if found.path else ''} cannot be used: no "
                    f"certificates in PEM were found there ({_reason(error)})"
                ) from error
    if keys.ssl_crl_location is not None:
        try:
            context.load_verify_locations(cafile=keys.ssl_crl_location)
        except (ssl.SSLError, OSError) as error:
            raise ConfigException(
                f"ssl.crl.location={keys.ssl_crl_location} cannot be used: no revocation lists "
                f"in PEM were found there ({_reason(error)})"
            ) from error
        context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF


def _load_identity(context: ssl.SSLContext, ours: Identity) -> None:
    asked = False

    def password() -> str:
        # Given always, so that OpenSSL never asks on the terminal.
        nonlocal asked
        asked = True
        return "" if ours.password is None else ours.password.reveal()

    with ExitStack() as files:
        chain = files.enter_context(as_file(ours.chain))
        key = None if ours.key is None else files.enter_context(as_file(ours.key))
        try:
            context.load_cert_chain(chain, key, password)
        except (OSError, ValueError) as error:  # ValueError: a password that is too long
            where = ours.chain.path or "the certificate given"
            if ours.key is not None:
                where += f" with {ours.key.path or 'the key given'}"
            raise ConfigException(
                f"{where} cannot be used: {_identity_fault(error, ours, asked=asked)}"
            ) from error


def _identity_fault(error: Exception, ours: Identity, *, asked: bool) -> str:
    reason = _reason(error)
    if "KEY_VALUES_MISMATCH" in reason:
        return "the private key is not that of the certificate"
    if asked:
        if ours.password is None:
            return "the private key is encrypted: give ssl.key.password"
        return "ssl.key.password does not open the private key"
    return f"a certificate and its private key are expected there, in PEM ({reason})"


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "no PEM"
    return getattr(error, "strerror", None) or type(error).__name__
