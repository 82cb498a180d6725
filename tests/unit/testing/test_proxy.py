"""The fault proxy over loopback: what passes, late, slowly or not at all."""

import os
import socket
import struct
import threading

from prokurist.testing.proxy import BUFFER_BYTES, FaultProxy
from tests.unit.testing.proxied import (
    WAIT,
    Connecting,
    HandClock,
    end_of_a_new_connection,
    is_silent,
    read,
    reset_on,
    until,
    until_held,
)


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
    until(lambda: proxy.connections() == 0)


def test_a_reset_is_passed_on(connect: Connecting) -> None:
    """A broker that resets is seen to reset."""
    client, server = connect()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    server.close()
    assert reset_on(client)


def test_a_missing_upstream_is_a_reset(broker: socket.socket, proxy: FaultProxy) -> None:
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
        until_held(proxy, 6)
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
        until_held(proxy, 3)
        assert is_silent(server)
        hand.time += 5
        client.sendall(b"two")
        until_held(proxy, 6)
        assert is_silent(server)
    assert read(server, 3) == b"one"
    assert is_silent(server)
    first.heal()
    assert read(server, 3) == b"two"


def test_bytes_are_changed_on_their_way(connect: Connecting, proxy: FaultProxy) -> None:
    """Each piece, in one direction, by several changes in turn, until they are healed."""
    client, server = connect()
    with proxy.change(bytes.upper), proxy.change(lambda data: data.replace(b"NO", b"yes")):
        client.sendall(b"is it so?")
        assert read(server, 9) == b"is it so?"
        server.sendall(b"no, it is")
        assert read(client, 10) == b"yes, IT IS"
    server.sendall(b"no")
    assert read(client, 2) == b"no"


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
    """Behind a black hole the end of a connection is not seen."""
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


def test_swallow_hides_a_missing_upstream(broker: socket.socket, proxy: FaultProxy) -> None:
    """Behind a black hole not even a refusal is heard."""
    broker.close()
    with (
        proxy.swallow("to_client"),
        socket.create_connection(proxy.address, WAIT) as client,
    ):
        client.sendall(b"anything?")
        assert is_silent(client)
        assert proxy.connections() == 1
    until(lambda: proxy.connections() == 0)


def test_a_throttle_lets_a_trickle_through(
    connect: Connecting, proxy: FaultProxy, hand: HandClock
) -> None:
    """So many bytes a second, no more, and none lost."""
    client, server = connect()
    got = b""
    with proxy.throttle(1000, "to_broker"):
        client.sendall(bytes(range(250)) * 4)
        got += server.recv(65536)
        for _ in range(4):
            while not is_silent(server):
                got += server.recv(65536)
            assert len(got) <= 50 + 1000 * (hand.time - 100)
            hand.time += 0.1
            assert proxy.connections() == 1
    assert 0 < len(got) < 1000
    assert got + read(server, 1000 - len(got)) == bytes(range(250)) * 4
