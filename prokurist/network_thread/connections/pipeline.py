"""The requests of one connection: written in order, answered in order.

Thread: the network thread alone.

- A request is encoded and claimed in the same step in which it is written, and only when the
  socket can take it. Until then it is only an entry in a queue, and its caller may take it
  back.
- There are two ways to give up. The caller's time is over: the attempt is abandoned, it stays
  in flight, and its answer is dropped (`late_answers`). The request's time is over
  (`request.timeout.ms`): the connection is suspect, goes down, and everything in flight fails
  in the order of sending.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from prokurist.errors import (
    DisconnectException,
    KafkaException,
    TimeoutException,
    UnsupportedVersionException,
)
from prokurist.events.call import DISCONNECTED
from prokurist.network_thread.connections.late_answers import LateAnswers
from prokurist.network_thread.connections.requests import (
    ANOTHER_AFTER,
    Answer,
    Expected,
    Lane,
    Limits,
    Sent,
    Unsent,
)
from prokurist.network_thread.connections.unanswered import time_allowed, unanswered
from prokurist.network_thread.counters import TrafficCounters
from prokurist.network_thread.operations.operation import Withdrawn
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire import codec
from prokurist.network_thread.wire.apis import Api
from prokurist.network_thread.wire.failures import UnsendableRequest
from prokurist.network_thread.wire.versions import Versions, negotiate
from prokurist.types import Node

ANSWERED: Final = "answered"

LARGEST_INT32: Final = 0x7FFF_FFFF


class Pipeline:
    """A connection's queue of requests, and those in flight, in order.

    Args:
        node: Whom the requests go to.
        timer: The Timer.
        limits: How long each may take, and how many at once.
        client_id: Said in every request.
        cap: Upper bounds on versions, in tests of old protocols.
        counters: The client's.
        suspect: Called when a request has been in flight for too long.
        flush: Writes what the connection takes.
        state: Says where the connection stands, for an error's text.
        arriving: How far the present answer has come; see `Network.arriving`.

    Attributes:
        node: Whom the requests go to.
        holds: True if only requests submitted ahead are written.
        late_answers: Drops the answers to abandoned requests.
    """

    def __init__(
        self,
        node: Node,
        *,
        timer: Timer,
        limits: Limits,
        client_id: str,
        cap: Versions | None,
        counters: TrafficCounters,
        suspect: Callable[[KafkaException], None],
        flush: Callable[[], None],
        state: Callable[[], str],
        arriving: Callable[[], tuple[int, int] | None] = lambda: None,
    ) -> None:
        self.late_answers: LateAnswers = LateAnswers(node, counters)
        self.throttled_until: float = 0.0
        self.used_at: float = timer.now
        self.node: Node = node
        self._timer = timer
        self._limits = limits
        self._client_id = client_id
        self._cap = cap
        self._counters = counters
        self._suspect = suspect
        self._flush = flush
        self._state = state
        self._arriving = arriving
        self._correlation = 0
        self.holds: bool = False
        self._ahead: deque[Unsent] = deque()
        self._unsent: deque[Unsent] = deque()
        self._sent: deque[Sent] = deque()
        self._unconfirmed: deque[Sent] = deque()

    def submit(self, unsent: Unsent) -> None:
        """Queue a request, to be written when its turn comes."""
        unsent.promise.on_forsaken = lambda: self._take_back(unsent)
        unsent.since = self._timer.now
        if unsent.any_broker or unsent.call is None:
            # A call's own deadline bounds its requests; those without a call
            # must not wait in the queue for ever either.
            longest = self._limits.request
            if unsent.any_broker:
                longest = min(ANOTHER_AFTER, longest)
            unsent.due = self._timer.after(
                longest,
                f"{unsent.request.api.name} unsent to {self.node}",
                lambda: self._expire(unsent, longest),
            )
        self._unsent.append(unsent)

    def submit_ahead(self, unsent: Unsent) -> None:
        """Queue a request of the connection's own, before all others.

        It waits behind the requests in flight; a broker may park some of them for minutes.
        """
        now = self._timer.now
        dues = [each.due.at for each in self._sent if each.due is not None]
        unsent.patience = max(dues, default=now) - now + self._limits.request
        unsent.promise.on_forsaken = lambda: self._take_back(unsent)
        unsent.since = self._timer.now
        self._ahead.append(unsent)

    def begin_again(self) -> None:
        """Forget requests in flight: they were the connection's own, and its socket is gone."""
        sent, self._sent = self._sent, deque()
        for each in sent:
            if each.due is not None:
                self._timer.cancel(each.due)

    def correlate(self) -> int:
        """The next correlation id; 0 follows the largest."""
        self._correlation = (self._correlation + 1) & LARGEST_INT32
        return self._correlation

    def prepare(self, expected: Expected, offered: Versions) -> None:
        """Prepare the codecs of some requests before they are sent."""
        for each in expected:
            api = each if isinstance(each, Api) else each.api
            # What this broker does not know will not be asked of it.
            with suppress(UnsupportedVersionException):
                codec.prepare(api, negotiate(each, offered, self._cap))

    def flush(
        self,
        offered: Versions,
        writable: Callable[[], bool],
        write: Callable[[bytes | bytearray], None],
    ) -> None:
        """Write queued requests, as far as the socket takes them."""
        queue = self._ahead if self.holds else self._unsent
        while (
            queue
            and self._timer.now >= self.throttled_until
            and not self.is_busy
            and writable()
        ):
            self._write(queue.popleft(), offered, write)
        if self._unconfirmed and writable():
            self._confirm()

    def _confirm(self) -> None:
        """End requests without an answer: the kernel has taken them."""
        written, self._unconfirmed = self._unconfirmed, deque()
        for sent in written:
            self._end(sent)
            sent.unsent.promise.keep(Answer(None, sent.attempt, self.node))

    def _write(
        self, unsent: Unsent, offered: Versions, write: Callable[[bytes | bytearray], None]
    ) -> None:
        if unsent.due is not None:
            self._timer.cancel(unsent.due)
        request = unsent.request
        correlation = self.correlate()
        try:
            version = negotiate(request, offered, self._cap)
            frame = codec.encode(request, version, correlation, self._client_id)
        except (UnsupportedVersionException, UnsendableRequest) as error:
            # This cannot be asked, or not of this broker; nothing has been written.
            unsent.promise.break_(error)
            return
        attempt = None
        if unsent.call is not None:
            attempt = unsent.call.claim(
                request.api.name, str(self.node), self._timer.now, effect=unsent.effect
            )
            if attempt is None:
                unsent.promise.break_(Withdrawn("the caller has left"))
                return
        sent = Sent(unsent, correlation, version, len(frame), attempt, self._timer.now)
        patience = self._limits.request if unsent.patience is None else unsent.patience
        self._limit(sent, self._timer.now + patience)
        unsent.promise.on_forsaken = lambda: self.late_answers.abandon(sent)
        (self._sent if unsent.answered else self._unconfirmed).append(sent)
        self.used_at = self._timer.now
        write(frame)
        self._counters.queued.observe(sent.began - unsent.since)
        self._counters.wrote(self.node.id, request.api.name, len(frame), sent.began)

    def _limit(self, sent: Sent, at: float) -> None:
        name = sent.unsent.request.api.name
        if sent.due is not None:
            self._timer.cancel(sent.due)
        sent.due = self._timer.at(
            at,
            f"the answer to {name} from {self.node}",
            lambda: self._suspect(self._overdue(sent)),
        )

    def _overdue(self, sent: Sent) -> DisconnectException:
        """The error of a request that has taken too long."""
        # What comes is the answer to the oldest request.
        arriving = self._arriving() if sent is self._sent[0] else None
        within = time_allowed(sent, self._limits.request)
        return unanswered(sent, self.node, within, arriving)

    def _take_back(self, unsent: Unsent) -> None:
        if unsent.due is not None:
            self._timer.cancel(unsent.due)
        for queue in (self._unsent, self._ahead):
            if unsent in queue:
                queue.remove(unsent)

    def _expire(self, unsent: Unsent, longest: float) -> None:
        # A thread that was not let run for so long finds the connection ready and the time over
        # in one turn, in which timers come first: then it is written all the same.
        self._flush()
        if unsent not in self._unsent:
            return
        self._unsent.remove(unsent)
        unsent.promise.break_(
            TimeoutException(
                f"{unsent.request.api.name} could not be written to {self.node} within "
                f"{longest:g} s: the connection is {self._state()}"
            )
        )

    def match(self, frame: memoryview) -> tuple[Sent, Any]:
        """Match an answer to its request, and decode it.

        Raises:
            KafkaException: It is not the answer that was due, or cannot be read:
                the connection cannot be trusted any more. Its request is still in
                flight then, and fails with the others, in its place.
        """
        correlation = codec.correlation_id(frame)
        if not self._sent or self._sent[0].correlation != correlation:
            expected = self._sent[0].correlation if self._sent else "none"
            raise DisconnectException(
                f"{self.node} answered request {correlation} where {expected} was due; the "
                f"connection was closed"
            )
        sent = self._sent[0]
        # That of an abandoned request is read, too: it may ask for silence.
        response = codec.decode(sent.unsent.request, sent.version, frame)
        self._sent.popleft()
        self.used_at = self._timer.now
        if sent.due is not None:
            self._timer.cancel(sent.due)
        self._counters.answered(
            self.node.id,
            sent.unsent.request.api.name,
            len(frame),
            self._timer.now - sent.began,
            throttle_of(response),
        )
        return sent, response

    def settle(self, sent: Sent, response: Any) -> None:
        """Hand the answer to the operation that awaits it."""
        self.throttle(throttle_of(response))
        if sent.abandoned:
            self.late_answers.drop(sent, response)
            return
        self._end(sent)
        sent.unsent.promise.keep(Answer(response, sent.attempt, self.node))

    def _end(self, sent: Sent) -> None:
        """Its attempt is over, as it should be."""
        if sent.due is not None:
            self._timer.cancel(sent.due)
        if sent.attempt is not None and sent.unsent.call is not None:
            sent.unsent.call.ended(sent.attempt, self._timer.now, ANSWERED)

    def throttle(self, seconds: float) -> None:
        """Send nothing for a while (KIP-219).

        The broker reads nothing from us meanwhile, so requests in flight have that much more
        time before their connection is suspect. Only the part of a silence beyond an earlier
        one counts.
        """
        until = self._timer.now + seconds
        more = until - max(self.throttled_until, self._timer.now)
        if more > 0:
            self.throttled_until = until
            for sent in self._sent:
                if sent.due is not None:
                    self._limit(sent, sent.due.at + more)

    def fail(self, error: KafkaException) -> None:
        """Fail everything in flight, in the order of sending; then the queue.

        Operations run meanwhile and may submit other requests: those are for the next
        life of the connection and stay.
        """
        sent, self._sent = self._unconfirmed + self._sent, deque()
        self._unconfirmed = deque()
        unsent, self._unsent = self._ahead + self._unsent, deque()
        self._ahead = deque()
        self.throttled_until = 0.0
        if sent:
            self._counters.nodes.of(str(self.node.id)).lost += len(sent)
        for each in sent:
            if each.due is not None:
                self._timer.cancel(each.due)
        for waiting in unsent:
            if waiting.due is not None:
                self._timer.cancel(waiting.due)
        for each in sent:
            if each.attempt is not None and each.unsent.call is not None:
                each.unsent.call.ended(each.attempt, self._timer.now, DISCONNECTED, error)
            each.unsent.promise.break_(error)
        for waiting in unsent:
            waiting.promise.break_(error)

    def carries(self, lane: Lane) -> bool:
        """Return True if a request of a lane is queued or in flight."""
        return any(sent.unsent.lane is lane for sent in self._sent) or any(
            unsent.lane is lane for unsent in self._unsent
        )

    def hand_over(self, other: "Pipeline") -> None:
        """Move queued requests to another connection to the same broker."""
        unsent, self._unsent = self._unsent, deque()
        for each in unsent:
            if each.due is not None:
                self._timer.cancel(each.due)
                each.due = None
            other.submit(each)

    @property
    def unanswered_since(self) -> float:
        """When the oldest request in flight was written; now, if there is none."""
        return self._sent[0].began if self._sent else self._timer.now

    @property
    def takes(self) -> bool:
        """True if a request would be written as soon as the socket can take it."""
        quiet = self._timer.now < self.throttled_until
        return not (quiet or self.holds or self.waiting)

    @property
    def is_busy(self) -> bool:
        """True while as many requests are in flight as may be."""
        return len(self._sent) >= self._limits.in_flight

    @property
    def in_flight(self) -> int:
        """The number of requests written and not answered, abandoned ones included."""
        return len(self._sent)

    @property
    def waiting(self) -> int:
        """Requests submitted and not yet written, or not yet known to be."""
        return len(self._unsent) + len(self._ahead) + len(self._unconfirmed)

    def __repr__(self) -> str:
        return f"Pipeline({self.node}, {len(self._sent)} in flight, {len(self._unsent)} unsent)"


def throttle_of(response: Any) -> float:
    """The seconds of throttling that an answer asks for."""
    return getattr(response, "throttle", 0.0)
