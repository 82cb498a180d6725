"""Connections over real sockets, from their beginning to however they end."""

import errno
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from prokurist.errors import (
    DisconnectException,
    IllegalStateException,
    NetworkException,
    SslAuthenticationException,
)
from prokurist.network_thread.io import transport
from prokurist.network_thread.io.network import (
    Arrived,
    Connected,
    Lost,
    Network,
    SocketAddress,
)
from prokurist.network_thread.io.pure_watch import PureWatch
from prokurist.network_thread.io.selector import GREETING_BYTES

if TYPE_CHECKING:
    from tests.unit.network_thread.io.conftest import Driver, Peer


def framed(*frames: bytes) -> bytes:
    """The frames as they go over the wire."""
    return b"".join(len(each).to_bytes(4, "big") + each for each in frames)


def test_a_request_goes_out_and_its_answer_comes_in(driver: "Driver", peer: "Peer") -> None:
    """Connected, then writable; a whole frame each way; the counters count."""
    network: Network = driver.network
    network.connect(7, peer.address)
    driver.until(lambda: Connected(7) in driver.told)
    assert network.writable(7)
    other = peer.accept()
    network.write(7, framed(b"request"))
    assert network.writable(7), "all of it was taken at once"
    assert peer.taken(other, 11) == framed(b"request")
    other.sendall(framed(b"answer"))
    driver.until_frames(7, 1)
    (arrived,) = (each for each in driver.told if isinstance(each, Arrived))
    assert arrived == Arrived(7, memoryview(b"answer"))
    assert driver.told == [Connected(7), arrived], "no Written where nothing was left over"
    assert (network.bytes_sent, network.bytes_received) == (11, 10)


def test_how_far_an_answer_has_come(driver: "Driver", peer: "Peer") -> None:
    """B415: the bytes of the present frame; nothing between frames or without a connection."""
    network = driver.network
    other = driver.connected(3, peer)
    assert network.arriving(3) is network.arriving(4) is None
    other.sendall((1000).to_bytes(4, "big") + bytes(300))
    driver.until_received(304)
    assert network.arriving(3) == (300, 1000)
    other.sendall(bytes(700))
    driver.until_frames(3, 1)
    assert network.arriving(3) is None
    network.close(3)
    assert network.arriving(3) is None


def test_before_it_is_connected_nothing_is_writable(driver: "Driver", peer: "Peer") -> None:
    """The client encodes and claims a request only when it can be written."""
    network = driver.network
    assert not network.writable(1)
    with pytest.raises(IllegalStateException, match="connection 1 is not writable"):
        network.write(1, b"")
    driver.connected(1, peer)
    driver.stuck(1)
    with pytest.raises(IllegalStateException, match="unwritten"):
        network.write(1, framed(b"a second one"))


def test_sockets_are_set_up_for_small_answers_and_idle_hours(peer: "Peer") -> None:
    """No Nagle, keep-alive, the configured buffers, not inherited, never blocking."""
    made = transport.opened(
        peer.address, receive_buffer_bytes=1 << 18, send_buffer_bytes=1 << 17, keepalive=60
    )
    with made:
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        probes = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        assert [made.getsockopt(socket.IPPROTO_TCP, each) for each in probes] == [60, 15, 4]
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) >= 1 << 18
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) >= 1 << 17
        assert not made.get_inheritable()
        assert not made.getblocking()
    left_alone = transport.opened(peer.address, receive_buffer_bytes=-1, send_buffer_bytes=-1)
    with left_alone, socket.socket() as plain:
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF, socket.SO_KEEPALIVE):
            systems = plain.getsockopt(socket.SOL_SOCKET, option)
            assert left_alone.getsockopt(socket.SOL_SOCKET, option) == systems


def test_refused_is_lost(driver: "Driver", closed_port: SocketAddress) -> None:
    """B204: the port is closed; `connect` does not raise, the next poll tells."""
    driver.network.connect(1, closed_port)
    error = driver.lost(1).error
    assert isinstance(error, NetworkException)
    assert str(error) == f"no connection to {closed_port}: Connection refused (ECONNREFUSED)"
    assert isinstance(error.__cause__, ConnectionRefusedError)
    assert error.retriable
    assert not driver.network.writable(1)


