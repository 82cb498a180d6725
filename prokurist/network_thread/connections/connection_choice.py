"""States of connections, for the choice of brokers and lanes.

Thread: the network thread alone. A part of `NetworkClient`; nothing here changes.
"""

import math
from collections.abc import Callable, Iterable

from prokurist.network_thread.connections.addresses import same_address
from prokurist.network_thread.connections.connection import Connection
from prokurist.network_thread.connections.connection_state import ConnectionState
from prokurist.network_thread.connections.requests import ANOTHER_AFTER, STAND_INS, Lane
from prokurist.network_thread.io.network import Network
from prokurist.network_thread.operations.timer import Timer
from prokurist.types import Node


class ConnectionChoice:
    """Part of `NetworkClient` that chooses connections for requests."""

    _network: Network
    _timer: Timer
    _draw: Callable[[], float]
    _connections: dict[tuple[int, Lane], Connection]

    def least_loaded(self, nodes: Iterable[Node]) -> Node | None:
        """The best of some nodes for a request that any broker can answer.

        The ready one with the fewest requests in flight; else one that is coming up; else, of
        those that may be tried, the one with the oldest last try, so that after a refusal the
        next one follows; else one that has been coming up for suspiciously long. None while all
        of them are in a backoff or throttle this client.
        """
        best: tuple[int, float, float] | None = None
        chosen: Node | None = None
        for node in nodes:
            connection = self._general(node)
            if connection is not None and (connection.backing_off or connection.throttled):
                continue
            # Of equals any: clients with one bootstrap list must not all begin at
            # the same broker.
            tie = self._draw()
            rank: tuple[int, float, float]
            if connection is None:
                rank = (2, -math.inf, tie)
            elif connection.state is ConnectionState.DOWN:
                rank = (2, connection.tried_at, tie)
            elif connection.state is ConnectionState.READY:
                rank = (0, connection.pipeline.in_flight + connection.pipeline.waiting, tie)
            else:
                slow = self._timer.now - connection.tried_at >= ANOTHER_AFTER
                rank = (3 if slow else 1, connection.pipeline.waiting, tie)
            if best is None or rank < best:
                best, chosen = rank, node
        return chosen

    def is_ready(self, node: Node, lane: Lane) -> bool:
        """Return True if a request to a node can be written at once."""
        own = self._standing_for(node, lane)
        return own is not None and own.state is ConnectionState.READY

    def takes(self, node: Node, lane: Lane) -> bool:
        """Return True if a request can be written in this very turn."""
        own = self._standing_for(node, lane)
        return (
            own is not None
            and same_address(own.node, node)
            and own.state is ConnectionState.READY
            and own.pipeline.takes
            and self._network.writable(own.number)
        )

    def ready_at(self, node: Node, lane: Lane) -> float:
        """When a connection may be tried, or is not throttled any more."""
        own = self._connections.get((node.id, lane))
        return self._timer.now if own is None else own.ready_at

    def awaited(self, lane: Lane, *nodes: Node) -> str:
        """Describe the wait of requests to some nodes, for ledgers."""
        throttling = [node for node in nodes if self.is_throttled(node, lane)]
        others = " and ".join(sorted(str(node) for node in nodes if node not in throttling))
        silent = " and ".join(sorted(map(str, throttling)))
        told = [f"a connection to {others}"] if others else []
        if silent:
            verb = "throttles" if len(throttling) == 1 else "throttle"
            told.append(f"{silent}, which {verb} this client, as it is over a quota")
        return " and ".join(told)

    def is_throttled(self, node: Node, lane: Lane) -> bool:
        """Return True if a broker throttles an established connection."""
        own = self._standing_for(node, lane)
        return own is not None and own.state is ConnectionState.READY and own.throttled

    def has_refused(self, node: Node) -> bool:
        """Return True if a node's address refused the last connect, and no other is ready."""
        to_it = [each for each in self._connections.values() if same_address(each.node, node)]
        stands = any(each.state is ConnectionState.READY for each in to_it)
        return not stands and any(each.refused for each in to_it)

    def next_chance(self, nodes: Iterable[Node]) -> float:
        """When the first of some nodes may be asked again."""
        moments = [
            connection.ready_at
            for node in nodes
            if (connection := self._general(node)) is not None
        ]
        return min(moments, default=self._timer.now)

    def _general(self, node: Node) -> Connection | None:
        """The connection of the general lane to this very address."""
        own = self._standing_for(node, Lane.GENERAL)
        return None if own is None or not same_address(own.node, node) else own

    def _standing_for(self, node: Node, lane: Lane) -> Connection | None:
        """The one that carries a lane: itself where a stand-in has gone as well."""
        own = self._connections.get((node.id, lane))
        return (own is not None and own.has_stand_in and self._stand_in(own)) or own

    def _stand_in(self, own: Connection) -> Connection | None:
        """Another connection to the same broker that can carry its requests."""
        for lane in STAND_INS[own.lane]:
            other = self._connections.get((own.node.id, lane))
            if other is None or other.state is not ConnectionState.READY:
                continue
            if same_address(other.node, own.node):
                return other
        return None

    @property
    def in_flight(self) -> int:
        """The number of requests that were written and not answered."""
        return sum(each.pipeline.in_flight for each in self._connections.values())

    @property
    def waiting(self) -> int:
        """The number of requests that were submitted and not written."""
        return sum(each.pipeline.waiting for each in self._connections.values())
