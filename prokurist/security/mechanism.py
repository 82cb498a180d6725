"""The interface of a SASL mechanism, and how text from a broker is quoted.

Thread: the helper's; a mechanism belongs to one authentication and is used once.
"""

from contextlib import suppress
from typing import Final, Protocol

from prokurist.errors import SaslAuthenticationException

LONGEST_QUOTE: Final = 500
"""Characters of a broker's text that an error quotes."""


class Mechanism(Protocol):
    """One authentication under way.

    Attributes:
        name: As SaslHandshake names it.
    """

    name: str

    def first(self) -> bytes:
        """Make the message that begins the exchange."""
        ...

    def answer(self, challenge: bytes) -> bytes | None:
        """Take a message of the broker.

        Args:
            challenge: The broker's message.

        Returns:
            The next message, or None if the exchange is complete on this side: the
            broker has proved what the mechanism makes it prove.

        Raises:
            SaslAuthenticationException: The broker's message is not acceptable.
        """
        ...

    def explain(self, told: str) -> str:
        """Say why the broker refused, from its own message and what the exchange has shown."""
        ...


def printable(text: str, longest: int = LONGEST_QUOTE) -> str:
    """Make a text of a broker or a token endpoint fit for an error: short, one line."""
    shown = "".join(each if each.isprintable() else " " for each in text[:longest])
    return shown.strip() + ("…" if len(text) > longest else "")


def refused(mechanism: str, why: str) -> SaslAuthenticationException:
    """Make the error for an answer that the mechanism does not accept."""
    return SaslAuthenticationException(f"{mechanism} authentication failed: {why}")


def octets(text: str, what: str) -> bytes:
    """Encode a credential as UTF-8.

    Raises:
        SaslAuthenticationException: It cannot be encoded; the text does not quote it.
    """
    encoded = None
    with suppress(UnicodeEncodeError):
        encoded = text.encode()
    if encoded is None:
        # Outside of the handler: the codec's error holds the whole text.
        raise SaslAuthenticationException(
            f"{what} holds a lone surrogate, which UTF-8 cannot encode"
        )
    return encoded
