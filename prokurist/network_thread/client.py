"""The network client: which broker, which connection, and who hears what of it.

Thread: the network thread alone.

Managers hand in a request, a node and a lane, and get a promise. Everything below
that promise is settled here and in the connections: opening, queueing, writing,
matching answers, and telling every promise that is left when a connection goes.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from prokurist.errors import DisconnectException, KafkaException
from prokurist.events.call import Call
from prokurist.network_thread.connection import Connection
from prokurist.network_thread.connection_state import ConnectionState
from prokurist.network_thread.io.network import (
    Arrived,
    Connected,
    Happening,
    Lost,
    Network,
)
from prokurist.network_thread.io.resolver import Lookup, Resolver
from prokurist.network_thread.operation import Promise
from prokurist.network_thread.requests import Answer, Lane, Limits, Unsent
from prokurist.network_thread.timer import Timer
from prokurist.network_thread.wire.api_versions import ApiVersions
from prokurist.network_thread.wire.request import Request
from prokurist.network_thread.wire.versions import Versions
from prokurist.types import Node

Response = TypeVar("Response")


class NetworkClient:
    """See the module.

    Args:
        network: All that knows sockets.
        resolver: Looks hosts up, off this thread.
        timer: The Timer.
        limits: What bounds a connection.
        greeting: What a new connection says first.
        client_id: Said in every request.
        cap: What we may use of our own versions, in tests of old protocols.

    Attributes:
        on_disconnect: Called with the node and the error when a connection goes
            down against our wish, before its requests fail.
    """

    def __init__(
        self,
        network: Network,
        resolver: Resolver,
        timer: Timer,
        limits: Limits,
        greeting: ApiVersions,
        client_id: str,
        cap: Versions | None = None,
    ) -> None:
        self.on_disconnect: Callable[[Node, Lane, KafkaException], None] = ignore
        self._network = network
        self._resolver = resolver
        self._timer = timer
        self._limits = limits
        self._client_id = client_id
        self._greeting = greeting
        self._cap = cap
        self._connections: dict[tuple[int, Lane], Connection] = {}
        self._by_number: dict[int, Connection] = {}
        self._lookups: dict[Lookup, Connection] = {}
        self._numbers = 0

    def send(
        self,
        node: Node,
        request: Request[Response],
        *,
        call: Call | None = None,
        lane: Lane = Lane.GENERAL,
        effect: bool = False,
    ) -> Promise[Answer[Response]]:
        """Have a request sent, as soon as its connection can take it.

        Args:
            node: To whom.
            request: One of `wire`'s.
            call: Whose it is: asked for its claim before the request is written.
            lane: Beside which traffic.
            effect: Whether it changes something on the broker.

        Returns:
            The answer to come, or why there is none. Forsaking it takes an
            unwritten request back and abandons a written one.
        """
        unsent = Unsent(request, call, effect=effect)
        self._connection(node, lane).submit(unsent)
        return unsent.promise

    def _connection(self, node: Node, lane: Lane) -> Connection:
        key = (node.id, lane)
        connection = self._connections.get(key)
        if connection is not None and connection.node != node:
            # The broker has moved house; what still waits for the old address
            # fails and comes again.
            connection.close(
                DisconnectException(f"{connection.node} is {node} by now: its address changed")
            )
            connection = None
        if connection is None:
            connection = self._connections[key] = Connection(
                node,
                lane,
                owner=self,
                network=self._network,
                timer=self._timer,
                limits=self._limits,
                greeting=self._greeting,
                client_id=self._client_id,
                cap=self._cap,
            )
        return connection

    def flush(self) -> None:
        """Write what can be written."""
        for connection in tuple(self._connections.values()):
            connection.flush()

    def handle(self, happenings: Iterable[Happening]) -> None:
        """Take in what the network says has happened."""
        for happening in happenings:
            connection = self._by_number.get(happening.connection)
            # A number whose try is over says nothing to anybody any more; that
            # includes happenings of the same batch after their connection went down.
            if connection is None:
                continue
            if isinstance(happening, Arrived):
                connection.arrived(happening.frame)
            elif isinstance(happening, Connected):
                connection.connected()
            elif isinstance(happening, Lost):
                connection.lost(happening.error)
        for lookup in self._resolver.collect():
            waiting = self._lookups.pop(lookup, None)
            if waiting is not None:
                answer(lookup, waiting)

    # --- what connections ask of their owner -----------------------------------------

    def number(self, connection: Connection) -> int:
        """See `connection.Owner`."""
        self._forget(connection)
        self._numbers += 1
        self._by_number[self._numbers] = connection
        return self._numbers

    def resolve(self, connection: Connection) -> None:
        """See `connection.Owner`."""
        lookup = self._resolver.resolve(connection.node.host, connection.node.port)
        if lookup.done:
            answer(lookup, connection)
        else:
            self._lookups[lookup] = connection

    def ended(self, connection: Connection) -> None:
        """See `connection.Owner`."""
        self._forget(connection)

    def went_down(self, connection: Connection, error: KafkaException) -> None:
        """See `connection.Owner`."""
        self.on_disconnect(connection.node, connection.lane, error)

    def _forget(self, connection: Connection) -> None:
        for number in [n for n, each in self._by_number.items() if each is connection]:
            del self._by_number[number]
        for lookup in [each for each, waits in self._lookups.items() if waits is connection]:
            self._resolver.abandon(lookup)
            del self._lookups[lookup]

    # --- what managers ask -----------------------------------------------------------

    def least_loaded(self, nodes: Iterable[Node]) -> Node | None:
        """The node that a request to anybody goes to.

        The ready one with the fewest requests in flight; else one that is coming
        up; else one that may be tried. None while all of them are in a backoff or
        have asked for silence.
        """
        best: tuple[int, int] | None = None
        chosen: Node | None = None
        for node in nodes:
            connection = self._connections.get((node.id, Lane.GENERAL))
            if connection is not None and (connection.backing_off or connection.throttled):
                continue
            if connection is None or connection.state is ConnectionState.DOWN:
                rank = (2, 0)
            elif connection.state is ConnectionState.READY:
                rank = (0, connection.pipeline.in_flight + connection.pipeline.waiting)
            else:
                rank = (1, connection.pipeline.waiting)
            if best is None or rank < best:
                best, chosen = rank, node
        return chosen

    def next_chance(self, nodes: Iterable[Node]) -> float:
        """When the first of these nodes may be asked again."""
        moments = [
            connection.ready_at
            for node in nodes
            if (connection := self._connections.get((node.id, Lane.GENERAL))) is not None
        ]
        return min(moments, default=self._timer.now)

    def close(self, why: KafkaException) -> None:
        """Close every connection; whoever still waits hears why."""
        for connection in tuple(self._connections.values()):
            connection.close(why)
        self._connections.clear()

    @property
    def in_flight(self) -> int:
        """Requests written and unanswered."""
        return sum(each.pipeline.in_flight for each in self._connections.values())

    @property
    def waiting(self) -> int:
        """Requests submitted and not yet written."""
        return sum(each.pipeline.waiting for each in self._connections.values())

    def __repr__(self) -> str:
        return (
            f"NetworkClient({len(self._connections)} connections, {self.in_flight} in flight, "
            f"{self.waiting} unsent)"
        )


def answer(lookup: Lookup, connection: Connection) -> None:
    """Tell a connection what became of its look-up."""
    if lookup.error is not None:
        connection.unresolved(lookup.error)
    else:
        connection.resolved(lookup.addresses)


def ignore(node: Node, lane: Lane, error: KafkaException) -> None:
    """Nobody has asked to hear of disconnects yet."""
