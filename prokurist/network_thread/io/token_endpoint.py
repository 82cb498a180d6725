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
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from prokurist.errors import ConfigException, NetworkException, SaslAuthenticationException
from prokurist.security.stores import Pem
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
        parts = urlsplit(self.url)
        path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        connection = self._made(parts.scheme.lower(), parts.hostname or "", parts.port)
        # A timeout of the socket's begins again with each byte.
        over = threading.Event()
        limit = threading.Timer(self._connect + self._read, partial(hang_up, connection, over))
        limit.daemon = True
        limit.start()
        try:
            connection.connect()
            if over.is_set():
                raise TimeoutError("it was not connected in time")
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
                f"{error.verify_message}; see https.ca.location"
            ) from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            # ValueError: `ssl` reads on after the limit has ended the connection.
            raise unanswered(self.url, error) from None
        finally:
            limit.cancel()
            connection.close()

    def _made(self, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
        if scheme != "https":
            return http.client.HTTPConnection(host, port, timeout=self._connect)
        context = self._context()
        return http.client.HTTPSConnection(host, port, timeout=self._connect, context=context)

    def _context(self) -> ssl.SSLContext:
        # `create_default_context` would write keys where SSLKEYLOGFILE says.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        pem = self._authorities
        if pem is None:
            context.load_default_certs()
            return context
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


def hang_up(connection: http.client.HTTPConnection, over: threading.Event) -> None:
    """End an exchange from another thread; one that is not connected yet looks at the event."""
    over.set()
    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)


def unanswered(url: str, error: Exception) -> NetworkException:
    """The error for an exchange that broke off, without the request and its secret."""
    said = str(error) or type(error).__name__
    return unreachable(url, f"did not answer: {said[:200]}")
