"""Notes since when brokers cannot be reached; a connection to a silent one counts as none.

Thread: the network thread alone; other threads read `Reachability`.
Invariants: an address is silent from a request without an answer within `request.timeout.ms`
until any bytes arrive from it. Other connections to it may stand meanwhile, as they have no
requests.
"""

from collections.abc import Collection, Mapping

from prokurist.errors import KafkaException
from prokurist.events.log_events import (
    ANSWER_UNFINISHED,
    BROKER_NOT_NEEDED,
    BROKER_REACHABLE,
    BROKER_UNREACHABLE,
)
from prokurist.events.reachability import Reachability
from prokurist.events.trace import EVERY, Trace
from prokurist.network_thread.connections.connection import Connection
from prokurist.network_thread.connections.connection_state import ConnectionState
from prokurist.network_thread.connections.requests import Lane, Limits
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.failures import UnfinishedAnswer
from prokurist.types import Node


class Reach:
    """Notes silent addresses, and the beginning of each outage.

    Args:
        reachability: The reachability to update.
        connections: All of the client's.
        timer: The Timer.
        limits: Bounds of a connection.
        trace: Where brokers that cannot be reached are told of.
    """

    def __init__(
        self,
        reachability: Reachability,
        connections: Mapping[tuple[int, Lane], Connection],
        timer: Timer,
        limits: Limits,
        trace: Trace,
    ) -> None:
        self._reachability = reachability
        self._connections = connections
        self._timer = timer
        self._limit = limits.request
        # A broker that was not wanted for so long may have been up in between.
        self._unwanted = limits.reconnect.most + EVERY
        self._trace = trace
        # Since when tries to connect fail, and when the last one did.
        self._failing: dict[Node, tuple[float, float]] = {}
        self._silent: set[tuple[str, int]] = set()

    def connected(self, connection: Connection) -> None:
        """Note that a connection is ready: nothing at its address is out of reach."""
        self._reachability.connected()
        address = address_of(connection)
        for node in [each for each in self._failing if (each.host, each.port) == address]:
            del self._failing[node]
            self._trace.emit(BROKER_REACHABLE, node=node)

    def unreachable(self, connection: Connection, error: KafkaException) -> None:
        """Tell of a try to connect that has failed, and since when all tries do."""
        now, node, began = self._timer.now, connection.node, connection.tried_at
        since, last = self._failing.get(node, (began, began))
        if began - last > self._unwanted:
            since = began
        self._failing[node] = since, now
        self._trace.emit(BROKER_UNREACHABLE, node=node, error=error, seconds=now - since)

    def wants(self, nodes: Collection[int]) -> None:
        """Tell of brokers that could not be reached and are not tried any more.

        Those of `bootstrap.servers` are not, once the cluster's own are known; nor is one that
        has left the cluster.
        """
        for node in [each for each in self._failing if each.id not in nodes]:
            del self._failing[node]
            self._trace.emit(BROKER_NOT_NEEDED, node=node)

    def arrived(self, connection: Connection) -> None:
        """Note that a broker has answered something."""
        self._reachability.answered_at = self._timer.now
        if self._silent and (address := address_of(connection)) in self._silent:
            self._silent.remove(address)
            self._reachability.connected()

    def went_down(self, connection: Connection, error: KafkaException, since: float) -> None:
        """Note a lost connection; check if another one reaches a broker.

        Args:
            connection: Which.
            error: Why.
            since: When its oldest request was written that was not answered.
        """
        now = self._timer.now
        self._reachability.failed(error, now)
        if isinstance(error, UnfinishedAnswer):
            self._trace.emit(ANSWER_UNFINISHED, node=connection.node, error=error)
        # Brokers come and go: what is kept of them is of those that there are.
        self._silent &= {address_of(each) for each in self._connections.values()}
        if len(self._failing) > len(self._connections):
            nodes = {each.node for each in self._connections.values()}
            self._failing = {each: self._failing[each] for each in nodes & self._failing.keys()}
        if now - since >= self._limit:
            self._silent.add(address_of(connection))
        if not any(self._reaches(each) for each in self._connections.values()):
            self._reachability.none_left(since)

    def _reaches(self, connection: Connection) -> bool:
        stands = connection.state is ConnectionState.READY
        return stands and address_of(connection) not in self._silent

    def __repr__(self) -> str:
        return f"Reach({self._reachability}, {len(self._silent)} silent)"


def address_of(connection: Connection) -> tuple[str, int]:
    """Return the address of a connection's broker."""
    return connection.node.host, connection.node.port
