"""Both sides of a fault proxy under test, and how to look at them."""

import select
import socket
from collections.abc import Callable, Iterator

import pytest

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.proxy import FaultProxy

Pair = tuple[socket.socket, socket.socket]
Connecting = Callable[[], Pair]

WAIT = 10.0
SILENCE = 0.05
"""Seconds in which a byte that was passed on would long be there."""


class HandClock:
    """A clock that goes on only by hand."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        """The time that was set."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let the time pass, without waiting."""
        self.time += seconds


@pytest.fixture
def broker() -> Iterator[socket.socket]:
    """A listening socket in the place of the broker."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(WAIT)
        yield listener


@pytest.fixture
def hand() -> HandClock:
    """The clock of the proxy under test."""
    return HandClock()


@pytest.fixture
def proxy(broker: socket.socket, hand: HandClock) -> Iterator[FaultProxy]:
    """A proxy before that broker, whose time stands still."""
    with FaultProxy(broker.getsockname(), clock=hand) as running:
        yield running


@pytest.fixture
def connect(broker: socket.socket, proxy: FaultProxy) -> Iterator[Connecting]:
    """Make a connection through the proxy: the client's end and the broker's."""
    made: list[socket.socket] = []

    def make() -> Pair:
        client = socket.create_connection(proxy.address, WAIT)
        made.append(client)
        server, _ = broker.accept()
        server.settimeout(WAIT)
        made.append(server)
        return client, server

    yield make
    for one in made:
        one.close()


def is_silent(one: socket.socket) -> bool:
    """Whether there is nothing to read, neither bytes nor an end."""
    return not select.select([one], [], [], SILENCE)[0]


def read(one: socket.socket, count: int) -> bytes:
    """Exactly so many bytes."""
    pieces = b""
    while len(pieces) < count:
        piece = one.recv(count - len(pieces))
        assert piece, f"the stream ended after {pieces!r}"
        pieces += piece
    return pieces


def reset_on(one: socket.socket) -> bool:
    """Whether the next read says that the connection was reset."""
    try:
        one.recv(1)
    except ConnectionResetError:
        return True
    return False


def end_of_a_new_connection(proxy: FaultProxy) -> str:
    """How the proxy ends a connection that is made now: `cut` or `reset`."""
    try:
        # A reset may come so soon that it is the connect which sees it.
        with socket.create_connection(proxy.address, WAIT) as client:
            assert client.recv(1) == b""
    except ConnectionResetError:
        return "reset"
    return "cut"


def until(true: Callable[[], bool]) -> None:
    """Wait for something that is about to be true."""
    clock = MonotonicClock()
    deadline = Deadline.after(clock.now(), WAIT)
    while not true():
        assert not deadline.expired(clock.now())
        clock.sleep(0.005)


def until_held(proxy: FaultProxy, count: int) -> None:
    """Wait until the proxy holds so many bytes back: from then on they age."""
    until(
        lambda: (
            sum(pipe.held for link in proxy._links for pipe in link._pipes.values()) == count
        )
    )
