"""The server itself: its thread, its sockets, its life."""

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from prokurist.testing.broker import EmbeddedBroker, main
from prokurist.testing.cluster.wire import MalformedRequest
from prokurist.types import TopicPartition
from tests.stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Iterator

API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)
METADATA = struct.pack(">ihhihi", 14, 3, 1, 8, -1, -1)


@pytest.fixture
def client(broker: EmbeddedBroker) -> "Iterator[socket.socket]":
    """A bare connection to the first broker."""
    with socket.create_connection(("127.0.0.1", broker.ports[0]), timeout=5) as made:
        yield made


def answer(client: socket.socket) -> int:
    """Read one answer; its correlation id."""
    data = exactly(client, int.from_bytes(exactly(client, 4)))
    return int.from_bytes(data[:4])


def exactly(client: socket.socket, size: int) -> bytes:
    """Read so many bytes, or what there is before the end."""
    data = bytearray()
    while len(data) < size and (more := client.recv(size - len(data))):
        data += more
    return bytes(data)


def test_nothing_is_left_behind() -> None:
    """No thread, and no listener."""
    with EmbeddedBroker(2) as broker:
        assert any(each.name == "prokurist-embedded-broker" for each in threading.enumerate())
        ports = broker.ports
    assert not any(each.name == "prokurist-embedded-broker" for each in threading.enumerate())
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)


def test_it_closes_with_clients_connected_and_requests_pending() -> None:
    """No client is waited for; those connected are disconnected."""
    with EmbeddedBroker() as broker:
        client = socket.create_connection(("127.0.0.1", broker.ports[0]), timeout=5)
        with client:
            broker.hold()
            client.sendall(API_VERSIONS)
            broker.close()
            with suppress(ConnectionResetError):
                assert client.recv(1) == b""
    broker.close()


def test_bytes_in_any_portions_are_requests(client: socket.socket) -> None:
    """One by one, and two requests at once."""
    for byte in API_VERSIONS:
        client.sendall(bytes([byte]))
    client.sendall(METADATA + API_VERSIONS)
    assert [answer(client) for _ in range(3)] == [7, 8, 7]


def test_a_large_answer_goes_out_in_portions(
    broker: EmbeddedBroker, client: socket.socket
) -> None:
    """A client that does not read delays no other, and loses nothing."""
    large = bytes(range(256)) * (64 << 10)
    broker.garbage("Metadata", large)
    client.sendall(METADATA + API_VERSIONS)
    with socket.create_connection(("127.0.0.1", broker.ports[0]), timeout=5) as other:
        other.sendall(API_VERSIONS)
        assert answer(other) == 7
    assert exactly(client, 4 + len(large)) == len(large).to_bytes(4) + large
    assert answer(client) == 7


def test_a_killed_broker_refuses_when_the_control_returns(
    broker: EmbeddedBroker, client: socket.socket
) -> None:
    """What was connected is reset; restarted, it listens at the same port."""
    for _ in range(3):
        with broker.kill(1), pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", broker.ports[0]), timeout=5)
        with socket.create_connection(("127.0.0.1", broker.ports[0]), timeout=5) as again:
            again.sendall(API_VERSIONS)
            assert answer(again) == 7
    with pytest.raises(ConnectionResetError):
        client.recv(1)


def test_an_orderly_end_comes_after_what_was_answered(
    broker: EmbeddedBroker, client: socket.socket
) -> None:
    """An answer, then the end of the stream."""
    broker.cut("Metadata")
    client.sendall(API_VERSIONS + METADATA)
    assert answer(client) == 7
    assert client.recv(1) == b""


def test_a_delay_is_one_on_the_real_clock(
    broker: EmbeddedBroker, client: socket.socket
) -> None:
    """The journal says when."""
    broker.delay("ApiVersions", 0.2)
    with Stopwatch() as took:
        client.sendall(API_VERSIONS)
        assert answer(client) == 7
    [entry] = broker.requests("ApiVersions")
    assert entry.answered is not None
    assert entry.answered - entry.at > 0.199
    assert took.own < 2


def test_bytes_without_a_length_lie_as_they_are_told(
    broker: EmbeddedBroker, client: socket.socket
) -> None:
    """For clients that must not trust a length."""
    broker.garbage("ApiVersions", b"\x7f\xff\xff\xff", framed=False)
    client.sendall(API_VERSIONS)
    assert exactly(client, 4) == b"\x7f\xff\xff\xff"


