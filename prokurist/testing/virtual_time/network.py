"""A network without sockets: its far end is the cluster model.

Thread: the caller's of the world.
Invariants: see `network_thread.io.network`. Written bytes reach the broker LATENCY later, and
so do a broker's bytes the client; nothing is reordered on a connection.
"""

import math
from typing import TYPE_CHECKING, Any, Final

from prokurist.errors import NetworkException
from prokurist.network_thread.io.network import Connected, Happening, Lost, SocketAddress
from prokurist.testing.cluster.session import Delivery, Session
from prokurist.testing.virtual_time.delivering import told

if TYPE_CHECKING:
    from prokurist.testing.virtual_time.world import World

LATENCY: Final = 0.001
"""From the client to a broker, and back."""


class ModelNetwork:
    """A `Network` in front of the cluster model."""

    def __init__(self, world: "World[Any]") -> None:
        self.world = world
        self.turns: int = 0
        self.wakes: int = 0
        self.bytes_received: int = 0
        self.bytes_sent: int = 0
        self.woken: bool = False
        self.told: bool = False
        self._sessions: dict[int, Session] = {}
        self._connecting: set[int] = set()
        self._trusted: set[int] = set()
        self._queue: list[tuple[float, int, Happening]] = []
        self._outgoing: list[tuple[float, int, bytes]] = []

    def connect(
        self,
        connection: int,
        address: SocketAddress,
        server_name: str = "",  # noqa: ARG002 - nothing is encrypted here
    ) -> None:
        """Begin to connect."""
        self._connecting.add(connection)
        at = self.world.clock.time + LATENCY
        try:
            node = self.world.broker_at(address)
            session = self.world.cluster.connect(node, self.world.clock.time)
        except ConnectionRefusedError as error:
            lost = NetworkException(f"{address} refuses connections")
            lost.__cause__ = error.with_traceback(None)
            self._queue.append((at, connection, Lost(connection, lost)))
        else:
            self._sessions[connection] = session
            self._queue.append((at, connection, Connected(connection)))

    def write(self, connection: int, frame: bytes | bytearray) -> None:
        """Write a frame; it reaches the broker a little later."""
        self.bytes_sent += len(frame)
        self._outgoing.append((self.world.clock.time + LATENCY, connection, bytes(frame[4:])))

    def writable(self, connection: int) -> bool:
        """True if the connection is established."""
        return connection in self._sessions and connection not in self._connecting

    def arriving(self, connection: int) -> tuple[int, int] | None:  # noqa: ARG002
        """None: a frame comes whole."""
        return None

    def trust(self, connection: int) -> None:
        """Accept long frames."""
        self._trusted.add(connection)

    def close(self, connection: int) -> None:
        """End a connection; written bytes are on their way all the same."""
        self._connecting.discard(connection)
        self._trusted.discard(connection)
        session = self._sessions.pop(connection, None)
        if session is not None:
            for entry in [each for each in self._outgoing if each[1] == connection]:
                self._outgoing.remove(entry)
                session.receive(entry[2], self.world.clock.time)
            session.close(self.world.clock.time)
        self._queue = [entry for entry in self._queue if entry[1] != connection]

    def poll(self, seconds: float | None) -> list[Happening]:  # noqa: ARG002 - the world waits
        """Return the happenings by now; the world does the waiting."""
        self.turns += 1
        self.woken = False
        self.told = False
        if not self._queue:
            return []
        now = self.world.clock.time
        ready = [entry for entry in self._queue if entry[0] <= now]
        self._queue = [entry for entry in self._queue if entry[0] > now]
        self.told = bool(ready)
        for _, connection, happening in ready:
            if isinstance(happening, Connected | Lost):
                self._connecting.discard(connection)
            if isinstance(happening, Lost):
                self._sessions.pop(connection, None)
        return [happening for _, _, happening in ready]

    def wake(self) -> None:
        """End the wait."""
        self.wakes += 1
        self.woken = True

    def shutdown(self) -> None:
        """Close everything."""
        for connection in tuple(self._sessions):
            self.close(connection)

    # --- the world's side ------------------------------------------------------------

    def deliver(self, delivery: Delivery) -> None:
        """Something came from a broker."""
        at = self.world.clock.time + LATENCY
        for connection, each in self._sessions.items():
            if each is delivery.session:
                trusted = connection in self._trusted
                self._queue += [
                    (at, connection, each)
                    for each in told(delivery, connection, trusted=trusted)
                ]

    def carry(self) -> None:
        """Deliver written bytes to the brokers."""
        if not self._outgoing:
            return
        now = self.world.clock.time
        arrived = [entry for entry in self._outgoing if entry[0] <= now]
        self._outgoing = [entry for entry in self._outgoing if entry[0] > now]
        for _, connection, frame in arrived:
            session = self._sessions.get(connection)
            if session is not None:
                session.receive(frame, now)

    def next_due(self) -> float:
        """When something moves on the wires."""
        due = math.inf
        for entry in self._queue:
            due = min(due, entry[0])
        for written in self._outgoing:
            due = min(due, written[0])
        return due

    @property
    def open(self) -> int:
        """Number of established connections."""
        return len(self._sessions)

    def __repr__(self) -> str:
        return f"ModelNetwork({self.open} connections, {self.turns} turns)"
