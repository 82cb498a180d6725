"""The HTTP exchange with a token endpoint: one request, bounded in time and length.

Thread: the helper's. No redirect is followed, and no proxy of the environment is used.
"""

import http.client
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from prokurist.errors import ConfigException, NetworkException, SaslAuthenticationException
from prokurist.network_thread.io.http_exchange import (
    HttpLimits,
    connection_to,
    exchange,
    trusting_context,
)
from prokurist.security.mechanism import printable
from prokurist.security.stores import Pem
from prokurist.security.token_request import LONGEST_ANSWER, EndpointAnswer
from prokurist.security.token_sources import unreachable

WAIT: Final = 10.0
"""Seconds to connect, and for each part of the answer, where no key says otherwise."""

LONGEST_REASON: Final = 200


class TokenEndpoint:
    """See `security.token_request.Endpoint`.

    Args:
        url: Its address.
        connect: Seconds to connect within; None for the default.
        read: Seconds in which each part of the answer must come; None likewise.
        authorities: Who may vouch for it; None for the system's.

    Raises:
        ConfigException: The authorities cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        connect: float | None,
        read: float | None,
        authorities: Pem | None = None,
    ) -> None:
        self.url: str = url
        self._connect = WAIT if connect is None else connect
        self._read = WAIT if read is None else read
        self._authorities = authorities
        if authorities is not None:
            self._context()  # A fault is told where the client is built.

    def post(self, headers: Mapping[str, str], body: bytes) -> EndpointAnswer:
        """Send the request once; see `Endpoint.post`."""
        limits = HttpLimits(
            self._connect, self._read, self._connect + self._read, LONGEST_ANSWER
        )
        connection = self._made(limits)
        try:
            answer = exchange(
                "POST", self.url, headers, body, limits=limits, connection=connection
            )
            return EndpointAnswer(answer.status, answer.body)
        except ssl.SSLCertVerificationError as error:
            raise SaslAuthenticationException(
                f"the certificate of the token endpoint {self.url} is not accepted: "
                f"{error.verify_message}; see https.ca.location"
            ) from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            # ValueError: `ssl` reads on after the limit has ended the connection.
            raise unanswered(self.url, error) from None

    def _made(self, limits: HttpLimits) -> http.client.HTTPConnection:
        context = self._context() if self.url.lower().startswith("https:") else None
        return connection_to(self.url, limits, context)

    def _context(self) -> ssl.SSLContext:
        pem = self._authorities
        if pem is None:
            return trusting_context()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        key = "https.ca.pem" if pem.path is None else f"https.ca.location={pem.path}"
        try:
            if pem.path is None:
                context.load_verify_locations(cadata=pem.text)
            elif Path(pem.path).is_dir():
                context.load_verify_locations(capath=pem.path)
            else:
                context.load_verify_locations(cafile=pem.path)
        except (OSError, ValueError) as error:
            raise ConfigException(f"{key} cannot be used: {error}") from error
        return context

    def __repr__(self) -> str:
        return f"TokenEndpoint({self.url!r})"


def unanswered(url: str, error: Exception) -> NetworkException:
    """The error for an exchange that broke off, without the request and its secret."""
    said = printable(str(error) or type(error).__name__, LONGEST_REASON)
    return unreachable(url, f"did not answer: {said}")
