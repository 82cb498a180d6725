"""The thread that serves a cluster model over loopback.

It waits on all sockets and on the model's next due time, hands whole frames to the
model, and sends what the model delivers. A change from another thread is made under
the lock, wakes the server, and waits until a turn has begun and ended after it, so
that a broker is frozen or dead by the time the call returns.

Threads: `run` and all sockets belong to the server's thread; `changing`, `stop` and
`wake` may be called from any. The model is touched under `_lock` only, and nothing
blocks while it is held.
"""

import selectors
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from prokurist.events.clock import Clock
from prokurist.testing.broker_connection import ClientConnection, reset
from prokurist.testing.cluster.apis import ApiName
from prokurist.testing.cluster.cluster import Cluster
from prokurist.testing.cluster.group_settings import GroupSettings
from prokurist.testing.cluster.sasl import Sasl
from prokurist.testing.cluster.steering import Change
from prokurist.testing.cluster.transactions import TransactionSettings
from prokurist.types import Node

if TYPE_CHECKING:
    from ssl import SSLContext

    from prokurist.testing.cluster.session import Session
    from prokurist.testing.server_tls import ServerTls

LOOPBACK: Final = "127.0.0.1"
BACKLOG: Final = 256
PATIENCE: Final = 5.0
"""Most seconds for the server's thread to notice a change."""


class Door:
    """One broker's port, listened on or kept for the broker's return.

    A second socket stays bound to the port and never listens: while the broker is
    down connections are refused, and yet no other socket can be given the port.
    """

    __slots__ = ("_keeper", "listener", "port")

    def __init__(self, port: int) -> None:
        if port:
            # Sharing is for our own two sockets: a second broker must not get in.
            bound(port, shared=False).close()
        self._keeper = bound(port)
        self.port: int = self._keeper.getsockname()[1]
        self.listener: socket.socket | None = None

    def __repr__(self) -> str:
        return f"Door({self.port}, {'open' if self.listener else 'shut'})"

    def open(self) -> socket.socket:
        """Begin to listen."""
        self.listener = bound(self.port)
        self.listener.setblocking(False)
        self.listener.listen(BACKLOG)
        return self.listener

    def shut(self) -> None:
        """Stop listening; pending connections are reset."""
        if self.listener is not None:
            self.listener.close()
            self.listener = None

    def close(self) -> None:
        """Give the port back."""
        self.shut()
        self._keeper.close()


def bound(port: int, *, shared: bool = True) -> socket.socket:
    """A socket bound to a port; 0 for a free one.

    Args:
        port: The port.
        shared: Whether other sockets of this user that say so too may have it.

    Raises:
        OSError: The port is taken.
    """
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, int(shared))
        made.bind((LOOPBACK, port))
    except BaseException:
        made.close()
        raise
    return made


