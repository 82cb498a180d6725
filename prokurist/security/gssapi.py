"""GSSAPI (Kerberos, RFC 4752) by the optional package `gssapi`, without a security layer.

Thread: the helper's: the Kerberos library may ask a KDC.
"""

import hashlib
import importlib
import importlib.util
import re
from collections.abc import Mapping
from typing import Any, Final

from prokurist.errors import KafkaException, NetworkException, SaslAuthenticationException
from prokurist.security.mechanism import printable, refused

NO_LAYER: Final = 1
"""The bit of the broker's offer, and the whole of the client's choice: no protection of
what follows, which is TLS's business."""

CODES: Final = -1765328384
"""Base of the Kerberos library's error codes."""

PASSING: Final = {
    21: "the client is not yet valid",
    29: "the KDC is not available",
    33: "the ticket is not yet valid",
    34: "the request is a replay",
    156: "no KDC can be reached",
}
"""Codes of what may be over in a moment: the attempt is repeated, as Java's client does for 21,
33 and 34."""

SERVER_UNKNOWN, TICKET_EXPIRED, SKEW, CACHE_EMPTY, CACHE_MISSING = 7, 32, 37, 141, 195

MINDED: Final = {
    SERVER_UNKNOWN: "check sasl.kerberos.service.name, and the host that the broker advertises",
    TICKET_EXPIRED: "renew the ticket (kinit), or give sasl.kerberos.keytab",
    SKEW: "set the clock of this machine",
    CACHE_EMPTY: "get a ticket (kinit), or give sasl.kerberos.keytab",
    CACHE_MISSING: "get a ticket (kinit), or give sasl.kerberos.keytab",
}
"""Remedies for some error codes."""

_MINOR: Final = re.compile(r"Minor \(\d+\): ")


def is_installed() -> bool:
    """True if the package is installed; it is not imported for this."""
    return importlib.util.find_spec("gssapi") is not None


class Gssapi:
    """A GSSAPI (Kerberos) authentication.

    Args:
        service: `sasl.kerberos.service.name`.
        host: The broker's name.
        principal: The principal of the ticket; None for the cache's own.
        keytab: A file of keys to get a ticket with; None for the system's cache. The ticket
            is kept in memory: the cache of the system's user is not touched.
        module: The package, in tests.
    """

    name = "GSSAPI"

    def __init__(
        self,
        service: str,
        host: str,
        *,
        principal: str | None = None,
        keytab: str | None = None,
        module: Any = None,
    ) -> None:
        self._target = f"{service}@{host}"
        self._principal = principal
        self._keytab = keytab
        self._gssapi: Any = module
        self._context: Any = None
        self._established = False
        self._chosen = False

    def first(self) -> bytes:
        """Begin a security context, and return its initial token for the broker's service."""
        try:
            if self._gssapi is None:
                self._gssapi = importlib.import_module("gssapi")
            self._context = self._begun()
            return bytes(self._context.step() or b"")
        except ImportError as error:
            failure: KafkaException = self._failed(
                f"the package gssapi cannot be imported: {error}"
            )
        except Exception as error:  # noqa: BLE001 - a Kerberos library's errors share no base
            failure = self._met(error)
        raise failure

    def _begun(self) -> Any:
        gssapi = self._gssapi
        name = gssapi.Name(self._target, gssapi.NameType.hostbased_service)
        credentials = None
        if self._principal is not None or self._keytab is not None:
            user = None
            if self._principal is not None:
                user = gssapi.Name(self._principal, gssapi.NameType.kerberos_principal)
            store = None if self._keytab is None else self._store(self._keytab)
            credentials = gssapi.Credentials(name=user, usage="initiate", store=store)
        return gssapi.SecurityContext(
            name=name, creds=credentials, usage="initiate", mech=gssapi.MechType.kerberos
        )

    def _store(self, keytab: str) -> Mapping[str, str]:
        """The keys, and a cache for their tickets that all clients of this process share."""
        whose = hashlib.sha256(f"{self._principal}\0{keytab}".encode()).hexdigest()[:16]
        return {"client_keytab": keytab, "ccache": f"MEMORY:prokurist-{whose}"}

    def answer(self, challenge: bytes) -> bytes | None:
        """Go on with the context; then agree on having no security layer."""
        if self._chosen:
            return None
        try:
            if not self._context.complete:
                return bytes(self._context.step(challenge) or b"")
            offer = bytes(self._context.unwrap(challenge).message)
            if len(offer) == 4 and offer[0] & NO_LAYER:
                self._chosen = True
                return bytes(self._context.wrap(bytes([NO_LAYER, 0, 0, 0]), False).message)
        except Exception as error:  # noqa: BLE001 - a Kerberos library's errors share no base
            failure = self._met(error)
        else:
            failure = self._failed(
                "the broker insists on a security layer, which is not spoken: use SASL_SSL"
            )
        raise failure

    def _met(self, error: Exception) -> KafkaException:
        """Convert an error of the library, whose codes are unsigned with 32 bits."""
        code = (getattr(error, "min_code", 0) - CODES) % (1 << 32)
        why = printable(_MINOR.split(str(error))[-1])
        if code in PASSING:
            return NetworkException(
                f"no Kerberos ticket for {self._target}: {PASSING[code]} ({why})"
            )
        minded = MINDED.get(code)
        return self._failed(why if minded is None else f"{why}: {minded}")

    def _failed(self, why: str) -> SaslAuthenticationException:
        return refused(self.name, f"{why}; the service asked for is {self._target}")

    def explain(self, told: str) -> str:
        """Name the service that was asked for, and what to check."""
        return (
            f"{told}; the service asked for was {self._target}: check "
            "sasl.kerberos.service.name and the ticket (klist)"
        )

    def __repr__(self) -> str:
        return f"Gssapi({self._target!r})"
