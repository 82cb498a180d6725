"""The silence that a broker has asked for, and the entry of the Timer that ends it.

Thread: the network thread alone.
"""

from collections.abc import Callable

from prokurist.events.log_events import BROKER_THROTTLED
from prokurist.events.trace import Trace
from prokurist.network_thread.connections.pipeline import Pipeline
from prokurist.network_thread.operations.timer import Due, Timer


class ThrottleWait:
    """Flushes a connection when its broker's throttling is over.

    Args:
        pipeline: The connection's; it knows until when nothing is written.
        timer: The Timer.
        trace: The client's.
        flush: Writes what can be written.
    """

    def __init__(
        self, pipeline: Pipeline, timer: Timer, trace: Trace, flush: Callable[[], None]
    ) -> None:
        self._pipeline = pipeline
        self._timer = timer
        self._trace = trace
        self._flush = flush
        self._due: Due | None = None

    def begin(self) -> None:
        """Wait until the throttling is over, as far as it is known now."""
        until, node = self._pipeline.throttled_until, self._pipeline.node
        if self._due is not None:
            if self._due.live and self._due.at == until:
                return
            self._timer.cancel(self._due)
        self._trace.emit(BROKER_THROTTLED, node=node, pause=until - self._timer.now)
        self._due = self._timer.at(until, f"{node} throttles us", self._flush)

    def end(self) -> None:
        """The connection is down: nothing is waited for."""
        if self._due is not None:
            self._timer.cancel(self._due)
            self._due = None

    def __repr__(self) -> str:
        return f"ThrottleWait({self._due})"
