"""What a token endpoint answers: HTTP and JSON that are harmed, forged, or without end.

Thread: any; each exchange has one that ends it, and those without end one that sends.
Invariants: everything comes of the `Random` that is handed in.
"""

import json
import socket
import threading
from base64 import urlsafe_b64encode
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection
from random import Random
from typing import Any, Final

from prokurist.config.secret import Secret
from prokurist.errors import NetworkException, SaslAuthenticationException
from prokurist.network_thread.io.http_exchange import BoundedResponse
from prokurist.network_thread.io.token_endpoint import TokenEndpoint
from prokurist.security.token_backoff import TokenBackoff
from prokurist.security.token_request import ClientCredentials
from prokurist.security.tokens import LONGEST_TOKEN, TokenKeeper
from tests.fuzz.costs import MIB, Allowance, within
from tests.fuzz.hostile import harmed

SECRET: Final = "hush-hush-secret"  # noqa: S105 - made up
LIMIT: Final = 5.0
NOW: Final = 1_700_000_000.0
LONGEST_WORDS: Final = 1000
"""Characters of an error, which quotes an answer shortly."""
MOST: Final = 150_000
"""Bytes that a pair of sockets takes without a reader."""
WITHOUT_END: Final = Allowance(0.3, 4 * MIB)
"""What an answer without end may cost, its sender included: all of them cost less than one MiB,
and one whose pieces are kept six to nine."""


class Told(AssertionError):
    """Something was told that must not be, or taken that is no token."""


class LocalConnection(HTTPConnection):
    """A connection that there is.

    Args:
        ours: Its socket.
    """

    response_class = BoundedResponse

    def __init__(self, ours: socket.socket) -> None:
        super().__init__("localhost", timeout=LIMIT)
        self._ours = ours

    def connect(self) -> None:
        """It is connected."""
        self.sock = self._ours


class LocalEndpoint(TokenEndpoint):
    """An endpoint at the other end of a pair of sockets.

    Args:
        ours: This end.
    """

    def __init__(self, ours: socket.socket) -> None:
        super().__init__("http://localhost/token", connect=LIMIT, read=LIMIT)
        self._ours = ours

    def _made(self, *_given: object) -> HTTPConnection:
        return LocalConnection(self._ours)


def endpoints(lot: Random) -> None:
    """An answer is a token, or refused with few and printable words."""
    data = answer(lot)[:MOST]
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        asked(LocalEndpoint(ours))


def asked(endpoint: TokenEndpoint) -> None:
    """Ask for a token once, and look at what comes of it."""
    source = ClientCredentials(
        endpoint,
        client_id="id",
        secret=lambda: Secret(SECRET),
        scope="a b",
        urlencode=False,
        extensions={},
        now=lambda: NOW,
        backoff=TokenBackoff(0.0, 0.0, now=lambda: NOW, draw=lambda: 0.5),
    )
    keeper = TokenKeeper(
        source, now=lambda: NOW, draw=lambda: 0.5, window=0.8, jitter=0.1, least=60, buffer=300
    )
    try:
        token = keeper.current()
    except (NetworkException, SaslAuthenticationException) as error:
        words = str(error)
        if SECRET in words or not words.isprintable() or len(words) > LONGEST_WORDS:
            raise Told(words) from error
        return
    text = token.secret.reveal()
    if not 0 < len(text) <= LONGEST_TOKEN or not text.isascii() or not text.isprintable():
        raise Told(text)
    if token.expires is not None and not NOW < token.expires < 2e12:
        raise Told(f"{token.expires}")
    if token.expires is not None and keeper.current() is not token:
        raise Told("a token that lives was not kept")


# --- answers ---------------------------------------------------------------------------------


def answer(lot: Random) -> bytes:
    """An HTTP answer, good or harmed in any part."""
    body = told(lot)
    if lot.random() < 0.4:
        body = harmed(body, lot)
    status = lot.choice((200, 200, 200, 200, 200, 400, 401, 302, 429, 500, 204, 304, 100, 999))
    reason = lot.choice(("OK", "", "No \x1b[31m"))
    head = f"HTTP/1.{lot.choice('1110x')} {status} {reason}\r\n"
    before = b"HTTP/1.1 100 Continue\r\n\r\n" * lot.choice((0, 0, 0, 1, 50))
    lines = [line(lot) for _ in range(lot.choice((0, 1, 3, 3, 120)))]
    match lot.randrange(4):
        case 0:
            lines.append("Transfer-Encoding: chunked")
            body = chunked(lot, body)
        case 1:
            lines.append("Connection: close")
        case 2:
            size = lot.choice((len(body), len(body), len(body), 0, 1 << 40, -1, len(body) - 1))
            lines.append(f"Content-Length: {size}")
        case _:
            pass
    whole = before + (head + "\r\n".join([*lines, "", ""])).encode("latin-1") + body
    return harmed(whole, lot) if lot.random() < 0.3 else whole


