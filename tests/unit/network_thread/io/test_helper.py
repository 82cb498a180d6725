"""Work off the network thread, and tokens asked of an endpoint on loopback."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from prokurist.config.secret import Secret
from prokurist.errors import (
    IllegalStateException,
    KafkaException,
    NetworkException,
    SaslAuthenticationException,
)
from prokurist.network_thread.io.helper import Helper
from prokurist.network_thread.io.token_endpoint import TokenEndpoint
from prokurist.security.token_backoff import TokenBackoff
from prokurist.security.token_request import ClientCredentials


class Woken:
    """Counts how often it is woken, and can be waited for."""

    def __init__(self) -> None:
        self.event = threading.Event()

    def __call__(self) -> None:
        """Note it."""
        self.event.set()

    def wait(self) -> None:
        """Until it was woken."""
        assert self.event.wait(10)
        self.event.clear()


def test_work_is_done_elsewhere() -> None:
    """S32, S34: on another thread, which ends when there is nothing to do."""
    woken = Woken()
    helper = Helper(woken)
    threads: list[threading.Thread] = []

    def work() -> int:
        threads.append(threading.current_thread())
        return 7

    job = helper.submit(work)
    woken.wait()
    assert helper.collect() == [job]
    assert job.value == 7
    assert threads[0] is not threading.current_thread()
    threads[0].join(10)
    assert not threads[0].is_alive()


def test_errors_come_back_without_what_they_hold() -> None:
    """Ours as they are; an exception of the application's by its name alone."""
    woken = Woken()
    helper = Helper(woken)

    def ours() -> None:
        raise KafkaException("told")

    def theirs() -> None:
        raise ValueError("the secret")

    for work, text in ((ours, "told"), (theirs, "ValueError")):
        helper.submit(work)
        woken.wait()
        (job,) = helper.collect()
        assert text in str(job.error)
        assert "the secret" not in str(job.error)
        assert job.error is not None
        assert job.error.__cause__ is None
        assert job.error.__context__ is None


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_the_helper_outlives_any_exception_of_its_work(kind: type[BaseException]) -> None:
    """A callable of the application's that exits ends its own job alone; the next is done."""
    woken = Woken()
    helper = Helper(woken)

    def leave() -> None:
        raise kind("the secret")

    helper.submit(leave)
    woken.wait()
    (job,) = helper.collect()
    assert kind.__name__ in str(job.error)
    assert "the secret" not in str(job.error)
    helper.submit(lambda: 7)
    woken.wait()
    assert [each.value for each in helper.collect()] == [7]


def test_a_job_that_hangs_holds_up_no_close() -> None:
    """S34: one call at a time, and close does not wait for it."""
    woken, release = Woken(), threading.Event()
    began: list[int] = []
    helper = Helper(woken)

    def hang() -> None:
        began.append(1)
        release.wait(10)

    helper.submit(hang)
    helper.submit(lambda: began.append(2))
    helper.close()
    with pytest.raises(IllegalStateException):
        helper.submit(lambda: None)
    release.set()
    assert not helper.collect()
    assert 2 not in began


class Provider(BaseHTTPRequestHandler):
    """A token endpoint that answers what the test says."""

    answers: ClassVar[list[tuple[int, bytes]]] = []
    asked: ClassVar[list[tuple[str, str]]] = []

    def do_POST(self) -> None:
        """Answer with the next."""
        length = int(self.headers["Content-Length"])
        type(self).asked.append(
            (self.headers["Authorization"], self.rfile.read(length).decode())
        )
        status, body = type(self).answers.pop(0)
        self.send_response(status)
        self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    """The address of a token endpoint."""
    server = HTTPServer(("127.0.0.1", 0), Provider)
    Provider.asked.clear()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/token?tenant=1"
    server.shutdown()
    server.server_close()


def asking(url: str, read: float = 10.0) -> ClientCredentials:
    """A client that asks, without a back-off."""
    return ClientCredentials(
        TokenEndpoint(url, connect=10.0, read=read),
        client_id="me",
        secret=lambda: Secret("hunter2"),
        scope="kafka",
        urlencode=False,
        extensions={},
        now=lambda: 1000.0,
        backoff=TokenBackoff(0.0, 0.0, now=lambda: 1000.0, draw=lambda: 0.5),
    )


def test_a_token_is_asked_for(endpoint: str) -> None:
    """KIP-768: id and secret by Basic, the grant and the scope in a form."""
    Provider.answers = [(200, b'{"access_token": "abc", "expires_in": 60}')]
    token = asking(endpoint).fetch()
    assert token.secret.reveal() == "abc"
    assert token.expires == 1060
    assert Provider.asked == [
        ("Basic bWU6aHVudGVyMg==", "grant_type=client_credentials&scope=kafka")
    ]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (
            (401, b'{"error": "invalid_client", "error_description": "no"}'),
            "invalid_client: no",
        ),
        ((302, b""), "redirect"),
        ((200, b"<html>"), "without an access_token"),
        ((200, b'{"access_token": ""}'), "empty token"),
        ((200, b" " * 70_000), "more than"),
    ],
)
def test_answers_that_are_final(endpoint: str, answer: tuple[int, bytes], text: str) -> None:
    """S36, S37: they are refusals, in words, without the secret."""
    Provider.answers = [answer]
    with pytest.raises(SaslAuthenticationException) as refused:
        asking(endpoint).fetch()
    assert text in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_answers_that_are_tried_again(endpoint: str) -> None:
    """S36: 503 and an address where nothing listens are a network's errors, and no refusals."""
    Provider.answers = [(503, b""), (200, b'{"access_token": "abc"}')]
    asks = asking(endpoint)
    with pytest.raises(NetworkException, match="answered 503"):
        asks.fetch()
    assert asks.fetch().secret.reveal() == "abc"
    with pytest.raises(NetworkException, match="did not answer"):
        asking("http://127.0.0.1:1/").fetch()


def test_an_endpoint_that_hangs() -> None:
    """The wait for an answer is bounded."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(NetworkException, match="timed out"):
            asking(f"http://127.0.0.1:{port}/", read=0.5).fetch()