@pytest.mark.parametrize(
    ("host", "port", "says"),
    [
        ("127.0.0.1", 70_000, "70000 is not a port (EINVAL)"),
        ("127.0.0.1", -1, "-1 is not a port"),
        ("localhost", 9092, "'localhost' is not a numeric address"),
        ("broker:9092", 9092, "is not a numeric address"),
        ("10.0.0.1\0", 9092, "is not a numeric address"),
        ("\ud800", 9092, "is not a numeric address"),
        ("255.255.255.255", 9092, "("),
    ],
)
def test_what_cannot_be_connected_to_at_once_is_lost_too(
    driver: "Driver", host: str, port: int, says: str
) -> None:
    """A wrong address in metadata is an error of the connection; no look-up."""
    driver.network.connect(1, SocketAddress(host, port))
    assert says in str(driver.lost(1).error)
    assert driver.network.turns == 1
    driver.network.connect(1, SocketAddress(host, port))
    driver.network.close(1)
    assert driver.network.poll(0) == []


def test_no_more_descriptors_is_an_error_of_the_connection(
    driver: "Driver", peer: "Peer", monkeypatch: pytest.MonkeyPatch
) -> None:
    """EMFILE ends this connect and not the thread."""

    def none_left(*_: object) -> socket.socket:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(socket, "socket", none_left)
        driver.network.connect(1, peer.address)
    assert "Too many open files (EMFILE)" in str(driver.lost(1).error)


def test_a_socket_that_met_itself_is_refused(driver: "Driver") -> None:
    """TCP may connect a socket to its own port: the error says that no server listens there."""
    for _ in range(100):
        with socket.socket() as own:
            own.bind(("127.0.0.1", 0))
            try:
                own.connect(own.getsockname())
            except OSError:  # the system knows better than to
                continue
            with pytest.raises(ConnectionRefusedError, match="connected to itself"):
                transport.outcome(own)
            return
    assert driver.told == []


def test_an_end_before_the_first_answer_is_named(driver: "Driver", peer: "Peer") -> None:
    """B205: a listener that expects TLS or SASL hangs up on a plain request."""
    other = driver.connected(1, peer)
    driver.network.write(1, framed(b"hello"))
    peer.taken(other, 9)
    other.close()
    error = driver.lost(1).error
    assert isinstance(error, DisconnectException)
    assert "before the first answer: the peer closed it; 9 bytes had been sent" in str(error)
    assert not driver.lost(1).strange
    assert "security.protocol" in str(error)


def test_an_end_after_the_first_answer_names_sasl(driver: "Driver", peer: "Peer") -> None:
    """B375: a listener with SASL answers ApiVersions, and hangs up on what follows."""
    other = driver.connected(1, peer)
    other.sendall(framed(b"versions"))
    driver.until_frames(1, 1)
    other.close()
    assert str(driver.lost(1).error) == (
        f"the connection to {peer.address} ended after 1 whole answer: the peer closed it, as "
        "a listener that wants SASL does where none comes (see security.protocol)"
    )


def test_an_end_between_frames(driver: "Driver", peer: "Peer") -> None:
    """B213: what arrived before the end arrives, and the end is told after it."""
    other = driver.connected(1, peer)
    other.sendall(framed(b"first", b"second"))
    other.close()
    error = driver.lost(1).error
    assert driver.frames(1) == [b"first", b"second"]
    assert isinstance(driver.told[-1], Lost)
    assert str(error) == (
        f"the connection to {peer.address} ended after 2 whole answers: the peer closed it"
    )
    assert error.__cause__ is None


@pytest.mark.parametrize(
    ("sent", "says"),
    [(b"\0\0", "a frame's length, after 2 of 4 bytes"), (b"\0\0\0\x09abc", "3 of 9 bytes")],
)
def test_an_end_in_the_middle_of_a_frame(
    driver: "Driver", peer: "Peer", sent: bytes, says: str
) -> None:
    """The half frame never arrives; the error says how much of it came."""
    other = driver.connected(1, peer)
    other.sendall(sent)
    other.close()
    assert f"in the middle of {'' if '4' in says else 'a frame, after '}{says}" in str(
        driver.lost(1).error
    )
    assert driver.frames(1) == []


def test_a_peer_that_is_half_closed_is_lost(driver: "Driver", peer: "Peer") -> None:
    """It could still listen, but it will never answer."""
    other = driver.connected(1, peer)
    other.shutdown(socket.SHUT_WR)
    assert "the peer closed it" in str(driver.lost(1).error)
    assert other.recv(1) == b"", "and our side is closed, too"


