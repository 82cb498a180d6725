"""Notes since when no broker can be reached; a connection to one that is silent counts as none.

Thread: the network thread alone; `Reachability` is what other threads read of it.
Invariants: an address is silent from a request that was not answered within
`request.timeout.ms` until anything arrives from it. Other connections to it may stand
meanwhile, as nothing was asked of them.
"""

from collections.abc import Mapping

from prokurist.errors import KafkaException
from prokurist.events.reachability import Reachability
from prokurist.network_thread.connections.connection import Connection
from prokurist.network_thread.connections.connection_state import ConnectionState
from prokurist.network_thread.connections.requests import Lane
from prokurist.network_thread.operations.timer import Timer


class Reach:
    """Notes which addresses are silent, and since when none is reached.

    Args:
        reachability: What is noted.
        connections: All of the client's.
        timer: The Timer.
        limit: `request.timeout.ms`, in seconds.
    """

    def __init__(
        self,
        reachability: Reachability,
        connections: Mapping[tuple[int, Lane], Connection],
        timer: Timer,
        limit: float,
    ) -> None:
        self._reachability = reachability
        self._connections = connections
        self._timer = timer
        self._limit = limit
        self._silent: set[tuple[str, int]] = set()

    def arrived(self, connection: Connection) -> None:
        """Note that a broker has answered something."""
        self._reachability.answered_at = self._timer.now
        if self._silent and (address := address_of(connection)) in self._silent:
            self._silent.remove(address)
            self._reachability.connected()

    def went_down(self, connection: Connection, error: KafkaException, since: float) -> None:
        """Note a connection that was lost, and whether another one reaches a broker.

        Args:
            connection: Which.
            error: Why.
            since: When its oldest request was written that was not answered.
        """
        now = self._timer.now
        self._reachability.failed(error, now)
        # Brokers come and go: what is kept of them is of those that there are.
        self._silent &= {address_of(each) for each in self._connections.values()}
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
    """Where a connection leads."""
    return connection.node.host, connection.node.port
