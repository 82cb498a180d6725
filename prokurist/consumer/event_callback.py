"""Calls `on_event`: passes the log's events, and statistics, to the user's function.

Thread: the application's, inside `poll` and `close`, as a rebalance listener.

An event during a waiting poll ends the wait, and is passed on at once. Events caused by the
callback itself are passed on in the same poll while that has time, else by the next one: no
poll goes on for ever.
"""

import math
from collections.abc import Callable
from typing import Final, TypeAlias

from prokurist.application.call_runner import CallRunner
from prokurist.application.driving import Steps
from prokurist.consumer.listeners import Listeners, wrapped
from prokurist.events.callback_log_events import EVENTS_DROPPED, STATISTICS
from prokurist.events.clock import Deadline
from prokurist.events.log_event_queue import LogEventQueue
from prokurist.events.log_events import CLOSE_ERROR_SUPPRESSED
from prokurist.types import LogEvent

OnEvent: TypeAlias = Callable[[LogEvent], object]
NAME: Final = "on_event"


class EventCallback:
    """Tells the user's function of events, and of figures at an interval.

    Args:
        caller: The way to the network thread; its trace notes dropped events.
        listeners: The listeners, which guard the calls of a callback.
        on_event: The user's function; None for none.
        queue: The queue of events; None without a function.
        interval: Seconds between two statistics; 0 for none.
        metrics: Returns the client's counters.

    Attributes:
        due: When the next statistics are; infinite for never.
    """

    def __init__(
        self,
        caller: CallRunner,
        listeners: Listeners,
        on_event: OnEvent | None,
        queue: LogEventQueue | None,
        *,
        interval: float,
        metrics: Callable[[], dict[str, float]],
    ) -> None:
        self._caller = caller
        self._listeners = listeners
        self._on_event = on_event
        self._queue = queue
        self._interval = interval if interval and on_event is not None else math.inf
        self._metrics = metrics
        self.due: float = caller.now() + self._interval

    @property
    def is_due(self) -> bool:
        """True if statistics are due."""
        return self.due < math.inf and self._caller.now() >= self.due

    def until(self, deadline: Deadline) -> Deadline:
        """Limit a poll's wait to the next `run`."""
        return deadline.earlier(Deadline(self.due))

    def run(self, deadline: Deadline) -> Steps[None]:
        """Pass on the queued events, and those that arrive before the deadline.

        Raises:
            WakeupException: A call of the callback was woken.
            KafkaException: The callback raised the error in the cause; later events are passed
                on by the next poll.
        """
        queue = self._queue
        if queue is None:
            return
        while True:
            try:
                # What comes while the callback runs is looked for at its end.
                queue.wakes = False
                yield from self._tell_statistics()
                yield from self._tell_all(queue)
                if dropped := queue.take_dropped():
                    self._caller.trace.emit(EVENTS_DROPPED, count=dropped)
                    yield from self._tell_all(queue)
            finally:
                queue.wakes = True
            if not queue or deadline.expired(self._caller.now()):
                return

    def finish(self) -> Steps[Exception | None]:
        """Pass on the remaining events, in `close`.

        Returns:
            The first error of the callback; it is told of the others all the same.
        """
        queue, raised = self._queue, list[Exception]()
        for _ in range(0 if queue is None else len(queue)):
            try:
                yield from self._tell_next(queue)
            except Exception as error:  # noqa: BLE001 - whatever a user's callback raises
                raised.append(error)
        for each in raised[1:]:
            self._caller.trace.emit(CLOSE_ERROR_SUPPRESSED, error=each)
        return raised[0] if raised else None

    def _tell_all(self, queue: LogEventQueue) -> Steps[None]:
        """Pass on the queued events, and none that arrive meanwhile."""
        for _ in range(len(queue)):
            yield from self._tell_next(queue)

    def _tell_next(self, queue: LogEventQueue | None) -> Steps[None]:
        event = None if queue is None else queue.take(self._caller.now())
        if event is not None:
            yield from self._tell(event)

    def _tell_statistics(self) -> Steps[None]:
        if not self.is_due:
            return
        self.due = self._caller.now() + self._interval
        kind, trace = STATISTICS, self._caller.trace
        values = {"metrics": self._metrics()}
        yield from self._tell(
            LogEvent(
                kind.name,
                int(kind.level),
                kind.text,
                values,
                client_id=trace.client_id,
                group=trace.group,
            )
        )

    def _tell(self, event: LogEvent) -> Steps[None]:
        if self._on_event is None:
            return
        try:
            yield from self._listeners.inside(NAME, self._on_event, event)
        except Exception as error:  # noqa: BLE001 - whatever a user's callback raises
            failed = wrapped(error, NAME)
        else:
            return
        raise failed

    def __repr__(self) -> str:
        return f"EventCallback({self._on_event}, {self._queue})"