def line(lot: Random) -> str:
    """A line of the head."""
    return lot.choice(
        (
            "Content-Type: application/json",
            "Content-Length: 70",
            "Content-Length: " + "9" * 5000,
            "Transfer-Encoding: chunked",
            "Connection: keep-alive",
            "X: " + "y" * lot.choice((10, 70_000)),
            " folded",
            "no colon",
            ": no name",
            "X\x00: \xff",
        )
    )


def chunked(lot: Random, body: bytes) -> bytes:
    """A body in pieces, whose lengths may lie."""
    parts, at = [], 0
    while at < len(body):
        size = lot.choice((1, 7, 100, len(body)))
        piece = body[at : at + size]
        said: object = f"{len(piece):x}"
        if lot.random() < 0.05:
            said = lot.choice(
                ("-1", "-5", "0", "ffffffffffff", "", "x", "1_0", " 7", "f" * 5000)
            )
        more = lot.choice(("", "", ";a=b", ";" + "x" * 300))
        parts.append(f"{said}{more}\r\n".encode() + piece + b"\r\n")
        at += size
    return b"".join(parts) + b"0\r\n" + b"T: x\r\n" * lot.choice((0, 0, 1, 200)) + b"\r\n"


def told(lot: Random) -> bytes:
    """What an endpoint says in JSON, or nearly."""
    match lot.randrange(8):
        case 0:
            return lot.choice(
                (b"[" * 60_000, b'{"a":' * 10_000, b"[]", b"null", b"", b"1" * 5000)
            )
        case 1:
            return b" " * lot.choice((65_535, 65_536, 65_537, 70_000))
        case 2:
            return json.dumps(good(lot)).encode(lot.choice(("utf-16", "utf-32", "utf-8-sig")))
        case 3:
            error = lot.choice(("invalid_client", "a\n\x1b[31m", "\ud800", "é" * 9000, 7, None))
            return json.dumps(
                {"error": error, "error_description": lot.choice((error, []))}
            ).encode()
        case _:
            return json.dumps(good(lot)).encode()


def good(lot: Random) -> dict[str, Any]:
    """A token as an object, whose values may be of any kind."""
    claims: dict[str, Any] = {
        "exp": lot.choice((NOW + 300, NOW - 5, "x", 1e400, -1, True, None, 10**400))
    }
    claims["more"] = lot.choice((1, "y" * 20_000))
    jwt = ".".join(
        urlsafe_b64encode(each).decode()
        for each in (b"{}", json.dumps(claims).encode(), b"signature")
    )
    token = lot.choice(
        (jwt, jwt, "opaque", "", "a b", "\u00e9", "x" * 40_000, 7, None, ["x"], "a\n")
    )
    life = lot.choice((300, 3600.5, 0, -1, 1e13, float("nan"), float("inf"), "300", None, True))
    return {"access_token": token, "expires_in": life, "token_type": "Bearer"}


# --- answers without end ---------------------------------------------------------------------

CHUNKED: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FLOODS: Final = (
    (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    (b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n", b" "),
    (CHUNKED, b"1\r\nx\r\n"),
    (CHUNKED, b"1;" + b"x" * 60_000 + b"\r\nx\r\n"),
    (CHUNKED + b"-1\r\n", b"x"),
    (CHUNKED + b"0\r\n", b"T: x\r\n"),
    (b"", b"\0"),
)


def swollen_endpoints(lot: Random) -> None:
    """An answer without end costs a bounded part of it."""
    head, more = lot.choice(FLOODS)
    piece = more * (1 + 65536 // len(more))

    def flood(theirs: socket.socket) -> None:
        with suppress(OSError):
            theirs.sendall(head)
            for _ in range(1 << 10):
                theirs.sendall(piece)

    def ask() -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            sender = threading.Thread(target=partial(flood, theirs))
            sender.start()
            with ours:
                asked(LocalEndpoint(ours))
            sender.join()

    within(WITHOUT_END, ask, exact=True)
