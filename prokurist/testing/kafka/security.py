"""Security of a Kafka for tests: its clients' listener and its brokers' properties.

Thread: any; no state.
"""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from prokurist.lazy_dataclasses import dataclass

CLIENTS: Final = "PROXIED"
"""The listener that clients come in by; the harness itself has another, in plain text."""

_PREFIX: Final = f"listener.name.{CLIENTS.lower()}"
_KAFKA: Final = "org.apache.kafka.common.security"
_UNSECURED: Final = (
    f"{_KAFKA}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuredListener:
    """TLS, SASL or both on the listener that clients come in by.

    Attributes:
        certificate: PEM file with the broker's key, its certificate and its chain; None for
            no TLS.
        authority: PEM file with who vouches for the certificates of clients, where they
            have to have one; None where they do not.
        protocols: The versions of TLS that it speaks.
        mechanisms: The SASL mechanisms that it takes; none for no SASL. OAUTHBEARER takes
            unsecured tokens.
        users: Passwords by name, for PLAIN and SCRAM.
        keytab: The broker's keys, for GSSAPI. Its virtual machine has to be told of the realm
            as well: `java_options=["-Djava.security.krb5.conf=…"]`.
        principal: The principal of these keys.
        session: Milliseconds until a connection must authenticate again; 0 for never.
        is_direct: True to advertise the brokers' own addresses instead of those of the fault
            proxies, for benchmarks.
    """

    certificate: Path | None = None
    authority: Path | None = None
    protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    mechanisms: tuple[str, ...] = ()
    users: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    keytab: Path | None = None
    principal: str = "kafka/127.0.0.1"
    session: int = 0
    is_direct: bool = False

    @property
    def protocol(self) -> str:
        """Its `security.protocol`."""
        sasl = "SASL_" if self.mechanisms else ""
        return f"{sasl}{'PLAINTEXT' if self.certificate is None else 'SSL'}"

    def properties(self) -> Mapping[str, str]:
        """Return the broker properties of the listener."""
        return {**self._tls(), **self._sasl()}

    def format_arguments(self) -> list[str]:
        """Return the arguments for formatting a node's folder: the SCRAM users."""
        return [
            part
            for mechanism in self.mechanisms
            if mechanism.startswith("SCRAM")
            for name, password in self.users.items()
            for part in ("--add-scram", f"{mechanism}=[name={name},password={password}]")
        ]

    def _tls(self) -> Mapping[str, str]:
        if self.certificate is None:
            return {}
        told = {
            f"{_PREFIX}.ssl.keystore.type": "PEM",
            f"{_PREFIX}.ssl.keystore.location": str(self.certificate),
            f"{_PREFIX}.ssl.enabled.protocols": ",".join(self.protocols),
        }
        if self.authority is not None:
            told |= {
                f"{_PREFIX}.ssl.client.auth": "required",
                f"{_PREFIX}.ssl.truststore.type": "PEM",
                f"{_PREFIX}.ssl.truststore.location": str(self.authority),
            }
        return told

    def _sasl(self) -> Mapping[str, str]:
        if not self.mechanisms:
            return {}
        told = {f"{_PREFIX}.sasl.enabled.mechanisms": ",".join(self.mechanisms)}
        for mechanism in self.mechanisms:
            of_it = f"{_PREFIX}.{mechanism.lower()}"
            told[f"{of_it}.sasl.jaas.config"] = self._jaas(mechanism)
            if mechanism == "OAUTHBEARER":
                told[f"{of_it}.sasl.server.callback.handler.class"] = _UNSECURED
            if mechanism == "GSSAPI":
                told[f"{_PREFIX}.sasl.kerberos.service.name"] = self.principal.partition("/")[0]
            if self.session:
                told[f"{of_it}.connections.max.reauth.ms"] = str(self.session)
        return told

    def _jaas(self, mechanism: str) -> str:
        if mechanism == "PLAIN":
            users = " ".join(
                f'user_{name}="{password}"' for name, password in self.users.items()
            )
            return f"{_KAFKA}.plain.PlainLoginModule required {users};"
        if mechanism == "OAUTHBEARER":
            return (
                f"{_KAFKA}.oauthbearer.OAuthBearerLoginModule required "
                'unsecuredLoginStringClaim_sub="broker";'
            )
        if mechanism == "GSSAPI":
            return (
                "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true "
                f'storeKey=true keyTab="{self.keytab}" principal="{self.principal}";'
            )
        return f"{_KAFKA}.scram.ScramLoginModule required;"
