"""The HTTP exchange with a token endpoint: one request, bounded in time and length.

Thread: the helper's, and for each exchange one that ends it when its time is over. No redirect
is followed, and no proxy of the environment is used.
"""

import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from prokurist.errors import NetworkException, SaslAuthenticationException
from prokurist.security.token_request import LONGEST_ANSWER, EndpointAnswer
from prokurist.security.token_sources import unreachable

WAIT: Final = 10.0
"""Seconds to connect, and for each part of the answer, where no key says otherwise."""


class TokenEndpoint:
    """See `security.token_request.Endpoint`.

    Args:
        url: Its address.
        connect: Seconds to connect within; None for the default.
        read: Seconds in which each part of the answer must come; None likewise.
        authorities: PEM file with who may vouch for it; None for the system's.
    """

    def __init__(
        self,
        url: str,
        *,
        connect: float | None,
        read: float | None,
        authorities: str | None = None,
    ) -> None:
        self.url: str = url
        self._connect = WAIT if connect is None else connect
        self._read = WAIT if read is None else read
        self._authorities = authorities

    def post(self, headers: Mapping[str, str], body: bytes) -> EndpointAnswer:
        """Send the request once; see `Endpoint.post`."""
        parts = urlsplit(self.url)
        path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        connection = self._made(parts.scheme.lower(), parts.hostname or "", parts.port)
        # A timeout of the socket's begins again with each byte.
        limit = threading.Timer(self._connect + self._read, partial(hang_up, connection))
        limit.daemon = True
        limit.start()
        try:
            connection.connect()
            if connection.sock is not None:
                connection.sock.settimeout(self._read)
            connection.request("POST", path, body, dict(headers))
            answer = connection.getresponse()
            body = answer.read(LONGEST_ANSWER + 1)
            if answer.length and len(body) <= LONGEST_ANSWER:
                raise http.client.IncompleteRead(b"", answer.length)
            return EndpointAnswer(answer.status, body)
        except ssl.SSLCertVerificationError as error:
            raise SaslAuthenticationException(
                f"the certificate of the token endpoint {self.url} is not accepted: "
                f"{error.verify_message}"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise unanswered(self.url, error) from None
        finally:
            limit.cancel()
            connection.close()

    def _made(self, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
        if scheme != "https":
            return http.client.HTTPConnection(host, port, timeout=self._connect)
        # `create_default_context` would write keys where SSLKEYLOGFILE says.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if self._authorities is None:
            context.load_default_certs()
        else:
            context.load_verify_locations(self._authorities)
        return http.client.HTTPSConnection(host, port, timeout=self._connect, context=context)

    def __repr__(self) -> str:
        return f"TokenEndpoint({self.url!r})"


def hang_up(connection: http.client.HTTPConnection) -> None:
    """End an exchange from another thread."""
    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)


def unanswered(url: str, error: Exception) -> NetworkException:
    """The error for an exchange that broke off, without the request and its secret."""
    said = str(error) or type(error).__name__
    return unreachable(url, f"did not answer: {said[:200]}")
