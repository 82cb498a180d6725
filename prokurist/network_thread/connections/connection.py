"""One connection to one broker, for one kind of traffic.

From nothing to READY: resolve the host, connect to its addresses in turn, agree on keys
where TLS is wanted, ask the broker for its versions. What is said then is the business of
its Pipeline.

Thread: the network thread alone.

- Each try has a socket of its own number. Whatever happens to an older one finds
  no connection any more.
- Going down against our wish fails what is in flight and what waits: each
  operation decides for itself whether and where to try again.
- A new try after a failure waits for its backoff, and is made only when there is
  something to send.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import Final

from prokurist.errors import AuthenticationException, DisconnectException, KafkaException
from prokurist.events.log_events import (
    BROKER_PROTOCOL_ERROR,
    BROKER_REACHABLE,
    BROKER_THROTTLED,
    BROKER_UNREACHABLE,
    CONNECTION_CLOSED,
    CONNECTION_FAILED,
    CONNECTION_LOST,
    CONNECTION_OPENING,
    CONNECTION_READY,
)
from prokurist.events.trace import EventKind
from prokurist.network_thread.connections.connection_owner import Owner
from prokurist.network_thread.connections.connection_state import ConnectionState, transition
from prokurist.network_thread.connections.greeting import Greeting, as_disconnect
from prokurist.network_thread.connections.pipeline import Pipeline
from prokurist.network_thread.connections.requests import Expected, Lane, Limits, Unsent
from prokurist.network_thread.counters import TrafficCounters
from prokurist.network_thread.io.network import Network, SocketAddress
from prokurist.network_thread.operations.timer import Due, Timer
from prokurist.network_thread.wire.api_versions import ApiVersions
from prokurist.network_thread.wire.versions import Versions
from prokurist.types import Node

LONGEST_REFUSAL: Final = 10.0
"""Seconds between two tries of a connection that is refused while another one stands."""

LOOK_AGAIN: Final = 1.0
"""How soon at the soonest to look again whether a busy connection has become idle."""


class Connection:
    """See the module.

    Attributes:
        node: The broker; by its address alone until it is known.
        lane: Which kind of traffic.
        state: Where it stands.
        number: Of the present try's socket; -1 where there is none.
        pipeline: What is said on it.
        tried_at: When the last try to connect began.
        has_stand_in: Whether the broker refuses it while another connection to it stands.
        refused: Whether the last try ended by a refusal, and not by silence.
    """

    def __init__(
        self,
        node: Node,
        lane: Lane,
        *,
        owner: Owner,
        network: Network,
        timer: Timer,
        limits: Limits,
        greeting: ApiVersions,
        client_id: str,
        cap: Versions | None,
        counters: TrafficCounters,
    ) -> None:
        self.node: Node = node
        self.lane = lane
        self.state: ConnectionState = ConnectionState.DOWN
        self.number: int = -1
        self.pipeline: Pipeline = Pipeline(
            node,
            timer=timer,
            limits=limits,
            client_id=client_id,
            cap=cap,
            counters=counters,
            suspect=self.failed,
            state=self._doing,
        )
        self._owner = owner
        self._trace = owner.trace
        self._network = network
        self._timer = timer
        self._limits = limits
        self._counters = counters
        self._greeting = Greeting(
            greeting,
            client_id=client_id,
            cap=cap,
            network=network,
            timer=timer,
            pipeline=self.pipeline,
            counters=counters,
        )
        self._offered: Versions | None = None
        self._expected: Expected = ()
        self._addresses: deque[SocketAddress] = deque()
        self.tried_at: float = -math.inf
        self.has_stand_in: bool = False
        self.refused: bool = False
        self._failures = 0
        self._setup_failures = 0
        self._retry_at = -1.0
        self._setup: Due | None = None
        self._retry: Due | None = None
        self._idle: Due | None = None
        self._throttle: Due | None = None

    def submit(self, unsent: Unsent) -> None:
        """Queue a request; it is written as soon as that can be."""
        self.pipeline.submit(unsent)
        if self.state is ConnectionState.DOWN:
            self._open_when_allowed()

    def prepare(self, expected: Expected) -> None:
        """Come up, and know how to ask some things, before anybody asks them."""
        self._expected = expected
        if self._offered is not None:
            self.pipeline.prepare(expected, self._offered)
        elif self.state is ConnectionState.DOWN and not self.backing_off:
            self._open()

    def try_again(self) -> None:
        """Come up in the background, while another connection carries its requests."""
        pause = min(LONGEST_REFUSAL, 2.0 ** min(self._failures - 1, 10))
        if self.state is ConnectionState.DOWN and self._timer.now >= self.tried_at + pause:
            self._open()

    def is_to(self, node: Node) -> None:
        """The broker at its address has told its name."""
        self.node = self.pipeline.node = node

    def flush(self) -> None:
        """Write what can be written."""
        if self._offered is not None:
            number, network = self.number, self._network
            self.pipeline.flush(
                self._offered,
                lambda: network.writable(number),
                lambda frame: network.write(number, frame),
            )

    # --- the way up ----------------------------------------------------------------

    def _open_when_allowed(self) -> None:
        if self._timer.now >= self._retry_at:
            self._open()
        elif self._retry is None:
            self._retry = self._timer.at(
                self._retry_at, f"reconnect backoff of {self.node}", self._open_again
            )

    def _open_again(self) -> None:
        self._retry = None
        if self.pipeline.waiting and self.state is ConnectionState.DOWN:
            self._open_when_allowed()

    def _open(self) -> None:
        self._cancel_retry()
        self.tried_at = self._timer.now
        self._tell(CONNECTION_OPENING)
        self._move(ConnectionState.RESOLVING)
        self._limit_setup()
        self._owner.resolve(self)

    def resolved(self, addresses: Sequence[SocketAddress]) -> None:
        """The host's addresses are known."""
        if self.state is ConnectionState.RESOLVING:
            self._addresses = deque(addresses)
            self._next_address()

    def unresolved(self, error: KafkaException) -> None:
        """The host has none."""
        if self.state is ConnectionState.RESOLVING:
            self.failed(error)

    def _next_address(self) -> None:
        self._move(ConnectionState.CONNECTING)
        self._limit_setup()
        self.number = self._owner.number(self)
        self._network.connect(self.number, self._addresses.popleft(), self.node.host)

    def _limit_setup(self) -> None:
        self._cancel_setup()
        # Grows like a backoff: a broker that is slow to greet gets longer each time.
        self._setup = self._timer.after(
            self._limits.setup.pause(self._setup_failures + 1),
            f"socket.connection.setup.timeout.ms of {self.node}",
            self._setup_over,
        )

    def _cancel_setup(self) -> None:
        if self._setup is not None:
            self._timer.cancel(self._setup)
            self._setup = None

    def _cancel_retry(self) -> None:
        if self._retry is not None:
            self._timer.cancel(self._retry)
            self._retry = None

    def _setup_over(self) -> None:
        self._setup = None
        self.lost(
            DisconnectException(
                f"{self.node} was not ready within socket.connection.setup.timeout.ms: it "
                f"stayed {self.state.value}"
            )
        )

    def securing(self) -> None:
        """The socket is there, and the TLS handshake has begun."""
        self._move(ConnectionState.SECURING)

    def connected(self) -> None:
        """The socket is there, and TLS where it is wanted: greet."""
        self._move(ConnectionState.GREETING)
        try:
            self._greeting.begin(self.number)
        except KafkaException as error:
            # Our own greeting cannot be written, as with a client.id that the
            # protocol has no room for: no other address will mend that.
            self.failed(error)

    def _greeted(self, frame: memoryview) -> None:
        answer = self._greeting.answered(frame)
        if answer is None:
            return
        self._offered = answer.offered
        self._network.trust(self.number)
        self._cancel_setup()
        self.refused = False
        self._move(ConnectionState.READY)
        self._counters.opened += 1
        self._tell(CONNECTION_READY)
        if self._failures:
            self._trace.emit(BROKER_REACHABLE, node=self.node)
        self._failures = self._setup_failures = 0
        self.pipeline.used_at = self._timer.now
        self.pipeline.throttle(answer.throttle)
        self._watch_idleness(self._limits.idle)
        self._owner.greeted(answer)
        self.pipeline.prepare(self._expected, answer.offered)

    # --- what happens to the socket ------------------------------------------------

    def arrived(self, frame: memoryview) -> None:
        """A whole answer.

        Only reading it is a stranger's word and may fail; what operations do with
        it afterwards is ours, and an exception there is a bug.
        """
        try:
            if self.state is ConnectionState.GREETING:
                self._greeted(frame)
                arrival = None
            else:
                arrival = self.pipeline.match(frame)
        except KafkaException as error:
            untrusted = as_disconnect(self.node, error)
            self._trace.emit(BROKER_PROTOCOL_ERROR, node=self.node, error=untrusted)
            # Whoever greets like that may be a stranger at one of several addresses.
            self.lost(untrusted, told=True)
            return
        if arrival is not None:
            self.pipeline.settle(*arrival)
        if self.state is ConnectionState.READY and self.throttled:
            self._wait_for_throttle()

    def _wait_for_throttle(self) -> None:
        until = self.pipeline.throttled_until
        if self._throttle is not None:
            if self._throttle.live and self._throttle.at == until:
                return
            self._timer.cancel(self._throttle)
        pause = until - self._timer.now
        self._trace.emit(BROKER_THROTTLED, node=self.node, pause=pause)
        self._throttle = self._timer.at(until, f"{self.node} throttles us", self.flush)

    def lost(self, error: KafkaException, *, told: bool = False) -> None:
        """The socket is gone; another address of the host may still do.

        Not where authentication failed: each address leads to the same broker.
        """
        refused = isinstance(error, AuthenticationException)
        if self._addresses and self.state in COMING_UP and not refused:
            self._network.close(self.number)
            self._next_address()
        else:
            self.failed(error, told=told)

    def failed(self, error: KafkaException, *, told: bool = False) -> None:
        """Down, against our wish; what is wrong with the broker may be told already."""
        stood = self.state is ConnectionState.READY
        since = self.pipeline.unanswered_since if stood else self.tried_at
        # While its limit runs, a setup has not ended by silence.
        self.refused = not stood and self._setup is not None
        self._down()
        self._failures += 1
        unaccepted = isinstance(error, AuthenticationException)
        reconnect = self._limits.reconnect
        # Credentials do not mend within milliseconds, and tries in quick succession may
        # lock an account.
        pause = reconnect.most if unaccepted else reconnect.pause(self._failures)
        self._retry_at = self._timer.now + pause
        if stood:
            self._tell(CONNECTION_LOST, error=error)
        else:
            # A live connection that drops says nothing of how long a setup takes.
            self._setup_failures += 1
            self._counters.failed += 1
            self._tell(CONNECTION_FAILED, error=error, pause=pause)
            if not unaccepted and self._owner.take_over(self, error):
                return
            if not told:
                self._trace.emit(BROKER_UNREACHABLE, node=self.node, error=error)
        self._owner.went_down(self, error, since)
        self.pipeline.fail(error)

    # --- the way down --------------------------------------------------------------

    def _watch_idleness(self, seconds: float) -> None:
        self._idle = self._timer.after(
            seconds, f"connections.max.idle.ms of {self.node}", self._close_if_idle
        )

    def _close_if_idle(self) -> None:
        # A use is not worth a move of the entry: it looks when it comes up.
        idle = self._limits.idle
        if self.pipeline.in_flight or self.pipeline.waiting:
            self.pipeline.used_at = self._timer.now
            self._watch_idleness(max(idle, LOOK_AGAIN))
            return
        left = self.pipeline.used_at + idle - self._timer.now
        if left > 0:
            self._watch_idleness(left)
        else:
            self._down()
            self._tell(CONNECTION_CLOSED, reason="it was idle")

    def close(self, why: KafkaException) -> None:
        """Down, by our wish: whoever still waits hears why."""
        if self.state is not ConnectionState.DOWN:
            self._down()
            self._tell(CONNECTION_CLOSED, reason=str(why))
        self._cancel_retry()
        self.pipeline.fail(why)

    def _down(self) -> None:
        self._counters.closed += self.state is ConnectionState.READY
        self._move(ConnectionState.DOWN)
        self._network.close(self.number)
        self._owner.ended(self)
        self.number = -1
        self._addresses.clear()
        self._cancel_setup()
        for due in (self._idle, self._throttle):
            if due is not None:
                self._timer.cancel(due)
        self._idle = self._throttle = None
        self._offered = None

    def _move(self, state: ConnectionState) -> None:
        self.state = transition(self.state, state)

    def _tell(self, kind: EventKind, **values: object) -> None:
        self._trace.emit(kind, node=self.node, lane=self.lane.value, **values)

    # --- what others ask -----------------------------------------------------------

    def _doing(self) -> str:
        return "throttled" if self.throttled else self.state.value

    @property
    def backing_off(self) -> bool:
        """Whether a try would have to wait for its backoff."""
        return self.state is ConnectionState.DOWN and self._timer.now < self._retry_at

    @property
    def ready_at(self) -> float:
        """When a request may be tried: after its backoff, and after the broker's silence."""
        backoff = self._retry_at if self.state is ConnectionState.DOWN else self._timer.now
        return max(backoff, self.pipeline.throttled_until, self._timer.now)

    @property
    def throttled(self) -> bool:
        """Whether the broker has asked for silence."""
        return self._timer.now < self.pipeline.throttled_until

    def __repr__(self) -> str:
        return (
            f"Connection({self.node}, {self.lane.value}, {self.state.value}, "
            f"{self.pipeline.in_flight} in flight, {self.pipeline.waiting} unsent)"
        )


COMING_UP: Final = frozenset(
    {ConnectionState.CONNECTING, ConnectionState.SECURING, ConnectionState.GREETING}
)


def leave(former: Connection | None, connection: Connection) -> None:
    """Close the connection whose place another has taken: its broker has moved house.

    What still waits there fails and may come again at once: the new one is in use by then.
    """
    if former is not None and former is not connection:
        moved = f"{former.node} is {connection.node} by now: its address changed"
        former.close(DisconnectException(moved))


def same_address(one: Node, other: Node) -> bool:
    """Whether a connection to the one is a connection to the other; racks may differ."""
    return (one.host, one.port) == (other.host, other.port)
