"""The fault proxy over loopback, with plain sockets on both of its sides."""

import contextlib
import errno
import os
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.proxy import BUFFER_BYTES, FaultProxy

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


def test_bytes_pass_both_ways_in_order(connect: Connecting) -> None:
    """Without a fault it is a wire."""
    client, server = connect()
    sent = os.urandom(3_000_000)
    sender = threading.Thread(target=client.sendall, args=(sent,))
    sender.start()
    assert read(server, len(sent)) == sent
    sender.join(WAIT)
    server.sendall(b"answer")
    assert read(client, 6) == b"answer"


def test_an_end_is_passed_on_and_the_other_way_goes_on(connect: Connecting) -> None:
    """A half-closed connection stays half open."""
    client, server = connect()
    client.sendall(b"last words")
    client.shutdown(socket.SHUT_WR)
    assert read(server, 10) == b"last words"
    assert server.recv(1) == b""
    server.sendall(b"answer")
    assert read(client, 6) == b"answer"


def test_a_closed_connection_is_forgotten(connect: Connecting, proxy: FaultProxy) -> None:
    """Nothing is kept of a link whose two sides are gone."""
    client, server = connect()
    assert proxy.connections() == 1
    client.close()
    assert server.recv(1) == b""
    server.close()
    _until(lambda: proxy.connections() == 0)


def test_a_reset_is_passed_on(connect: Connecting) -> None:
    """A broker that resets is seen to reset."""
    client, server = connect()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    server.close()
    assert reset_on(client)


def test_nobody_upstream_is_a_reset(broker: socket.socket, proxy: FaultProxy) -> None:
    """The proxy has accepted by the time it knows: what is left to it is a reset."""
    broker.close()
    assert end_of_a_new_connection(proxy) == "reset"


def test_a_delay_holds_bytes_until_their_time(
    connect: Connecting, proxy: FaultProxy, hand: HandClock
) -> None:
    """Later by what was asked, in that direction only."""
    client, server = connect()
    with proxy.delay(5, "to_client"):
        client.sendall(b"question")
        assert read(server, 8) == b"question"
        server.sendall(b"answer")
        assert is_silent(client)
        hand.time += 4.9
        assert proxy.connections() == 1  # a command wakes the proxy
        assert is_silent(client)
        hand.time += 0.2
        assert proxy.connections() == 1
        assert read(client, 6) == b"answer"


def test_a_delay_may_be_for_ever(connect: Connecting, proxy: FaultProxy) -> None:
    """As far as the system's own longest wait is concerned."""
    client, server = connect()
    with proxy.delay(float("inf"), "to_broker"):
        client.sendall(b"one")
        assert is_silent(server)
    assert read(server, 3) == b"one"


def test_delays_add_up_and_healing_lets_go(
    connect: Connecting, proxy: FaultProxy, hand: HandClock
) -> None:
    """What is held goes at once when the fault ends, in order."""
    client, server = connect()
    first = proxy.delay(3)
    with proxy.delay(4):
        client.sendall(b"one")
        assert is_silent(server)
        hand.time += 5
        client.sendall(b"two")
        assert is_silent(server)
    assert read(server, 3) == b"one"
    assert is_silent(server)
    first.heal()
    assert read(server, 3) == b"two"


def test_swallowed_bytes_never_arrive_and_their_stream_ends(
    connect: Connecting, proxy: FaultProxy
) -> None:
    """A stream with a hole must not go on: healing cuts it, and only it."""
    hurt, hurt_server = connect()
    spared, spared_server = connect()
    with proxy.swallow("to_client"):
        hurt.sendall(b"question")
        assert read(hurt_server, 8) == b"question"
        hurt_server.sendall(b"answer")
        assert is_silent(hurt)
    assert hurt.recv(1) == b""
    spared_server.sendall(b"answer")
    assert read(spared, 6) == b"answer"
    spared.sendall(b"question")
    assert read(spared_server, 8) == b"question"


def test_swallow_takes_all_that_is_sent(connect: Connecting, proxy: FaultProxy) -> None:
    """The sender feels nothing: far more than any buffer is taken."""
    client, server = connect()
    with proxy.swallow("to_broker"):
        client.sendall(bytes(50 * BUFFER_BYTES))
        client.shutdown(socket.SHUT_WR)
        assert is_silent(server)


