"""One connection to one broker, for one kind of traffic.

From nothing to READY: resolve the host, connect to its addresses in turn, make a TLS handshake
if configured, ask the broker for its versions. Its Pipeline handles all further requests.

Thread: the network thread alone.

- Each try has a socket of its own number: events of older ones find no connection.
- A loss of the connection fails requests in flight and waiting ones: each operation decides for
  itself about another try.
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
    CONNECTION_CLOSED,
    CONNECTION_FAILED,
    CONNECTION_LOST,
    CONNECTION_OPENING,
    CONNECTION_READY,
)
from prokurist.events.trace import EventKind
from prokurist.network_thread.connections.authentication import Authentication, Authenticator
from prokurist.network_thread.connections.connection_owner import ConnectionOwner
from prokurist.network_thread.connections.connection_state import (
    COMING_UP,
    ConnectionState,
    transition,
)
from prokurist.network_thread.connections.greeting import Greeting, as_disconnect
from prokurist.network_thread.connections.idleness import Idleness
from prokurist.network_thread.connections.pipeline import Pipeline
from prokurist.network_thread.connections.requests import Expected, Lane, Limits, Unsent
from prokurist.network_thread.connections.throttle_wait import ThrottleWait
from prokurist.network_thread.counters import TrafficCounters
from prokurist.network_thread.io.network import Network, SocketAddress
from prokurist.network_thread.operations.timer import Due, Timer
from prokurist.network_thread.wire.api_versions import ApiVersions, ApiVersionsAnswer
from prokurist.network_thread.wire.versions import Versions
from prokurist.types import Node

LONGEST_REFUSAL: Final = 10.0
"""Seconds between two tries of a connection that is refused while another one stands."""


class Connection:
    """One connection to a broker, for one lane of traffic; opened again when it is needed.

    Attributes:
        node: The broker; by its address alone until it is known.
        lane: Its lane of traffic.
        state: Where it stands.
        number: Of the present try's socket; -1 where there is none.
        pipeline: Its requests and answers.
        tried_at: When the last try to connect began.
        has_stand_in: True if the broker refuses it while another connection stands.
        refused: True if the broker refused the last connect, rather than stay silent.
    """

    def __init__(
        self,
        node: Node,
        lane: Lane,
        *,
        owner: ConnectionOwner,
        network: Network,
        timer: Timer,
        limits: Limits,
        greeting: ApiVersions,
        client_id: str,
        cap: Versions | None,
        counters: TrafficCounters,
        authenticator: Authenticator | None,
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
            flush=self.flush,
            state=self._obstacle,
            arriving=lambda: network.arriving(self.number),
        )
        self._idleness = Idleness(self.pipeline, timer, limits.idle, self._close_unused)
        self._owner = owner
        self._trace = owner.trace
        self._throttle_wait = ThrottleWait(self.pipeline, timer, owner.trace, self.flush)
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
        self._authentication: Authentication | None = None
        if authenticator is not None:
            self._authentication = Authentication(
                authenticator, self.pipeline, timer, lambda: owner.press(self)
            )
        self._greeted_with: ApiVersionsAnswer | None = None
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

    def submit(self, unsent: Unsent) -> None:
        """Queue a request, and connect if the connection is down."""
        self.pipeline.submit(unsent)
        if self.state is ConnectionState.DOWN:
            self._open_when_allowed()

    def prepare(self, expected: Expected) -> None:
        """Connect, and prepare the codecs of some requests, before they are sent."""
        before, self._expected = self._expected, expected
        if self._offered is not None:
            if expected != before:
                self.pipeline.prepare(expected, self._offered)
        elif self.state is ConnectionState.DOWN and not self.backing_off:
            self._open()

    def try_again(self) -> None:
        """Connect in the background, while another connection carries its requests."""
        pause = min(LONGEST_REFUSAL, 2.0 ** min(self._failures - 1, 10))
        if self.state is ConnectionState.DOWN and self._timer.now >= self.tried_at + pause:
            self._open()

    def is_to(self, node: Node) -> None:
        """Take the node id of the broker at this address, once it is known."""
        self.node = self.pipeline.node = node

    def flush(self) -> None:
        """Write queued requests, as far as the socket takes them."""
        sasl = self._authentication
        if sasl is not None and self.state is ConnectionState.READY and sasl.is_due:
            sasl.begin(self._authenticated_again, within=self._limits.setup.pause(1))
        if self._offered is not None:
            number, network = self.number, self._network
            self.pipeline.flush(
                self._offered,
                lambda: network.writable(number),
                lambda frame: network.write(number, frame),
            )

    # --- the way up ----------------------------------------------------------------

    def _open_when_allowed(self) -> None:
        if not self.backing_off:
            self._open()
        elif self._retry is None:
            self._retry = self._timer.at(
                self._tried_next, f"reconnect backoff of {self.node}", self.open_again
            )

    def open_again(self) -> None:
        """Retry waiting requests, if that is allowed by now."""
        self._cancel_retry()
        if self.pipeline.waiting and self.state is ConnectionState.DOWN:
            self._open_when_allowed()

    def _open(self) -> None:
        self._cancel_retry()
        self.tried_at = self._timer.now
        self._owner.refusals.trying(self.node)
        self._tell(CONNECTION_OPENING)
        self._move(ConnectionState.RESOLVING)
        self._limit_setup()
        self._owner.resolve(self)

    def resolved(self, addresses: Sequence[SocketAddress]) -> None:
        """Connect to the addresses that the host was resolved to."""
        if self.state is ConnectionState.RESOLVING:
            self._addresses = deque(addresses)
            self._next_address()

    def unresolved(self, error: KafkaException) -> None:
        """Fail, since the host has no addresses."""
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
                f"stayed {self._stage()}"
            )
        )

    def securing(self) -> None:
        """Note that TCP is connected, and the TLS handshake has begun."""
        self._move(ConnectionState.SECURING)

    def _stage(self) -> str:
        """Stage of connecting reached by an attempt."""
        sasl = self._authentication
        waits = "" if sasl is None else sasl.waits_for
        return f"{self.state.value}, and waited for {waits}" if waits else self.state.value

    def _obstacle(self) -> str:
        """Return the obstacle of queued requests, or the stage of connecting."""
        if self.throttled:
            return "throttled"
        if self.state is not ConnectionState.READY:
            return self._stage()
        if self.pipeline.holds:
            return "authenticating again"
        if self.pipeline.is_busy:
            return f"busy: requests in flight without an answer: {self.pipeline.in_flight}"
        return "full: the broker does not read what was written before"

    def connected(self) -> None:
        """Send ApiVersions: TCP is connected, and TLS where it is used."""
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
        self._offered, self._greeted_with = answer.offered, answer
        if self._authentication is None:
            self._is_ready(answer)
        else:
            self._move(ConnectionState.AUTHENTICATING)
            self._authentication.begin(self._authenticated)

    def _authenticated(self, error: KafkaException | None) -> None:
        """Get ready after the first authentication, or fail."""
        answer = self._greeted_with
        if self.state is not ConnectionState.AUTHENTICATING or answer is None:
            return  # It is down, for the very error that ended this.
        if error is None:
            self._counters.authenticated.observe(self._sasl_seconds)
            self._is_ready(answer)
        else:
            self.lost(error)

    def _authenticated_again(self, error: KafkaException | None) -> None:
        """Go on writing after a session was renewed (KIP-368), or fail."""
        if self.state is not ConnectionState.READY:
            return
        if error is None:
            self._counters.reauthenticated.observe(self._sasl_seconds)
            self._owner.press(self)
        else:
            self._counters.renewals_refused += isinstance(error, AuthenticationException)
            # What waits is tried again over a new connection; where that is refused too, it
            # is told so.
            self.failed(as_disconnect(self.node, error))

    @property
    def _sasl_seconds(self) -> float:
        """Duration of the authentication that has just ended."""
        sasl = self._authentication
        return 0.0 if sasl is None else self._timer.now - sasl.began_at

    def _is_ready(self, answer: ApiVersionsAnswer) -> None:
        self._greeted_with = None
        self._network.trust(self.number)
        self._cancel_setup()
        self.refused = False
        self._move(ConnectionState.READY)
        self._counters.opened += 1
        self._tell(CONNECTION_READY)
        self._failures = self._setup_failures = 0
        self._idleness.begin()
        self.pipeline.throttle(answer.throttle)
        self._owner.greeted(self, answer)
        self._owner.refusals.accepted(self)
        self.pipeline.prepare(self._expected, answer.offered)

    # --- what happens to the socket ------------------------------------------------

    def arrived(self, frame: memoryview) -> None:
        """Take a whole answer.

        Only reading it depends on a peer's bytes and may fail; the operations that go on with
        it are ours, and an exception there is a bug.
        """
        try:
            if self.state is ConnectionState.GREETING:
                self._greeted(frame)
                arrival = None
            else:
                arrival = self.pipeline.match(frame)
        except KafkaException as error:
            self.lost(as_disconnect(self.node, error), strange=True)
            return
        if arrival is not None:
            self.pipeline.settle(*arrival)
        if self.state is ConnectionState.READY and self.throttled:
            self._throttle_wait.begin()

    def lost(self, error: KafkaException, *, strange: bool = False) -> None:
        """Handle the loss of the socket: try the host's next address, or fail.

        Except after a failed authentication: each address leads to the same broker. A peer that
        sends anything but answers may be no broker at all, at one of several addresses.
        """
        if strange:
            self._trace.emit(BROKER_PROTOCOL_ERROR, node=self.node, error=error)
        refused = isinstance(error, AuthenticationException)
        if self._addresses and self.state in COMING_UP and (strange or not refused):
            if self._authentication is not None:
                self._authentication.stop()
                self.pipeline.begin_again()
            self._network.close(self.number)
            self._offered = None
            self._next_address()
        else:
            self.failed(error, told=strange)

    def failed(self, error: KafkaException, *, told: bool = False) -> None:
        """Go down with an error, and back off."""
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
            self._counters.refused += unaccepted
            self._tell(CONNECTION_FAILED, error=error, pause=pause)
            if not unaccepted and self._owner.take_over(self, error):
                return
            if not told:
                self._owner.unreachable(self, error)
        self._owner.went_down(self, error, since)
        if unaccepted:
            self._owner.refusals.refused(self, error)
        self.pipeline.fail(error)

    # --- the way down --------------------------------------------------------------

    def _close_unused(self) -> None:
        self._down()
        self._tell(CONNECTION_CLOSED, reason="it was idle")

    def close(self, why: KafkaException) -> None:
        """Close it on our side; the requests that still wait fail with this error."""
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
        if self._authentication is not None:
            self._authentication.stop()
        self._idleness.end()
        self._throttle_wait.end()
        self._offered = self._greeted_with = None

    def _move(self, state: ConnectionState) -> None:
        self.state = transition(self.state, state)

    def _tell(self, kind: EventKind, **values: object) -> None:
        self._trace.emit(kind, node=self.node, lane=self.lane.value, **values)

    # --- what others ask -----------------------------------------------------------

    @property
    def backing_off(self) -> bool:
        """True if another try has to wait for its backoff."""
        return self.state is ConnectionState.DOWN and self._timer.now < self._tried_next

    @property
    def _tried_next(self) -> float:
        """When the next try may begin."""
        return max(self._retry_at, self._owner.refusals.until(self.node))

    @property
    def ready_at(self) -> float:
        """When a request may be tried: after its backoff, and after the broker's silence."""
        backoff = self._tried_next if self.state is ConnectionState.DOWN else self._timer.now
        return max(backoff, self.pipeline.throttled_until, self._timer.now)

    @property
    def throttled(self) -> bool:
        """True while the broker throttles this client (KIP-219)."""
        return self._timer.now < self.pipeline.throttled_until

    def __repr__(self) -> str:
        return f"Connection({self.lane.value}, {self.state.value}, {self.pipeline!r})"