def test_a_length_that_cannot_be_ends_the_connection(client: socket.socket) -> None:
    """Negative, here."""
    client.sendall(b"\xff\xff\xff\xff")
    assert client.recv(1) == b""


def test_a_handler_that_raises_is_heard_of_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection is closed, the others go on, and the test fails."""
    from prokurist.testing.cluster.handlers import metadata

    def broken(*_: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(metadata, "asked_for", broken)
    broker = EmbeddedBroker()
    broker.start()
    for asked, ends in ((METADATA, True), (API_VERSIONS, False)):
        with socket.create_connection(("127.0.0.1", broker.ports[0]), timeout=5) as client:
            client.sendall(asked)
            assert (exactly(client, 4) == b"") is ends
    with pytest.raises(KeyError, match="ours"):
        broker.close()


def test_what_the_test_itself_saw_comes_first() -> None:
    """The broker's own trouble is a note on it."""

    def failing() -> None:
        with EmbeddedBroker() as broker:
            with socket.create_connection(("127.0.0.1", broker.ports[0]), timeout=5) as client:
                client.sendall(b"\0\0\0\1?")
                assert client.recv(1) == b""
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        failing()
    assert "MalformedRequest" in caught.value.__notes__[0]


def test_failures_can_be_taken_by_a_test_that_wanted_them(
    broker: EmbeddedBroker, client: socket.socket
) -> None:
    """Then the end is quiet."""
    client.sendall(b"\0\0\0\1?")
    assert client.recv(1) == b""
    assert [type(each) for each in broker.take_failures()] == [MalformedRequest]


def test_a_thread_that_dies_is_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Controls raise at once, and so does the end."""
    from prokurist.testing.cluster import Cluster

    broker = EmbeddedBroker()
    broker.start()

    def broken(*_: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(Cluster, "advance", broken)
    # The first may be in time to see the thread alive, and hears of its end then.
    with suppress(RuntimeError):
        broker.freeze()
    with pytest.raises(RuntimeError, match="closed"):
        broker.freeze()
    with pytest.raises(KeyError, match="ours"):
        broker.close()


def test_a_broker_is_used_once_and_while_it_runs() -> None:
    """Before and afterwards it says what is wrong."""
    broker = EmbeddedBroker()
    with pytest.raises(RuntimeError, match="not started"):
        _ = broker.bootstrap
    broker.close()
    with broker:
        pass
    with pytest.raises(RuntimeError, match="started once"):
        broker.start()
    with pytest.raises(RuntimeError, match="is closed"):
        broker.offsets(TopicPartition("orders", 0))
    with pytest.raises(ValueError, match="2 brokers need 2 ports"):
        EmbeddedBroker(2, ports=[9092])


def test_a_port_that_is_taken_is_an_error_and_leaves_nothing() -> None:
    """With any owner: another broker of this kind does not share it either."""
    with socket.create_server(("127.0.0.1", 0)) as other, EmbeddedBroker() as broker:
        for port in (other.getsockname()[1], *broker.ports):
            with pytest.raises(OSError, match="in use"):
                EmbeddedBroker(ports=[port]).start()


def test_a_port_can_be_asked_for() -> None:
    """It is listened at, and advertised."""
    with EmbeddedBroker() as broker:
        ports = broker.ports
    with EmbeddedBroker(ports=ports) as broker:
        assert broker.ports == ports
        with socket.create_connection(("127.0.0.1", ports[0]), timeout=5) as client:
            client.sendall(API_VERSIONS)
            assert answer(client) == 7


def test_a_port_that_is_taken_is_one_line_on_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a traceback."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert main(["--port", str(other.getsockname()[1])]) == 1
    assert "in use" in capsys.readouterr().err


def test_it_can_be_played_with_and_ends_without_a_traceback() -> None:
    """It prints where it listens; Ctrl-C is the end."""
    command = [sys.executable, "-m", "prokurist.testing.broker"]
    with subprocess.Popen(
        [*command, "--nodes", "2", "--topic", "orders:3", "--topic", "detached"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        port = int(line.strip().rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(METADATA)
            assert answer(client) == 8
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=10)
    assert (process.returncode, errors) == (0, "")
    assert line.startswith("bootstrap.servers=127.0.0.1:")
