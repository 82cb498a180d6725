"""OAUTHBEARER (RFC 7628, KIP-255): a bearer token and SASL extensions.

Thread: the helper's.
"""

import json

from prokurist.security.mechanism import printable, refused
from prokurist.security.tokens import TokenKeeper

_SEPARATOR = "\x01"


class OAuthBearer:
    """An OAUTHBEARER authentication with the current token.

    Args:
        tokens: The client's token.
    """

    name = "OAUTHBEARER"

    def __init__(self, tokens: TokenKeeper) -> None:
        self._tokens = tokens
        self._error = ""

    def first(self) -> bytes:
        """Make the first message: the token, and the extensions behind it."""
        token = self._tokens.current()
        fields = [f"auth=Bearer {token.secret.reveal()}"]
        fields += [f"{name}={value}" for name, value in token.extensions.items()]
        return f"n,,{_SEPARATOR}{_SEPARATOR.join(fields)}{_SEPARATOR}{_SEPARATOR}".encode()

    def answer(self, challenge: bytes) -> bytes | None:
        """Take success, which is empty, or acknowledge an error; then the broker refuses."""
        if self._error:
            raise refused(
                self.name, self.explain("the broker went on after refusing the token")
            )
        if not challenge:
            return None
        self._error = reason_of(challenge)
        return _SEPARATOR.encode()

    def explain(self, told: str) -> str:
        """Say where the refused token came from, and have another fetched for the next try."""
        self._tokens.refused()
        reason = f": {self._error}" if self._error and self._error not in told else ""
        return f"{told}{reason}; the token came from {self._tokens}"

    def __str__(self) -> str:
        return f"a token of {self._tokens}"

    def __repr__(self) -> str:
        return f"OAuthBearer({self._tokens!r})"


def reason_of(challenge: bytes) -> str:
    """Extract status, scope and configuration from a broker's error (RFC 7628 §3.2.2)."""
    text = challenge.decode("utf-8", "replace")
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        return printable(text) or "an unreadable error"
    names = ("status", "scope", "openid-configuration")
    parts = [f"{name} {told[name]}" for name in names if isinstance(told.get(name), str)]
    return printable(", ".join(parts)) or "an error without a status"