def test_swallow_passes_no_end_and_no_reset_on(connect: Connecting, proxy: FaultProxy) -> None:
    """Behind a black hole nobody is seen to leave."""
    ended, ended_server = connect()
    reset, reset_server = connect()
    with proxy.swallow("to_client"):
        ended_server.close()
        reset_server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        reset_server.close()
        assert is_silent(ended)
        assert is_silent(reset)
    assert ended.recv(1) == b""
    assert reset.recv(1) == b""


def test_swallow_hides_that_nobody_is_upstream(
    broker: socket.socket, proxy: FaultProxy
) -> None:
    """Behind a black hole not even a refusal is heard."""
    broker.close()
    with (
        proxy.swallow("to_client"),
        socket.create_connection(proxy.address, WAIT) as client,
    ):
        client.sendall(b"anybody?")
        assert is_silent(client)
        assert proxy.connections() == 1
    _until(lambda: proxy.connections() == 0)


def test_a_throttle_lets_a_trickle_through(
    connect: Connecting, proxy: FaultProxy, hand: HandClock
) -> None:
    """So many bytes a second, no more, and none lost."""
    client, server = connect()
    got = b""
    with proxy.throttle(1000, "to_broker"):
        client.sendall(bytes(range(250)) * 4)
        for _ in range(4):
            while not is_silent(server):
                got += server.recv(65536)
            assert len(got) <= 50 + 1000 * (hand.time - 100)
            hand.time += 0.1
            assert proxy.connections() == 1
    assert 0 < len(got) < 1000
    assert got + read(server, 1000 - len(got)) == bytes(range(250)) * 4


def test_a_fault_for_new_connections_spares_the_old(
    connect: Connecting, proxy: FaultProxy
) -> None:
    """What was there goes on; what comes feels it."""
    old, old_server = connect()
    with proxy.swallow(new_only=True):
        new, new_server = connect()
        old.sendall(b"old")
        new.sendall(b"new")
        assert read(old_server, 3) == b"old"
        assert is_silent(new_server)


@pytest.mark.parametrize("how", ["cut", "reset"])
def test_connections_are_ended_now(connect: Connecting, proxy: FaultProxy, how: str) -> None:
    """In order or with a reset, on both sides; the next one is welcome."""
    client, server = connect()
    getattr(proxy, how)()
    for one in (client, server):
        assert reset_on(one) if how == "reset" else one.recv(1) == b""
    client, server = connect()
    client.sendall(b"well")
    assert read(server, 4) == b"well"


def test_a_cut_is_in_order_whatever_was_unread(connect: Connecting, proxy: FaultProxy) -> None:
    """A close with unread input would be a reset; a cut is an end."""
    client, _server = connect()
    with proxy.delay(60):
        client.sendall(bytes(2 * BUFFER_BYTES))
        proxy.cut()
        assert client.recv(1) == b""


def test_a_cut_towards_one_side_leaves_the_other(
    connect: Connecting, proxy: FaultProxy
) -> None:
    """The client reads an end and can still write."""
    client, server = connect()
    proxy.cut("to_client")
    assert client.recv(1) == b""
    client.sendall(b"still here")
    assert read(server, 10) == b"still here"


def test_a_reset_towards_one_side_ends_the_other_in_order(
    connect: Connecting, proxy: FaultProxy
) -> None:
    """As when a middlebox forgets the client."""
    client, server = connect()
    proxy.reset("to_client")
    assert reset_on(client)
    assert server.recv(1) == b""


@pytest.mark.parametrize("how", ["cut", "reset"])
def test_each_new_connection_is_ended_until_healed(
    connect: Connecting, proxy: FaultProxy, how: str
) -> None:
    """Those that are there stay."""
    old, old_server = connect()
    with getattr(proxy, how)(new_only=True):
        assert end_of_a_new_connection(proxy) == how
        old.sendall(b"well")
        assert read(old_server, 4) == b"well"


def test_refused_as_if_nobody_listened(connect: Connecting, proxy: FaultProxy) -> None:
    """New connections are refused, old ones stay, and the port is kept for the end."""
    client, server = connect()
    with proxy.refuse():
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(proxy.address, WAIT)
        with socket.socket() as thief, pytest.raises(OSError) as taken:  # noqa: PT011
            thief.bind(proxy.address)
        assert taken.value.errno == errno.EADDRINUSE
        client.sendall(b"well")
        assert read(server, 4) == b"well"
    client, server = connect()
    client.sendall(b"well")
    assert read(server, 4) == b"well"


