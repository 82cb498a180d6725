"""The fault proxy over loopback: connections that end, and the proxy's own end."""

import contextlib
import errno
import socket
import threading
from collections.abc import Callable

import pytest

from prokurist.events.clock import MonotonicClock
from prokurist.testing.proxy import BUFFER_BYTES, FaultProxy
from tests.unit.testing.proxied import (
    WAIT,
    Connecting,
    end_of_a_new_connection,
    is_silent,
    read,
    reset_on,
)


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


def test_a_cut_is_in_order_even_with_unread_bytes(
    connect: Connecting, proxy: FaultProxy
) -> None:
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


def test_refused_as_if_the_port_were_closed(connect: Connecting, proxy: FaultProxy) -> None:
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
    """As long as one of them holds, no client gets in."""
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
    """In any state; a second close and a late healing do nothing."""
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
