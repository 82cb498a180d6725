"""Brokers that have refused this client: one try of each address at a time, for all lanes.

Thread: the network thread alone.
Invariants: an address is remembered from a refusal until a connection to it is ready; meanwhile
at most one try begins in each pause, on any lane, so that an account is not locked; requests
waiting on other lanes get the refusal, too.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prokurist.errors import KafkaException
from prokurist.network_thread.connections.connection_state import ConnectionState
from prokurist.network_thread.connections.requests import Lane
from prokurist.network_thread.operations.timer import Timer
from prokurist.types import Node

if TYPE_CHECKING:
    from prokurist.network_thread.connections.connection import Connection


class Refusals:
    """Remembers addresses that have refused this client, and paces tries of them.

    Args:
        connections: All of the client's.
        timer: The Timer.
        pause: Seconds between two tries of an address.
    """

    def __init__(
        self, connections: Mapping[tuple[int, Lane], "Connection"], timer: Timer, pause: float
    ) -> None:
        self._connections = connections
        self._timer = timer
        self._pause = pause
        self._until: dict[tuple[str, int], float] = {}

    def until(self, node: Node) -> float:
        """Return the earliest time of another try of a node's address."""
        return self._until.get((node.host, node.port), self._timer.now)

    def has(self, node: Node) -> bool:
        """Return True if a node's address has refused the client, and not accepted it since."""
        return (node.host, node.port) in self._until

    def trying(self, node: Node) -> None:
        """A connection is tried: no other is, for a while, where the last was refused."""
        address = node.host, node.port
        if address in self._until:
            self._until[address] = self._timer.now + self._pause

    def refused(self, connection: "Connection", error: KafkaException) -> None:
        """A broker has refused the client, not the lane."""
        node = connection.node
        self._until[node.host, node.port] = self._timer.now + self._pause
        for other in self._others(connection):
            other.pipeline.fail(error)

    def accepted(self, connection: "Connection") -> None:
        """Forget a refusal: a broker accepts the client, and requests on other lanes go on."""
        node = connection.node
        if self._until.pop((node.host, node.port), None) is not None:
            for other in self._others(connection):
                other.open_again()

    def _others(self, connection: "Connection") -> list["Connection"]:
        """Connections to the same address with requests that wait for the next try."""
        node = connection.node
        return [
            each
            for each in self._connections.values()
            if each is not connection
            and (each.node.host, each.node.port) == (node.host, node.port)
            and each.state is ConnectionState.DOWN
            and each.pipeline.waiting
        ]

    def __repr__(self) -> str:
        return f"Refusals({len(self._until)} addresses)"
