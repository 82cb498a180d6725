"""Token endpoints that are slow, lie about lengths, or send what is no HTTP."""

import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from prokurist.errors import ConfigException, NetworkException, SaslAuthenticationException
from prokurist.network_thread.io import http_exchange
from prokurist.network_thread.io.token_endpoint import TokenEndpoint
from prokurist.security.stores import Pem
from prokurist.testing.kafka.pki import Authority
from tests.unit.network_thread.io.tls_peers import server_context


@contextmanager
def served(
    answer: Callable[[socket.socket], object], tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """The address of an endpoint that answers one request in its own way."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                client, _ = listener.accept()
                if tls is not None:
                    client = tls.wrap_socket(client, server_side=True)
                with client:
                    client.recv(65536)
                    answer(client)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        scheme = "http" if tls is None else "https"
        yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/token"
        thread.join(10)


def drip(
    client: socket.socket, head: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n"
) -> None:
    """A byte at a time, for as long as there is a peer."""
    client.sendall(head)
    for _ in range(200):
        client.sendall(b" ")
        time.sleep(0.05)


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 60000\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n",
    ],
)
def test_an_answer_that_drips_is_bounded_as_a_whole(head: bytes) -> None:
    """S36, B368: each byte is in time, the answer is not: it ends after both limits together.

    Also where it is the last one of its connection, and where the end of that is its end.
    """
    with served(partial(drip, head=head)) as url:
        began = time.monotonic()
        with pytest.raises(NetworkException, match="did not answer"):
            TokenEndpoint(url, connect=0.3, read=0.3).post({}, b"")
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "answer",
    [
        b'HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"access_token"',
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\nabc",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X-Filler: y\r\n" * 1000 + b"\r\n",
        b"",
    ],
)
def test_answers_that_are_not_whole(answer: bytes) -> None:
    """What ends early, or is no HTTP, is the network's error and quotes no body."""
    with served(lambda client: client.sendall(answer)) as url:
        with pytest.raises(NetworkException, match="did not answer") as caught:
            TokenEndpoint(url, connect=5.0, read=5.0).post({"Authorization": "hush"}, b"hush")
        assert "hush" not in str(caught.value)


def test_an_answer_that_is_too_long_is_not_read_to_its_end() -> None:
    """A gigabyte that is announced is read as far as its limit, which tells."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"
    with served(lambda client: client.sendall(head + b" " * 200_000)) as url:
        answer = TokenEndpoint(url, connect=5.0, read=5.0).post({}, b"")
    assert len(answer.body) == 65537


CHUNKED: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "more", "most"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", 524288),
        (CHUNKED + b"0\r\n", b"X-Trailer: y\r\n", 524288),
        (CHUNKED, b"1;" + b"x" * 60_000 + b"\r\nx\r\n", 524288),
        # As much as there is room for, and then no length of a next piece.
        (CHUNKED + b"-1\r\n", b"x" * 65536, 65536),
    ],
)
def test_an_answer_without_end_is_bounded(head: bytes, more: bytes, most: int) -> None:
    """B368: what http.client itself reads for as long as it comes."""
    sent = 0

    def flood(client: socket.socket) -> None:
        nonlocal sent
        client.sendall(head)
        piece = more * (1 + 65536 // len(more))
        while sent < 64 << 20:
            client.sendall(piece)
            sent += len(piece)

    with served(flood) as url, pytest.raises(NetworkException, match=f"more than {most} bytes"):
        TokenEndpoint(url, connect=5.0, read=5.0).post({}, b"")
    assert sent < 16 << 20  # Buffers of sockets take some.


def test_an_answer_in_very_many_pieces_costs_no_more_than_its_bytes() -> None:
    """B368: nothing is held for a piece, of which each may be of one byte."""
    piece = b"1\r\nx\r\n"
    with served(lambda client: client.sendall(CHUNKED + piece * 70_000)) as url:
        endpoint = TokenEndpoint(url, connect=5.0, read=5.0)
        tracemalloc.start()
        try:
            answer = endpoint.post({}, b"")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert answer.body == b"x" * 65537
    assert peak < 1 << 20  # What is sent is 420 000 bytes of it.


def test_words_of_an_endpoint_are_printable() -> None:
    """B368: what is no HTTP is quoted without characters that a terminal obeys."""
    with served(lambda client: client.sendall(b"\x1b[31mSSH\x07-2.0\r\n")) as url:
        with pytest.raises(NetworkException) as caught:
            TokenEndpoint(url, connect=5.0, read=5.0).post({}, b"")
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("as_text", [False, True])
def test_its_authorities_are_its_own(
    authority: Authority, certificate: Path, *, as_text: bool
) -> None:
    """`https.ca.location` and `https.ca.pem` name the only trusted authorities."""
    text = authority.location.read_text(encoding="ascii")
    pem = Pem(text=text) if as_text else Pem(path=str(authority.location))
    body = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    with served(lambda client: client.sendall(body), server_context(certificate)) as url:
        endpoint = TokenEndpoint(url, connect=5.0, read=5.0, authorities=pem)
        assert endpoint.post({}, b"").body == b"{}"
    with served(lambda client: client.sendall(body), server_context(certificate)) as url:
        endpoint = TokenEndpoint(url, connect=5.0, read=5.0)
        with pytest.raises(SaslAuthenticationException, match=r"https\.ca\.location"):
            endpoint.post({}, b"")


@pytest.mark.parametrize("pem", [Pem(path="/nowhere/ca.pem"), Pem(text="no PEM")])
def test_authorities_that_cannot_be_used(pem: Pem) -> None:
    """They are told where the client is built, with the key."""
    with pytest.raises(ConfigException, match=r"https\.ca\."):
        TokenEndpoint("https://localhost:1/token", connect=1.0, read=1.0, authorities=pem)


def test_a_look_up_that_outlasts_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that stands only after the limit is given up; nothing is sent over it."""
    connect, end = socket.create_connection, http_exchange.hang_up
    over = threading.Event()

    def hang_up(*exchange: Any) -> None:
        end(*exchange)
        over.set()

    def late(*arguments: object, **more: object) -> socket.socket:
        assert over.wait(10)
        return connect(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "create_connection", late)
    monkeypatch.setattr(http_exchange, "hang_up", hang_up)
    with served(drip) as url, pytest.raises(NetworkException, match="not connected in time"):
        TokenEndpoint(url, connect=0.1, read=0.1).post({}, b"")
