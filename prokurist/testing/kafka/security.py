"""How clients reach a Kafka for tests when it is secured, and what its brokers are told.

Thread: any; no state.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CLIENTS: Final = "PROXIED"
"""The listener that clients come in by; the harness itself has another, in plain text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsListener:
    """TLS on the listener that clients come in by.

    Attributes:
        certificate: PEM file with the broker's key, its certificate and its chain.
        authority: PEM file with who vouches for the certificates of clients, where they
            have to have one; None where they do not.
        protocols: The versions it speaks.
    """

    certificate: Path
    authority: Path | None = None
    protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")

    protocol = "SSL"

    def properties(self) -> Mapping[str, str]:
        """What the brokers are configured with."""
        prefix = f"listener.name.{CLIENTS.lower()}.ssl"
        told = {
            f"{prefix}.keystore.type": "PEM",
            f"{prefix}.keystore.location": str(self.certificate),
            f"{prefix}.enabled.protocols": ",".join(self.protocols),
        }
        if self.authority is not None:
            told |= {
                f"{prefix}.client.auth": "required",
                f"{prefix}.truststore.type": "PEM",
                f"{prefix}.truststore.location": str(self.authority),
            }
        return told