def test_a_reset_is_named(driver: "Driver", peer: "Peer") -> None:
    """The operating system's word is in the text, and the OSError is the cause."""
    peer.reset(driver.connected(1, peer))
    error = driver.lost(1).error
    assert "Connection reset by peer (ECONNRESET)" in str(error)
    assert isinstance(error.__cause__, ConnectionResetError)
    assert error.__cause__.__traceback__ is None, "it would pin the connection's buffers"


def test_a_write_that_fails_is_lost_later(driver: "Driver", peer: "Peer") -> None:
    """`write` never raises for the connection's sake, and the last words are read."""
    other = driver.connected(1, peer)
    other.sendall(framed(b"last words"))
    peer.reset(other)
    network = driver.network
    while network.writable(1):  # until the reset is here
        network.write(1, framed(b"x"))
    assert not network.writable(1)
    assert "broken by" in repr(network._connections[1])
    assert isinstance(driver.lost(1).error, DisconnectException)
    assert driver.lost(1).error.__cause__ is not None
    assert network._connections == {}


def test_a_broken_connection_can_be_closed_before_it_is_told(
    driver: "Driver", peer: "Peer"
) -> None:
    """No happening follows a close, not even one that was on its way."""
    peer.reset(driver.connected(1, peer))
    while driver.network.writable(1):
        driver.network.write(1, framed(b"x"))
    driver.network.close(1)
    assert driver.network.poll(0) == []


def test_last_words_explain_a_failed_write(driver: "Driver", peer: "Peer") -> None:
    """A TLS alert that stands in the receive buffer outweighs the broken pipe."""
    other = driver.connected(1, peer)
    other.sendall(b"\x15\x03\x03\x00\x02\x02\x50")
    other.close()
    while driver.network.writable(1):
        driver.network.write(1, framed(b"x"))
    error = driver.lost(1).error
    assert "a TLS alert 80" in str(error)
    assert isinstance(error.__cause__, OSError)


def test_a_peer_is_trusted_with_long_frames_by_and_by(driver: "Driver", peer: "Peer") -> None:
    """B276: a peer that has not answered as a broker sends a MiB at most."""
    trusted = driver.connected(1, peer)
    other = driver.connected(2, peer, trusted=False)
    for each in (trusted, other):
        each.sendall((GREETING_BYTES + 1).to_bytes(4, "big"))
    assert f"a frame of {GREETING_BYTES + 1} bytes, above the limit" in str(
        driver.lost(2).error
    )
    assert driver.network.writable(1)
    driver.network.trust(2)


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (b"\xff\xff\xff\xff", "a frame of -1 bytes"),
        (b"\x7f\0\0\0", "above the limit of 67108864"),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "'HTTP/1.1 404 Not Found'"),
        (b"\x16\x03\x03\x00\x7a", "set security.protocol to SSL or SASL_SSL"),
        (b"\0\0\0\3abc", "a frame of 3 bytes, which is too short for an answer"),
    ],
)
def test_a_peer_that_does_not_speak_kafka_is_lost(
    driver: "Driver", peer: "Peer", sent: bytes, says: str
) -> None:
    """B355: and the error says what it spoke instead."""
    other = driver.connected(1, peer)
    driver.network.write(1, framed(b"hello"))
    other.sendall(sent)
    assert says in str(driver.lost(1).error)
    assert driver.lost(1).strange
    assert "nothing ever came back" not in str(driver.lost(1).error)


def test_a_tls_alert_is_a_refusal_only_before_the_first_answer(
    driver: "Driver", peer: "Peer"
) -> None:
    """B381: what has answered without TLS on this connection speaks without it."""
    alert = b"\x15\x03\x03\x00\x02\x02\x28"
    new, old = driver.connected(1, peer), driver.connected(2, peer)
    old.sendall(framed(b"an answer"))
    driver.until(lambda: bool(driver.frames(2)))
    new.sendall(alert)
    old.sendall(alert)
    refused, ended = driver.lost(1), driver.lost(2)
    assert isinstance(refused.error, SslAuthenticationException)
    assert isinstance(ended.error, DisconnectException)
    for each in (refused, ended):
        assert each.strange
        assert "a TLS alert 40" in str(each.error)


