"""The network client: keeps connections, and hands answers to their requesters.

Thread: the network thread alone.

Managers hand in a request, a node and a lane, and get a promise. Everything below
that promise is settled here and in the connections: opening, queueing, writing,
matching answers, and telling every promise that is left when a connection goes.
"""

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from prokurist.errors import DisconnectException, KafkaException
from prokurist.events.outage_log_events import CONNECTION_ACCEPTED, CONNECTION_REFUSED
from prokurist.events.reachability import Reachability
from prokurist.events.trace import UNREAD, Trace
from prokurist.network_thread.connections.addresses import leave, same_address
from prokurist.network_thread.connections.authentication import Authenticator
from prokurist.network_thread.connections.connection import Connection
from prokurist.network_thread.connections.connection_choice import ConnectionChoice
from prokurist.network_thread.connections.connection_state import ConnectionState
from prokurist.network_thread.connections.features import Features
from prokurist.network_thread.connections.lookups import Lookups
from prokurist.network_thread.connections.reach import Reach
from prokurist.network_thread.connections.refusals import Refusals
from prokurist.network_thread.connections.requests import (
    Answer,
    Claimant,
    Expected,
    Lane,
    Limits,
    Unsent,
)
from prokurist.network_thread.counters import TrafficCounters
from prokurist.network_thread.io.network import (
    Arrived,
    Connected,
    Happening,
    Lost,
    Network,
    Securing,
)
from prokurist.network_thread.io.resolver import HostLookups
from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.operations.signal import Signal
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.api_versions import ApiVersions, ApiVersionsAnswer
from prokurist.network_thread.wire.request import Request
from prokurist.network_thread.wire.versions import Versions
from prokurist.types import Node

Response = TypeVar("Response")


