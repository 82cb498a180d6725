"""PLAIN (RFC 4616): user name and password in one message.

Thread: the helper's.
"""

from prokurist.config.secret import Secret
from prokurist.errors import SaslAuthenticationException
from prokurist.security.mechanism import octets


class Plain:
    """A PLAIN authentication: user name and password in one message.

    Args:
        username: Who authenticates.
        password: The password; read once, when the message is made.
    """

    name = "PLAIN"

    def __init__(self, username: str, password: Secret) -> None:
        self._username = username
        self._password = password

    def first(self) -> bytes:
        """Make the only message: NUL, name, NUL, password; no authorization id."""
        name = octets(self._username, "sasl.username")
        password = octets(self._password.reveal(), "sasl.password")
        if b"\0" in name or b"\0" in password:
            raise SaslAuthenticationException(
                "PLAIN cannot carry a NUL character in sasl.username or sasl.password"
            )
        return b"\0" + name + b"\0" + password

    def answer(self, challenge: bytes) -> None:
        """Take the acceptance: there is no second message."""

    def explain(self, told: str) -> str:
        """Name the keys to check after a refusal."""
        return f"{told}; check sasl.username and sasl.password"

    def __repr__(self) -> str:
        return f"Plain({self._username!r})"