def test_two_refusals_end_with_the_later(proxy: FaultProxy, connect: Connecting) -> None:
    """As long as one of them holds, nobody gets in."""
    first, second = proxy.refuse(), proxy.refuse()
    first.heal()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(proxy.address, WAIT)
    second.heal()
    second.heal()
    connect()


def test_healing_ends_every_fault_but_the_harnesss_own(
    proxy: FaultProxy, connect: Connecting
) -> None:
    """A node that is dead stays refused when a test heals its wire."""
    down = proxy.refuse_while_down()
    assert proxy.is_healthy()
    proxy.delay(60)
    proxy.swallow(new_only=True)
    proxy.reset(new_only=True)
    assert not proxy.is_healthy()
    proxy.heal()
    assert proxy.is_healthy()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(proxy.address, WAIT)
    down.heal()
    client, server = connect()
    client.sendall(b"well")
    assert read(server, 4) == b"well"


def test_a_sender_waits_for_a_reader_that_does_not_read(
    connect: Connecting, proxy: FaultProxy
) -> None:
    """The proxy holds no more than its buffer; the sender's own socket fills up."""
    client, server = connect()
    client.settimeout(0.3)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < 200 * BUFFER_BYTES:
            sent += client.send(bytes(65536))
    assert sent < 200 * BUFFER_BYTES
    held = max(pipe.held for link in proxy._links for pipe in link._pipes.values())
    assert held <= BUFFER_BYTES
    assert len(read(server, sent)) == sent
    turns = proxy.turns
    assert is_silent(server)
    assert proxy.turns <= turns + 2, "it spins on a socket that can be written again"


def test_many_connections_at_once(connect: Connecting, proxy: FaultProxy) -> None:
    """Each has its own bytes."""
    pairs = [connect() for _ in range(60)]
    assert proxy.connections() == 60
    for number, (client, _) in enumerate(pairs):
        client.sendall(b"%04d" % number)
    for number, (_, server) in enumerate(pairs):
        assert read(server, 4) == b"%04d" % number


def test_closing_leaves_no_thread_and_no_socket(broker: socket.socket) -> None:
    """Whatever is under way; a second close and a late healing do nothing."""
    before = threading.active_count()
    proxy = FaultProxy(broker.getsockname(), clock=MonotonicClock())
    fault = proxy.delay(60)
    with socket.create_connection(proxy.address, WAIT) as client:
        client.sendall(b"never passed on")
        assert proxy.connections() == 1
        proxy.close()
        proxy.close()
        fault.heal()
        assert client.recv(1) == b""
    assert threading.active_count() == before
    with pytest.raises(RuntimeError, match="closed"):
        proxy.delay(1)


def test_closing_a_busy_proxy_is_no_race(broker: socket.socket) -> None:
    """Its thread may find the end of its life before it is woken for it."""
    for _ in range(40):
        with (
            FaultProxy(broker.getsockname(), clock=MonotonicClock()) as proxy,
            socket.create_connection(proxy.address, WAIT) as client,
        ):
            server, _ = broker.accept()
            with server:
                client.sendall(bytes(200_000))
                proxy.close()


def test_an_idle_proxy_sleeps(connect: Connecting, proxy: FaultProxy) -> None:
    """Open connections without traffic cost no turn of its loop."""
    client, _ = connect()
    assert proxy.connections() == 1
    turns = proxy.turns
    assert is_silent(client)
    # The question above was answered in a turn that may end after the answer.
    assert proxy.turns <= turns + 1


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda proxy: proxy.delay(-1), "not negative"),
        (lambda proxy: proxy.delay(float("nan")), "not negative"),
        (lambda proxy: proxy.throttle(0), r"above zero: 0; see swallow\(\)"),
        (lambda proxy: proxy.swallow("up"), "'to_broker' or 'to_client'"),
    ],
    ids=["negative delay", "delay of NaN", "rate of zero", "no such direction"],
)
def test_what_cannot_be_is_refused(
    proxy: FaultProxy, call: Callable[[FaultProxy], object], text: str
) -> None:
    """And the message says what can."""
    with pytest.raises(ValueError, match=text):
        call(proxy)
    assert proxy.is_healthy()


def _until(true: Callable[[], bool]) -> None:
    clock = MonotonicClock()
    deadline = Deadline.after(clock.now(), WAIT)
    while not true():
        assert not deadline.expired(clock.now())
        clock.sleep(0.005)