class NetworkClient(ConnectionChoice):
    """Sends requests over connections by broker and lane, and keeps those connections.

    Args:
        network: All that knows sockets.
        resolver: Looks hosts up, off this thread.
        timer: The Timer.
        limits: Bounds of a connection.
        greeting: The first exchange of a new connection.
        client_id: Said in every request.
        draw: Draws between brokers that are equal.
        cap: Upper bounds on versions, in tests of old protocols.
        trace: The client's trace.
        authenticator: Authenticates its connections; None where SASL is not wanted.

    Attributes:
        disconnected: Emits node, lane, error and the time of its last answer when a
            connection goes down against our wish, before its requests fail.
        features: Finalised features of the cluster.
        counters: Counters of requests and connections.
        reachability: Since when no broker can be reached, for readers on any thread.
        refusals: Brokers that have refused the client.
    """

    def __init__(
        self,
        network: Network,
        resolver: HostLookups,
        timer: Timer,
        limits: Limits,
        greeting: ApiVersions,
        client_id: str,
        draw: Callable[[], float],
        cap: Versions | None = None,
        trace: Trace = UNREAD,
        authenticator: Authenticator | None = None,
    ) -> None:
        self.trace: Trace = trace
        self.disconnected: Signal[Node, Lane, KafkaException, float] = Signal()
        self.features: Features = Features()
        self.counters: TrafficCounters = TrafficCounters()
        self.reachability: Reachability = Reachability()
        self._network = network
        self._lookups = Lookups(resolver, timer, limits)
        self._timer = timer
        self._limits = limits
        self._client_id = client_id
        self._greeting = greeting
        self._draw = draw
        self._cap = cap
        self._authenticator = authenticator
        self._connections: dict[tuple[int, Lane], Connection] = {}
        self._reach = Reach(self.reachability, self._connections, timer, limits, trace)
        self.refusals: Refusals = Refusals(self._connections, timer, limits.reconnect.most)
        self._by_number: dict[int, Connection] = {}
        # Those with something unsent, in the order in which they got it; a turn
        # looks at no other.
        self._pressing: dict[Connection, None] = {}
        self._numbers = 0
        self._closed: KafkaException | None = None

    def send(
        self,
        node: Node,
        request: Request[Response],
        *,
        call: Claimant | None = None,
        lane: Lane = Lane.GENERAL,
        effect: bool = False,
        patience: float | None = None,
        any_broker: bool = False,
        answered: bool = True,
        late: Callable[[Response], None] | None = None,
    ) -> Promise[Answer[Response]]:
        """Send a request, and await its answer.

        Args:
            node: To whom.
            request: One of `wire`'s.
            call: Its call, which claims the request before it is written.
            lane: The lane of traffic.
            effect: True if it changes state on the broker.
            patience: Seconds that its answer may take, for requests that a broker parks longer
                than `request.timeout.ms`; None for just that.
            any_broker: Another broker would do as well: it fails if it cannot be
                written soon.
            answered: False if the broker sends no answer: it is None once written.
            late: Called with an answer that comes when the request was abandoned; None to
                drop it.

        Returns:
            The answer to come, or why there is none. Forsaking it takes an
            unwritten request back and abandons a written one.
        """
        unsent = Unsent(
            request,
            call,
            effect=effect,
            patience=patience,
            any_broker=any_broker,
            lane=lane,
            answered=answered,
            late=late,
        )
        if self._closed is not None:
            # An operation that close has failed may well try again before its end.
            unsent.promise.break_(self._closed)
            return unsent.promise
        former = self._connections.get((node.id, lane))
        own = self._at(node, lane)
        connection = self._carrier(own)
        self._pressing[connection] = None
        connection.submit(unsent)
        leave(former, own)
        return unsent.promise

    def prepare(self, node: Node, lane: Lane, expected: Expected) -> None:
        """Connect to a node, and prepare the codecs of some requests, ahead of them.

        Best effort: where that fails, the later request tries again.
        """
        if self._closed is None:
            former = self._connections.get((node.id, lane))
            connection = self._at(node, lane)
            connection.prepare(expected)
            leave(former, connection)

    def _at(self, node: Node, lane: Lane) -> Connection:
        """The connection to the address that a node has."""
        key = (node.id, lane)
        found = self._connections.get(key)
        if found is None or not same_address(found.node, node):
            found = self._taken_over(node, lane) or self._new(node, lane)
            self._connections[key] = found
        return found

    def _taken_over(self, node: Node, lane: Lane) -> Connection | None:
        """The bootstrap connection to this node's address, if one is ready."""
        for (number, its_lane), each in self._connections.items():
            stands = number < 0 <= node.id and each.state is ConnectionState.READY
            if stands and its_lane is lane and same_address(each.node, node):
                del self._connections[number, its_lane]
                each.is_to(node)
                return each
        return None

    def _carrier(self, own: Connection) -> Connection:
        """The connection that carries the requests of one: itself, unless it was refused."""
        if not own.has_stand_in:
            return own
        other = self._stand_in(own)
        if own.state is not ConnectionState.READY:
            own.try_again()
        elif other is None or not other.pipeline.carries(own.lane):
            # Not before: what was sent earlier is answered earlier.
            own.has_stand_in = False
            self.trace.emit(CONNECTION_ACCEPTED, node=own.node)
            return own
        return other or own

    def _new(self, node: Node, lane: Lane) -> Connection:
        return Connection(
            node,
            lane,
            owner=self,
            network=self._network,
            timer=self._timer,
            limits=self._limits,
            greeting=self._greeting,
            client_id=self._client_id,
            cap=self._cap,
            counters=self.counters,
            authenticator=self._authenticator,
        )

    def flush(self) -> None:
        """Write the queued requests of all connections, as far as possible."""
        for connection in tuple(self._pressing):
            connection.flush()
            if not connection.pipeline.waiting:
                self._pressing.pop(connection, None)
        self.counters.unsent = sum(each.pipeline.waiting for each in self._pressing)

    def handle(self, happenings: Iterable[Happening]) -> None:
        """Pass the network's events on to their connections."""
        for happening in happenings:
            connection = self._by_number.get(happening.connection)
            # A number whose try is over has no receiver any more; that
            # includes happenings of the same batch after their connection went down.
            if connection is None:
                continue
            if isinstance(happening, Arrived):
                self._reach.arrived(connection)
                connection.arrived(happening.frame)
            elif isinstance(happening, Securing):
                connection.securing()
            elif isinstance(happening, Connected):
                connection.connected()
            elif isinstance(happening, Lost):
                connection.lost(happening.error, strange=happening.strange)
        self._lookups.collect()
        if self._authenticator is not None:
            self._authenticator.collect()

    # --- what connections ask of their owner -----------------------------------------

    def number(self, connection: Connection) -> int:
        """Give an attempt of a connection a new number."""
        self._forget(connection)
        self._numbers += 1
        self._by_number[self._numbers] = connection
        return self._numbers

    def resolve(self, connection: Connection) -> None:
        """Look up the connection's host."""
        self._lookups.resolve(connection)

    def press(self, connection: Connection) -> None:
        """Have the connection flushed in this turn."""
        self._pressing[connection] = None

    def greeted(self, connection: Connection, answer: ApiVersionsAnswer) -> None:
        """Note that a broker was reached, and the features that it told."""
        self._reach.connected(connection)
        self.features.told(answer)

    def take_over(self, connection: Connection, error: KafkaException) -> bool:
        """Move the requests of a refused connection to a stand-in, if there is one."""
        other = self._stand_in(connection)
        if other is None:
            return False
        connection.has_stand_in = True
        lanes = {"lane": connection.lane.value, "other": other.lane.value}
        self.trace.emit(CONNECTION_REFUSED, node=connection.node, error=error, **lanes)
        self._pressing[other] = None
        connection.pipeline.hand_over(other.pipeline)
        return True

    def unreachable(self, connection: Connection, error: KafkaException) -> None:
        """Tell of a try to connect that has failed."""
        self._reach.unreachable(connection, error)

    def ended(self, connection: Connection) -> None:
        """Forget the number of a connection's attempt."""
        self._forget(connection)

    def went_down(self, connection: Connection, error: KafkaException, since: float) -> None:
        """Note a lost connection, and emit `disconnected`."""
        self._reach.went_down(connection, error, since)
        self.disconnected.emit(connection.node, connection.lane, error, since)

    def _forget(self, connection: Connection) -> None:
        self._by_number.pop(connection.number, None)
        self._lookups.forget(connection)

    # --- what managers ask -----------------------------------------------------------

    def canonical_names(self, host: str, port: int) -> Promise[tuple[str, ...]]:
        """The names that the addresses of a host bear; see `Lookups.canonical_names`."""
        return self._lookups.canonical_names(host, port)

    def release(self, node: Node, lane: Lane) -> None:
        """Close a connection that is not needed for some time, unless it is in use."""
        own = self._connections.get((node.id, lane))
        if own is not None and not own.pipeline.in_flight and not own.pipeline.waiting:
            own.close(DisconnectException("what it was for is over"))

    def forget(self, others_than: Collection[int], asked: Collection[int]) -> None:
        """Close connections to nodes that are gone, unless an answer is due; ask but these.

        Node ids may come and go for as long as a client lives; its memory does not grow by
        that.
        """
        self._reach.wants(asked)
        for key, connection in tuple(self._connections.items()):
            busy = connection.pipeline.in_flight or connection.pipeline.waiting
            if key[0] not in others_than and not busy:
                connection.close(DisconnectException(f"{connection.node} has left the cluster"))
                self._pressing.pop(connection, None)
                del self._connections[key]

    def close(self, why: KafkaException) -> None:
        """Close every connection; pending and later requests fail with this error."""
        self._closed = why
        try:
            for connection in tuple(self._connections.values()):
                connection.close(why)
        finally:
            self._connections.clear()
            self._pressing.clear()
            self._lookups.close()
            if self._authenticator is not None:
                self._authenticator.close()

    def __repr__(self) -> str:
        return (
            f"NetworkClient({len(self._connections)} connections, {self.in_flight} in flight, "
            f"{self.waiting} unsent)"
        )
