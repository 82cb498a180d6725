"""Credentials of a request: a name and a password, or a token.

Thread: a look-up's; one at a time where a token is asked for.
"""

import threading
from base64 import b64encode
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, Protocol, TypeAlias

from prokurist.config.secret import Secret, SecretSource
from prokurist.errors import ConfigException
from prokurist.events.clock import epoch_milliseconds
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.io.token_endpoint import TokenEndpoint
from prokurist.registry.forks import renew_in_children
from prokurist.security.mechanism import octets
from prokurist.security.stores import Pem
from prokurist.security.token_backoff import TokenBackoff
from prokurist.security.token_request import ClientCredentials
from prokurist.security.token_sources import CallableSource
from prokurist.security.tokens import TokenKeeper, TokenSource

WINDOW: Final = 0.8
JITTER: Final = 0.05
LEAST_PERIOD: Final = 60.0
BUFFER: Final = 300.0
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 10.0
TOKEN_WAIT: Final = 5.0
"""Seconds to connect to a token endpoint, and for each part of its answer."""


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A client of an OAuth provider, by the client credentials grant.

    Attributes:
        url: The token endpoint.
        client_id: The client's id.
        client_secret: Its secret, as text, a `Secret`, or a callable that returns the text.
        scope: The requested scope.
        ca_location: PEM file with the endpoint's authorities; None for the system's.
    """

    url: str
    client_id: str
    client_secret: SecretSource
    scope: str | None = None
    ca_location: str | None = None

    def __repr__(self) -> str:
        return f"OAuthClient({self.url!r}, {self.client_id!r})"


Basic: TypeAlias = tuple[str, SecretSource]


class Credentials(Protocol):
    """Makes the header `Authorization`."""

    def header(self) -> str | None:
        """Return its value; None to send none.

        Raises:
            KafkaException: There are no credentials.
        """
        ...

    def refused(self) -> bool:
        """Drop refused credentials; True if other credentials may serve."""
        ...


class NoCredentials:
    """Requests without credentials."""

    def header(self) -> str | None:
        """Send none."""
        return None

    def refused(self) -> bool:
        """There are no others."""
        return False


class BasicCredentials:
    """A name and a password.

    Args:
        name: The name.
        password: The password.
    """

    def __init__(self, name: str, password: Secret) -> None:
        self._name = name
        self._password = password

    def header(self) -> str | None:
        """Return both in base64."""
        pair = octets(f"{self._name}:{self._password.reveal()}", "the registry's password")
        return f"Basic {b64encode(pair).decode()}"

    def refused(self) -> bool:
        """A password may have been changed only where it is asked for."""
        return False

    def __repr__(self) -> str:
        return f"BasicCredentials({self._name!r})"


class TokenCredentials:
    """A bearer token, renewed late in its life and after a refusal.

    Args:
        source: Where tokens come from.
        now: The time of day.
        draw: Draws from [0, 1).
    """

    def __init__(
        self, source: TokenSource, now: Callable[[], float], draw: Callable[[], float]
    ) -> None:
        self.renew()
        renew_in_children(self)
        self._tokens = TokenKeeper(
            source,
            now=now,
            draw=draw,
            window=WINDOW,
            jitter=JITTER,
            least=LEAST_PERIOD,
            buffer=BUFFER,
        )

    def renew(self) -> None:
        """Make the lock; see `forks.Forked`."""
        self._lock = threading.Lock()

    def header(self) -> str | None:
        """Return the current token; others wait while it is asked for."""
        with self._lock:
            return f"Bearer {self._tokens.current().secret.reveal()}"

    def refused(self) -> bool:
        """Have another token fetched."""
        self._tokens.refused()
        return True

    def __repr__(self) -> str:
        return f"TokenCredentials({self._tokens!r})"


def credentials_of(
    basic: Basic | None, bearer: Any, oauth: OAuthClient | None
) -> "Credentials":
    """Make the credentials of a client's arguments.

    Raises:
        ConfigException: More than one kind is given.
    """
    given = {"basic": basic, "bearer": bearer, "oauth": oauth}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ConfigException(f"{' and '.join(named)} are given: leave all but one out")
    if basic is not None:
        return BasicCredentials(basic[0], secret_of(basic[1]))

    def now() -> float:
        return epoch_milliseconds() / 1000

    draw = Random().random  # noqa: S311 - of when a token is renewed
    if oauth is not None:
        return TokenCredentials(client_credentials(oauth, now, draw), now, draw)
    if bearer is None:
        return NoCredentials()
    if isinstance(bearer, str | Secret):
        secret = secret_of(bearer)
        return TokenCredentials(
            CallableSource(lambda _config: secret.reveal(), "", {}), now, draw
        )
    return TokenCredentials(CallableSource(bearer, "", {}), now, draw)


def secret_of(given: SecretSource) -> Secret:
    """Wrap a secret."""
    return given if isinstance(given, Secret) else Secret(given)


def client_credentials(
    client: OAuthClient, now: Callable[[], float], draw: Callable[[], float]
) -> ClientCredentials:
    """Make the source of an OAuth client's tokens."""
    secret = secret_of(client.client_secret)
    authorities = None if client.ca_location is None else Pem(path=client.ca_location)
    return ClientCredentials(
        TokenEndpoint(client.url, connect=TOKEN_WAIT, read=TOKEN_WAIT, authorities=authorities),
        client_id=client.client_id,
        secret=lambda: secret,
        scope=client.scope,
        urlencode=False,
        extensions={},
        now=now,
        backoff=TokenBackoff(FIRST_PAUSE, LONGEST_PAUSE, now=now, draw=draw),
    )


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Check headers that go with each request, such as `target-sr-cluster`, and return them.

    Raises:
        ConfigException: A name or a value has characters that a header cannot have.
    """
    for name, value in headers.items():
        if not name.isascii() or not name.replace("-", "").isalnum():
            raise ConfigException(f"{name!r} cannot be the name of an HTTP header")
        if name.lower() == "authorization":
            raise ConfigException("give basic, bearer or oauth in place of that header")
        if not value.isascii() or not value.isprintable():
            raise ConfigException(f"the value of the header {name!r} is not printable ASCII")
    return dict(headers)