def test_close_while_happenings_are_handled(driver: "Driver", peer: "Peer") -> None:
    """The list is the caller's; what he closes is not told of again, and twice is once."""
    others = [driver.connected(number, peer) for number in (1, 2)]
    driver.told.clear()
    for other in others:
        other.sendall(framed(b"one"))
    driver.until(lambda: len(driver.told) == 2)
    for other in others:
        other.sendall(framed(b"two"))
        other.close()
    for each in driver.told:
        driver.network.close(each.connection)
        driver.network.close(each.connection)
        assert not driver.network.writable(each.connection)
    assert driver.network.poll(0) == []


def test_close_while_connecting(driver: "Driver", peer: "Peer") -> None:
    """B205: given up at its deadline, a connect is never told of."""
    driver.network.connect(1, peer.address)
    driver.network.close(1)
    driver.network.close(99)
    assert driver.network.poll(0) == []


def test_a_number_belongs_to_one_connection_at_a_time(driver: "Driver", peer: "Peer") -> None:
    """While it lives it is taken; afterwards it may be used again."""
    driver.network.connect(1, peer.address)
    with pytest.raises(IllegalStateException, match="connection 1 exists"):
        driver.network.connect(1, peer.address)
    driver.network.close(1)
    driver.connected(1, peer)


def test_thousands_of_connects_to_nothing_leak_nothing(
    driver: "Driver", closed_port: SocketAddress, descriptors: Callable[[], int]
) -> None:
    """B204: each is told as lost, and no descriptor stays behind."""
    before = descriptors()
    for number in range(3000):
        driver.network.connect(number, closed_port)
        happened = driver.network.poll(5)
        assert [type(each) for each in happened] == [Lost]
    assert driver.network._connections == {}
    assert descriptors() == before


def test_hundreds_at_once_leak_nothing(
    driver: "Driver", peer: "Peer", descriptors: Callable[[], int]
) -> None:
    """Lost, closed by us, or still connecting at the shutdown: all of them are closed."""
    before = descriptors()
    for number in range(300):
        driver.network.connect(number, peer.address)
    for number in range(0, 300, 3):
        driver.network.close(number)
    peer.listener.close()
    driver.network.poll(0)
    driver.network.shutdown()
    # The listener is gone, the pair that wakes, and the selector, where there is one.
    gone = 4 if isinstance(driver.network._watch, PureWatch) else 3
    assert descriptors() == before - gone


def test_shutdown_closes_everything_and_twice_is_once(driver: "Driver", peer: "Peer") -> None:
    """The peers see the end; what comes later is told so, or ignored."""
    other = driver.connected(1, peer)
    driver.network.connect(2, peer.address)
    driver.stuck(1)
    driver.network.shutdown()
    driver.network.shutdown()
    while other.recv(1 << 20):
        pass
    driver.network.wake()
    driver.network.close(1)
    assert not driver.network.writable(1)
    with pytest.raises(IllegalStateException, match="shut down"):
        driver.network.poll(0)
    with pytest.raises(IllegalStateException, match="shut down"):
        driver.network.connect(3, peer.address)


def test_ipv6(driver: "Driver") -> None:
    """A numeric IPv6 address goes the same way."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 loopback here")
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        address = SocketAddress("::1", listener.getsockname()[1])
        driver.network.connect(1, address)
        driver.until(lambda: Connected(1) in driver.told)
        listener.accept()[0].close()
        assert str(driver.lost(1).error).startswith(
            f"the connection to [::1]:{address.port} ended"
        )


def test_the_repr_shows_state_and_counts(driver: "Driver", peer: "Peer") -> None:
    """One line that a test, a log or a debugger can use."""
    driver.connected(1, peer)
    driver.network.connect(2, peer.address)
    driver.network.connect(3, SocketAddress("nowhere", 1))
    shown = repr(driver.network)
    assert shown.startswith("<SelectorNetwork up: 2 connections (1 connecting, 0 with an")
    assert ", 1 unsaid, turns " in shown
    assert repr(driver.network._connections[1]) == (
        f"<SocketConnection 1 to {peer.address} connected, sent 0, unwritten 0>"
    )
    driver.network.shutdown()
    assert repr(driver.network).startswith("<SelectorNetwork down: 0 connections")


def test_addresses_are_shown_as_they_are_written() -> None:
    """IPv6 in brackets, with its scope if it has one."""
    assert str(SocketAddress("10.0.0.1", 9092)) == "10.0.0.1:9092"
    assert str(SocketAddress("fe80::1", 9092, scope=2)) == "[fe80::1%2]:9092"
