"""The HTTP exchange with a token endpoint: one request, bounded in time and length.

Thread: the helper's, and for each exchange one that ends it when its time is over. No redirect
is followed, and no proxy of the environment is used.
"""

import http.client
import io
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from prokurist.errors import ConfigException, NetworkException, SaslAuthenticationException
from prokurist.security.mechanism import printable
from prokurist.security.stores import Pem
from prokurist.security.token_request import LONGEST_ANSWER, EndpointAnswer
from prokurist.security.token_sources import unreachable

WAIT: Final = 10.0
"""Seconds to connect, and for each part of the answer, where no key says otherwise."""

LONGEST_EXCHANGE: Final = 512 << 10
"""Bytes that are received: an answer with its headers, and the lengths of its pieces."""

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
        parts = urlsplit(self.url)
        path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        connection = self._made(parts.scheme.lower(), parts.hostname or "", parts.port)
        # A timeout of the socket's begins again with each byte.
        over = threading.Event()
        # `http.client` forgets the socket of an answer that is the connection's last.
        held: list[socket.socket] = []
        limit = threading.Timer(self._connect + self._read, partial(hang_up, held, over))
        limit.daemon = True
        limit.start()
        try:
            connection.connect()
            held.append(connection.sock)
            if over.is_set():
                raise TimeoutError("it was not connected in time")
            connection.sock.settimeout(self._read)
            connection.request("POST", path, body, dict(headers))
            answer = connection.getresponse()
            # `read` would keep each piece of the answer, and 80 bytes more to join it.
            room = bytearray(LONGEST_ANSWER + 1)
            body = bytes(memoryview(room)[: answer.readinto(room)])
            if answer.length and len(body) <= LONGEST_ANSWER:
                raise http.client.IncompleteRead(b"", answer.length)
            if over.is_set():
                raise TimeoutError("its answer did not end in time")
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
            made = http.client.HTTPConnection(host, port, timeout=self._connect)
        else:
            context = self._context()
            made = http.client.HTTPSConnection(
                host, port, timeout=self._connect, context=context
            )
        made.response_class = BoundedResponse
        return made

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


class BoundedResponse(http.client.HTTPResponse):
    """An answer that ends in an error where it goes on for too long.

    `http.client` itself bounds neither the answers before the last one (100) nor trailers nor
    extensions beside the length of a chunk.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.fp: io.BufferedReader = io.BufferedReader(Bounded(self.fp.detach()))


class Bounded(io.RawIOBase):
    """Byte stream of a connection, up to a bound.

    Args:
        raw: The stream.
    """

    def __init__(self, raw: io.RawIOBase) -> None:
        super().__init__()
        self._raw = raw
        self._left = LONGEST_EXCHANGE

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, into: Any) -> int | None:
        """Receive some bytes, within the bound."""
        if self._left == 0:
            raise http.client.HTTPException(f"it sent more than {LONGEST_EXCHANGE} bytes")
        got: int | None = self._raw.readinto(memoryview(into)[: self._left])
        self._left -= got or 0
        return got

    def close(self) -> None:
        """Let go of the connection."""
        self._raw.close()
        super().close()

    def __repr__(self) -> str:
        return f"Bounded({self._left} bytes left)"


def hang_up(held: list[socket.socket], over: threading.Event) -> None:
    """End an exchange from another thread; one that is not connected yet looks at the event."""
    over.set()
    for each in held:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def unanswered(url: str, error: Exception) -> NetworkException:
    """The error for an exchange that broke off, without the request and its secret."""
    said = printable(str(error) or type(error).__name__, LONGEST_REASON)
    return unreachable(url, f"did not answer: {said}")
