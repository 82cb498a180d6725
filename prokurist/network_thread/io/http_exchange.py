"""One exchange with an HTTP server, bounded in time and length.

Thread: any that may wait, and for each exchange one that ends it when its time is over. No
redirect is followed, and no proxy of the environment is used. What is raised are the standard
library's errors, whose frames hold the request: a caller does not let them out.
"""

import http.client
import io
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from prokurist.lazy_dataclasses import dataclass

LONGEST_EXCHANGE: Final = 512 << 10
"""Bytes that are received: an answer with its headers, and the lengths of its pieces."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Bounds of an exchange.

    Attributes:
        connect: Seconds to connect within.
        read: Seconds in which each part of the answer must come.
        total: Seconds for all of it, the look-up of the name apart.
        longest: Bytes of a body that are read.
    """

    connect: float
    read: float
    total: float
    longest: int


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Response of an HTTP server.

    Attributes:
        status: The status code.
        body: At most `longest` bytes and one, which tells that it is too long.
        headers: By their names in lower case.
    """

    status: int
    body: bytes
    headers: Mapping[str, str]


def exchange(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None,
    *,
    limits: HttpLimits,
    connection: http.client.HTTPConnection,
) -> HttpAnswer:
    """Send a request once, and read the answer.

    Args:
        method: The method.
        url: The address, `http` or `https`.
        headers: Of the request.
        body: Of the request.
        limits: Bounds of time and length.
        connection: A connection of `connection_to`.

    Raises:
        OSError: There was no whole answer in time.
        ValueError: Likewise: the limit ended the connection within a read.
        http.client.HTTPException: The answer is not one of HTTP, or too long.
    """
    parts = urlsplit(url)
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    # A timeout of the socket's begins again with each byte.
    over = threading.Event()
    # `http.client` forgets the socket of an answer that is the connection's last.
    held: list[socket.socket] = []
    limit = threading.Timer(limits.total, partial(hang_up, held, over))
    limit.daemon = True
    limit.start()
    try:
        connection.connect()
        held.append(connection.sock)
        if over.is_set():
            raise TimeoutError("it was not connected in time")
        connection.sock.settimeout(limits.read)
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        # `read` would keep each piece of the answer, and 80 bytes more to join it.
        room = bytearray(limits.longest + 1)
        told = bytes(memoryview(room)[: answer.readinto(room)])
        if answer.length and len(told) <= limits.longest:
            raise http.client.IncompleteRead(b"", answer.length)
        if over.is_set():
            raise TimeoutError("its answer did not end in time")
        found = {name.lower(): value for name, value in answer.getheaders()}
        return HttpAnswer(answer.status, told, found)
    finally:
        limit.cancel()
        connection.close()


class BoundedResponse(http.client.HTTPResponse):
    """An answer that ends in an error where it goes on for too long.

    `http.client` itself bounds neither the answers before the last one (100) nor trailers nor
    extensions beside the length of a chunk.

    Attributes:
        bound: Bytes that are received.
    """

    bound: ClassVar[int] = LONGEST_EXCHANGE

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.fp: io.BufferedReader = io.BufferedReader(Bounded(self.fp.detach(), self.bound))


def connection_to(
    url: str,
    limits: HttpLimits,
    context: ssl.SSLContext | None = None,
    response: type[BoundedResponse] = BoundedResponse,
) -> http.client.HTTPConnection:
    """Make the connection of an exchange; it is not opened yet.

    Args:
        url: The address.
        limits: Bounds of time.
        context: TLS, for `https`.
        response: Bounds an answer.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme.lower() != "https":
        made = http.client.HTTPConnection(host, parts.port, timeout=limits.connect)
    else:
        made = http.client.HTTPSConnection(
            host, parts.port, timeout=limits.connect, context=context
        )
    made.response_class = response
    return made


class Bounded(io.RawIOBase):
    """Byte stream of a connection, up to a bound.

    Args:
        raw: The stream.
        bound: Bytes that are received.
    """

    def __init__(self, raw: io.RawIOBase, bound: int) -> None:
        super().__init__()
        self._raw = raw
        self._bound = self._left = bound

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, into: Any) -> int | None:
        """Receive some bytes, within the bound."""
        if self._left == 0:
            raise http.client.HTTPException(f"it sent more than {self._bound} bytes")
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


def trusting_context() -> ssl.SSLContext:
    """TLS that verifies a server by the system's authorities."""
    # `create_default_context` would write keys where SSLKEYLOGFILE says.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_default_certs()
    return context