class Server:
    """The server."""

    def __init__(
        self,
        cluster: Cluster,
        doors: Mapping[int, Door],
        clock: Clock,
        tls: "SSLContext | None" = None,
    ) -> None:
        self._cluster = cluster
        self._tls = tls
        self._doors = doors
        self._clock = clock
        self._selector = selectors.DefaultSelector()
        self._connections: dict[Session, ClientConnection] = {}
        self._waker, self._woken = socket.socketpair()
        self._waker.setblocking(False)
        self._woken.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, self._drain)
        # One lock, and a condition on it; what it guards stands below.
        self._lock = threading.Condition()
        self._asked = 0
        self._done = 0
        self._stopping = False
        self._over = False
        self._failures: list[BaseException] = []
        for node_id, door in doors.items():
            if door.listener is not None:
                self._listen(node_id, door.listener)

    def __repr__(self) -> str:
        life = "over" if self._over else "serving"
        return f"Server({life}, {len(self._connections)} connections, {self._cluster!r})"

    # --- any thread ---------------------------------------------------------------

    @contextmanager
    def changing(self) -> Iterator[Change]:
        """Lock the model; afterwards the server has acted on the changes.

        Raises:
            RuntimeError: The server does not run any more, or does not answer.
        """
        with self._lock:
            if self._over:
                raise RuntimeError(f"the embedded broker is closed: {self!r}")
            now = self._clock.now()
            self._cluster.catch_up(now)
            try:
                yield Change(self._cluster, now)
            finally:
                self._asked += 1
                asked = self._asked
                self.wake()
            # A turn that began before the change may have read the model already,
            # and act on that afterwards. So wait for one that began later.
            seen = self._lock.wait_for(lambda: self._done >= asked or self._over, PATIENCE)
        if not seen:
            raise RuntimeError(f"the embedded broker took no notice in {PATIENCE} s: {self!r}")

    @property
    def ports(self) -> tuple[int, ...]:
        """The port of each broker, by node id."""
        return tuple(door.port for door in self._doors.values())

    def take_failures(self) -> list[BaseException]:
        """Return the errors of the model and of this server so far, and forget them."""
        with self._lock:
            failures = [*self._cluster.failures, *self._failures]
            self._cluster.failures.clear()
            self._failures.clear()
            return failures

    def stop(self) -> None:
        """Have `run` return."""
        with self._lock:
            self._stopping = True
        self.wake()

    def wake(self) -> None:
        """Have the server look at the model now."""
        try:
            self._waker.send(b"\0")
        except OSError:
            # Full: it is awake. Closed: it is over.
            return

    # --- the server's thread --------------------------------------------------------

    def run(self) -> None:
        """Serve until `stop`; errors are kept, and everything is closed."""
        try:
            while self._turn():
                pass
        except BaseException as error:  # noqa: BLE001  # kept, and raised by close
            self._failures.append(error)
        finally:
            self._close()

    def _turn(self) -> bool:
        with self._lock:
            if self._stopping:
                return False
            asked = self._asked
            deliveries = self._cluster.advance(self._clock.now())
            running = {each.node.id: each.running for each in self._cluster.brokers()}
            due = self._cluster.next_due()
        for node_id, open_now in running.items():
            if open_now != (self._doors[node_id].listener is not None):
                (self._open if open_now else self._shut)(node_id)
        for delivery in deliveries:
            connection = self._connections.get(delivery.session)
            if connection is not None:
                connection.deliver(delivery)
                self._look_after(connection)
        with self._lock:
            self._done = asked
            self._lock.notify_all()
        timeout = None if due is None else max(0.0, due - self._clock.now())
        for key, _ in self._selector.select(timeout):
            act: Callable[[], None] = key.data
            act()
        return True

    def _open(self, node_id: int) -> None:
        self._listen(node_id, self._doors[node_id].open())

    def _listen(self, node_id: int, listener: socket.socket) -> None:
        self._selector.register(
            listener, selectors.EVENT_READ, lambda: self._accept(node_id, listener)
        )

    def _shut(self, node_id: int) -> None:
        door = self._doors[node_id]
        if door.listener is not None:
            self._selector.unregister(door.listener)
        door.shut()

    def _accept(self, node_id: int, listener: socket.socket) -> None:
        try:
            accepted, _ = listener.accept()
        except OSError:
            return  # it went away again, or we shut the door in this very turn
        try:
            with self._lock:
                session = self._cluster.connect(node_id, self._clock.now())
        except ConnectionRefusedError:
            # Killed since the selector spoke: the door is about to be shut.
            reset(accepted)
            return
        connection = ClientConnection(accepted, session, self._secured())
        self._connections[session] = connection
        self._selector.register(
            connection, selectors.EVENT_READ, lambda: self._serve(connection)
        )

    def _secured(self) -> "ServerTls | None":
        if self._tls is None:
            return None
        from prokurist.testing.server_tls import ServerTls  # noqa: PLC0415 - imports ssl

        return ServerTls(self._tls)

    def _serve(self, connection: ClientConnection) -> None:
        """Serve a connection that the selector reports: write, then read."""
        connection.write()
        if connection.open:
            for frame in connection.read():
                with self._lock:
                    connection.session.receive(frame, self._clock.now())
        self._look_after(connection)

    def _look_after(self, connection: ClientConnection) -> None:
        """Wait for a connection's next event, or forget it."""
        if connection.open:
            wanted = selectors.EVENT_READ
            if connection.wants_to_write:
                wanted |= selectors.EVENT_WRITE
            key = self._selector.get_key(connection)
            if key.events != wanted:
                self._selector.modify(connection, wanted, key.data)
        elif self._connections.pop(connection.session, None) is not None:
            self._selector.unregister(connection)
            with self._lock:
                connection.session.close(self._clock.now())

    def _drain(self) -> None:
        try:
            while self._woken.recv(4096):
                pass
        except BlockingIOError:
            return

    def _close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._selector.close()
        for door in self._doors.values():
            door.close()
        with self._lock:
            self._over = True
            self._lock.notify_all()
        self._waker.close()
        self._woken.close()


def serve(
    ports: Sequence[int],
    topics: Mapping[str, int],
    clock: Clock,
    *,
    auto_create: bool,
    versions: Mapping[ApiName, tuple[int, int]],
    groups: GroupSettings | None,
    transactions: TransactionSettings | None,
    sasl: Sasl | None,
    tls: "SSLContext | None",
    wall_ahead: float,
) -> Server:
    """A server that listens, and whose `run` waits for a thread.

    Raises:
        OSError: A port is taken.
        ValueError: The cluster described makes no sense.
    """
    doors: dict[int, Door] = {}
    try:
        for node_id, port in enumerate(ports, start=1):
            doors[node_id] = Door(port)
            doors[node_id].open()
        nodes = [Node(node_id, LOOPBACK, door.port) for node_id, door in doors.items()]
        cluster = Cluster(
            nodes,
            topics,
            auto_create=auto_create,
            versions=versions,
            groups=groups,
            transactions=transactions,
            sasl=sasl,
            wall_ahead=wall_ahead,
        )
        return Server(cluster, doors, clock, tls)
    except BaseException:
        for door in doors.values():
            door.close()
        raise
