"""Bearer tokens: their properties and their renewal.

Thread: the helper's, one job at a time, but for `TokenKeeper.refused` and `is_alive`, which are
the network thread's; the time of day is handed in.
"""

import binascii
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Final, Protocol

from prokurist.config.secret import Secret
from prokurist.errors import KafkaException, SaslAuthenticationException
from prokurist.lazy_dataclasses import dataclass

LONGEST_TOKEN: Final = 32 << 10
MOST_SECONDS: Final = 1e12
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_EXTENSION_NAME: Final = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE: Final = re.compile(r"[\x21-\x7e \t\r\n]+")


@dataclass(frozen=True, slots=True)
class Token:
    """A token that can be sent.

    Attributes:
        secret: Its text.
        expires: When it runs out, in seconds since 1970; None where that is not known.
        extensions: SASL extensions to send with it (KIP-342).
    """

    secret: Secret
    expires: float | None = None
    extensions: Mapping[str, str] = field(default_factory=dict)


class TokenSource(Protocol):
    """A source of OAUTHBEARER tokens."""

    def fetch(self) -> Token:
        """Get a new token; it may wait.

        Raises:
            KafkaException: There is none; `SaslAuthenticationException` if asking again
                does not help.
        """
        ...


def checked_token(text: object, source: str) -> str:
    """Check a token's text, and return it.

    Raises:
        SaslAuthenticationException: It cannot; the text names the source alone.
    """
    if not isinstance(text, str):
        raise SaslAuthenticationException(
            f"{source} gave an object of type {type(text).__name__} where a token was expected"
        )
    text = text.strip()
    if not text:
        raise SaslAuthenticationException(f"{source} gave an empty token")
    if len(text) > LONGEST_TOKEN:
        raise SaslAuthenticationException(
            f"{source} gave a token of {len(text)} characters; at most {LONGEST_TOKEN} are sent"
        )
    if not _TOKEN.fullmatch(text):
        raise SaslAuthenticationException(
            f"{source} gave a token with characters that a bearer token cannot have"
        )
    return text


def checked_extensions(extensions: Mapping[str, str]) -> dict[str, str]:
    """Check SASL extensions against RFC 7628, and return them.

    Raises:
        SaslAuthenticationException: It does not; values are not quoted.
    """
    for name, value in extensions.items():
        if not _EXTENSION_NAME.fullmatch(name) or name == "auth":
            raise SaslAuthenticationException(
                f"{name!r} cannot be the name of a SASL extension: letters only, and not auth"
            )
        if not _EXTENSION_VALUE.fullmatch(value):
            raise SaslAuthenticationException(
                f"the value of the SASL extension {name!r} has characters that it cannot have"
            )
    return dict(extensions)


def claims_of(token: str) -> dict[str, Any]:
    """Read the claims of a JWT, unverified; empty for a token of another kind."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        found = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def expiry_of(token: str) -> float | None:
    """Read when a JWT expires; None for one that does not say."""
    return seconds_of(claims_of(token).get("exp"))


def seconds_of(told: object) -> float | None:
    """Read a number of seconds in JSON; None for an invalid or unbounded one."""
    if isinstance(told, bool) or not isinstance(told, int | float):
        return None
    return float(told) if abs(told) <= MOST_SECONDS else None


def unsecured_token(claims: Mapping[str, object]) -> str:
    """Make an unsigned JWT (`alg` none), for brokers in development that accept it."""
    parts = ({"alg": "none"}, claims)
    return (
        ".".join(
            urlsafe_b64encode(json.dumps(part, separators=(",", ":")).encode())
            .decode()
            .rstrip("=")
            for part in parts
        )
        + "."
    )


class TokenKeeper:
    """The one token of a client, renewed when an authentication asks for it late in its life.

    A token that has not run out is used while renewing it fails.

    Args:
        source: Where tokens come from.
        now: The time of day, in seconds since 1970.
        draw: Draws from [0, 1).
        window: `sasl.login.refresh.window.factor`.
        jitter: `sasl.login.refresh.window.jitter`.
        least: `sasl.login.refresh.min.period.seconds`.
        buffer: `sasl.login.refresh.buffer.seconds`.
    """

    def __init__(
        self,
        source: TokenSource,
        *,
        now: Callable[[], float],
        draw: Callable[[], float],
        window: float,
        jitter: float,
        least: float,
        buffer: float,
    ) -> None:
        self._source = source
        self._now = now
        self._draw = draw
        self._window = window
        self._jitter = jitter
        self._least = least
        self._buffer = buffer
        self._token: Token | None = None
        self._renew_at = 0.0

    def current(self) -> Token:
        """Return the token to authenticate with, fetching another late in its life.

        Raises:
            KafkaException: There is none that lives, and no new one can be had.
        """
        now = self._now()
        held = self._token
        if held is not None and held.expires is not None and now < self._renew_at:
            return held
        try:
            return self._kept(self._source.fetch(), now)
        except KafkaException:
            if held is None or held.expires is None or held.expires <= now:
                raise
            self._renew_at = now + min(self._least, (held.expires - now) / 2)
            return held

    def _kept(self, token: Token, now: float) -> Token:
        if token.expires is not None and token.expires <= now:
            raise SaslAuthenticationException(
                f"the token of {self._source!r} ran out {now - token.expires:.0f} s ago"
            )
        self._token = token
        if token.expires is None:
            return token
        life = token.expires - now
        share = self._window + self._jitter * self._draw()
        at = now + life * share
        if self._least + self._buffer < life:
            # As in Java, both only count where the token lives long enough for both.
            at = max(now + self._least, min(at, token.expires - self._buffer))
        self._renew_at = at
        return token

    @property
    def is_alive(self) -> bool:
        """True if the held token has not expired."""
        held = self._token
        return held is not None and held.expires is not None and self._now() < held.expires

    def refused(self) -> None:
        """Drop the token that a broker refused: the next authentication fetches a new one."""
        self._token = None

    def __str__(self) -> str:
        return str(self._source)

    def __repr__(self) -> str:
        return f"TokenKeeper({self._source!r})"
