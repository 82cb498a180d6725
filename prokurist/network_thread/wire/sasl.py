"""SaslHandshake and SaslAuthenticate: a mechanism is agreed on, and its messages exchanged.

Thread: any; frozen values.
"""

from collections.abc import Iterable
from dataclasses import field
from typing import ClassVar

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE, Api
from prokurist.network_thread.wire.request import Body, Limit


@dataclass(frozen=True, slots=True)
class SaslHandshakeAnswer:
    """Answer to SaslHandshake.

    Attributes:
        error: 0, or why not.
        enabled: The mechanisms that its listener takes.
    """

    error: int
    enabled: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SaslHandshake:
    """Names the mechanism of the messages that follow."""

    api: ClassVar[Api] = SASL_HANDSHAKE

    mechanism: str

    def limits(self) -> Iterable[Limit]:
        """Nothing: every version can carry it."""
        return ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"mechanism": self.mechanism}

    def answer(self, body: Body) -> SaslHandshakeAnswer:
        """Read an answer of any version."""
        return SaslHandshakeAnswer(body["error_code"], tuple(body["mechanisms"]))


@dataclass(frozen=True, slots=True)
class SaslAuthenticateAnswer:
    """The broker's message of the mechanism, or its refusal.

    Attributes:
        error: 0, or why not.
        message: Why not, in its words.
        data: Its message.
        lifetime: Seconds after which the connection has to authenticate again; 0 for never.
    """

    error: int
    message: str | None
    data: bytes
    lifetime: float = 0.0


@dataclass(frozen=True, slots=True)
class SaslAuthenticate:
    """Carries one message of the mechanism."""

    api: ClassVar[Api] = SASL_AUTHENTICATE

    data: bytes = field(repr=False)

    def limits(self) -> Iterable[Limit]:
        """Nothing: every version can carry it."""
        return ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"auth_bytes": self.data}

    def answer(self, body: Body) -> SaslAuthenticateAnswer:
        """Read an answer of any version."""
        return SaslAuthenticateAnswer(
            error=body["error_code"],
            message=body["error_message"],
            data=bytes(body["auth_bytes"]),
            lifetime=max(0, body.get("session_lifetime", 0)) / 1000,
        )
