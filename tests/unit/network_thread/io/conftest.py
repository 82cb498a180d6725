"""Loopback peers, and a driver that polls until something has happened."""

import gc
import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from prokurist.config import ConsumerConfig
from prokurist.events.clock import MonotonicClock
from prokurist.network_thread.io.network import (
    Arrived,
    Connected,
    Happening,
    Lost,
    SocketAddress,
    Written,
)
from prokurist.network_thread.io.selector import SelectorNetwork
from prokurist.network_thread.io.tls import PUMPS, Tls
from prokurist.network_thread.io.watch import MODULES, MakeWatch, watch_of
from prokurist.security.context import TlsContexts
from prokurist.testing.kafka.pki import Authority
from prokurist.twins import VARIABLE, choose

PATIENCE = 10.0


class Peer:
    """A listener on loopback whose sockets all close with the test."""

    def __init__(self, family: socket.AddressFamily = socket.AF_INET) -> None:
        self.open = ExitStack()
        host = "::1" if family == socket.AF_INET6 else "127.0.0.1"
        self.listener = self.open.enter_context(socket.create_server((host, 0), family=family))
        self.listener.settimeout(PATIENCE)
        self.address = SocketAddress(host, self.listener.getsockname()[1])

    def accept(self) -> socket.socket:
        """The next connection, blocking, and patient but not for ever."""
        accepted = self.open.enter_context(self.listener.accept()[0])
        accepted.settimeout(PATIENCE)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return accepted

    @staticmethod
    def taken(accepted: socket.socket, count: int) -> bytes:
        """So many bytes that came over a connection, blocking."""
        data = bytearray()
        while len(data) < count:
            data += accepted.recv(min(1 << 20, count - len(data))) or pytest.fail("closed")
        return bytes(data)

    @staticmethod
    def reset(accepted: socket.socket) -> None:
        """Close so that the other side sees a reset."""
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        accepted.close()


class Driver:
    """A network, what has happened on it, and polling for more."""

    def __init__(self, network: SelectorNetwork) -> None:
        self.network = network
        self.told: list[Happening] = []

    def until(self, satisfied: Callable[[], bool]) -> list[Happening]:
        """Poll until it is so; a test that waits in vain fails instead of hanging."""
        quiet = 0
        while not satisfied():
            received = self.network.bytes_received
            happened = self.network.poll(PATIENCE)
            self.told += happened
            quiet = 0 if happened or received != self.network.bytes_received else quiet + 1
            assert quiet < 100, f"nothing comes any more: {self.network}, {self.told[-3:]}"
        return self.told

    def until_frames(self, number: int, count: int) -> list[bytes]:
        """Poll until so many frames have arrived on a connection, and hand them out."""
        self.until(lambda: len(self.frames(number)) >= count)
        return self.frames(number)

    def until_received(self, count: int) -> None:
        """Poll until so many bytes have come, even if they complete nothing."""
        give_up = self.network.turns + 1000
        while self.network.bytes_received < count:
            self.told += self.network.poll(0.01)
            assert self.network.turns < give_up, f"{count} bytes never came: {self.network}"

    def connected(self, number: int, peer: Peer, *, trusted: bool = True) -> socket.socket:
        """A connection that stands, and its other end."""
        self.network.connect(number, peer.address)
        self.until(lambda: Connected(number) in self.told)
        if trusted:
            self.network.trust(number)
        return peer.accept()

    def stuck(self, number: int) -> bytes:
        """Write so much to a peer that does not read that some of it stays here."""
        frame = (16 << 20).to_bytes(4, "big") + bytes(16 << 20)
        self.network.write(number, frame)
        assert not self.network.writable(number)
        return frame

    def frames(self, number: int) -> list[bytes]:
        """What has arrived on a connection."""
        return [
            bytes(each.frame)
            for each in self.told
            if isinstance(each, Arrived) and each.connection == number
        ]

    def lost_yet(self, number: int) -> list[Lost]:
        """How the connection was lost, if it was."""
        return [
            each for each in self.told if isinstance(each, Lost) and each.connection == number
        ]

    def lost(self, number: int) -> Lost:
        """Poll until the connection is lost, and say how."""
        self.until(lambda: bool(self.lost_yet(number)))
        (only,) = self.lost_yet(number)
        return only

    def written(self, number: int) -> int:
        """How often an unwritten rest is told to be gone."""
        return self.told.count(Written(number))


@pytest.fixture
def peer() -> Iterator[Peer]:
    """A server to connect to."""
    made = Peer()
    with made.open:
        yield made


@pytest.fixture
def closed_port() -> Iterator[SocketAddress]:
    """A port without a listener: it is taken, so that no other process begins to meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield SocketAddress(*bound.getsockname())


@pytest.fixture(params=MODULES)
def make_watch(request: pytest.FixtureRequest) -> MakeWatch:
    """Each twin of the watch, where it was built."""
    name: str = request.param
    try:
        return watch_of(choose(MODULES, name))
    except ImportError as error:
        if os.environ.get(VARIABLE) == name:
            raise
        pytest.skip(f"the {name} watch was not built: {error}")


@pytest.fixture
def driver(make_watch: MakeWatch) -> Iterator[Driver]:
    """A network that is shut down in the end."""
    network = SelectorNetwork(
        receive_buffer_bytes=-1,
        send_buffer_bytes=-1,
        largest_frame_bytes=64 << 20,
        watch=make_watch,
    )
    yield Driver(network)
    network.shutdown()


@pytest.fixture
def descriptors() -> Callable[[], int]:
    """Counts the files this process has open."""
    where = Path("/proc/self/fd" if Path("/proc/self/fd").is_dir() else "/dev/fd")

    def count() -> int:
        gc.collect()  # what an earlier test left in a cycle is not this one's
        return sum(1 for _ in where.iterdir())

    return count


@pytest.fixture
def resident() -> Callable[[], int]:
    """Says how many bytes of memory this process holds."""

    def size() -> int:
        statm = Path("/proc/self/statm")
        if not statm.exists():
            pytest.skip("this system does not say how much memory is resident")
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    return size


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Who vouches for the brokers of these tests."""
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="session")
def certificate(authority: Authority) -> Path:
    """A broker's, for localhost and its address."""
    return authority.issue("broker")


@pytest.fixture(params=PUMPS)
def twin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way to decrypt, where it was built."""
    name: str = request.param
    try:
        choose(PUMPS, name)
    except ImportError as error:
        pytest.skip(f"the {name} pump was not built: {error}")
    monkeypatch.setenv(VARIABLE, name)
    return name


@pytest.fixture
def driven(twin: str) -> Iterator[Callable[[ConsumerConfig], Driver]]:
    """Networks that are shut down in the end."""
    made: list[SelectorNetwork] = []

    def drive(keys: ConsumerConfig) -> Driver:
        network = SelectorNetwork(
            receive_buffer_bytes=-1,
            send_buffer_bytes=-1,
            tls=Tls(TlsContexts(keys, MonotonicClock().now)),
        )
        made.append(network)
        return Driver(network)

    assert twin in PUMPS
    yield drive
    for each in made:
        each.shutdown()
