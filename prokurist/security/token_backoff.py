"""When a token endpoint that has failed is asked again: one back-off for all connections.

Thread: the helper's, but for `left` and `failures`, which the network thread reads as well.

Each connection needs the token, and each of them tries again by itself. What has failed a
moment ago is not asked again for that: its failure is told once more instead.
"""

from collections.abc import Callable
from typing import Final

from prokurist.errors import KafkaException, SaslAuthenticationException
from prokurist.security.tokens import Token, TokenSource

JITTER: Final = 0.2
GRAIN: Final = 0.001
MOST_DOUBLINGS: Final = 64


class TokenBackoff:
    """The pauses between the questions to a token endpoint.

    Args:
        first: `sasl.login.retry.backoff.ms`, in seconds.
        longest: `sasl.login.retry.backoff.max.ms`, in seconds.
        now: The time of day, in seconds since 1970.
        draw: Draws from [0, 1).

    Attributes:
        failures: How often in a row it has failed.
    """

    def __init__(
        self,
        first: float,
        longest: float,
        *,
        now: Callable[[], float],
        draw: Callable[[], float],
    ) -> None:
        self.failures: int = 0
        self._first = first
        self._longest = longest
        self._now = now
        self._draw = draw
        self._failure: KafkaException | None = None
        self._failed_at = self._pause = 0.0

    def check(self) -> None:
        """Return if the endpoint may be asked.

        Raises:
            KafkaException: Its last failure, once more: it is too soon.
        """
        if self._failure is not None and self._remaining() > 0:
            raise type(self._failure)(str(self._failure))

    def failed(self, error: KafkaException) -> None:
        """Note a failed request."""
        doubled = self._first * 2.0 ** min(self.failures, MOST_DOUBLINGS)
        spread = 1 - JITTER + 2 * JITTER * self._draw()
        self.failures += 1
        self._pause = min(min(doubled, self._longest) * spread, self._longest)
        self._failed_at = self._now()
        self._failure = error.with_traceback(None)

    def succeeded(self) -> None:
        """Note a token received."""
        self.failures = 0
        self._failure = None

    def left(self) -> float:
        """Seconds that are worth waiting for before it is asked; 0 after a refusal."""
        if self._failure is None or isinstance(self._failure, SaslAuthenticationException):
            return 0.0
        return self._remaining()

    def _remaining(self) -> float:
        since = self._now() - self._failed_at
        left = self._pause - since
        # The time of day may be set back: then nothing is waited for. Nor is what is left of
        # a pause that another clock has measured.
        return left if since >= 0 and left >= GRAIN else 0.0

    def __repr__(self) -> str:
        return f"<TokenBackoff after {self.failures} failures>"


class BackedOff:
    """A source that is asked again only after a pause, once it has failed.

    Args:
        source: The source.
        backoff: The pauses.
    """

    def __init__(self, source: TokenSource, backoff: TokenBackoff) -> None:
        self._source = source
        self._backoff = backoff

    def fetch(self) -> Token:
        """See `TokenSource`."""
        self._backoff.check()
        try:
            token = self._source.fetch()
        except KafkaException as error:
            self._backoff.failed(error)
            raise
        self._backoff.succeeded()
        return token

    def __repr__(self) -> str:
        return repr(self._source)
