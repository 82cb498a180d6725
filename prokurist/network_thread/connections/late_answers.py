"""Late answers: the dropped answers to abandoned requests.

Thread: the network thread alone.

An abandoned request stays in flight, since a broker answers in order. Its answer is read as any
other, and dropped, but for facts beyond the request (`Unsent.late`).
"""

from typing import Any

from prokurist.events.call_log_events import LATE_ANSWER_DROPPED
from prokurist.network_thread.connections.requests import Sent
from prokurist.network_thread.counters import TrafficCounters
from prokurist.types import Node


class LateAnswers:
    """Drops the late answers of one connection.

    Args:
        node: Whom they come from.
        counters: The client's.

    Attributes:
        dropped: How many were.
    """

    def __init__(self, node: Node, counters: TrafficCounters) -> None:
        self.dropped: int = 0
        self._node = node
        self._counters = counters

    def abandon(self, sent: Sent) -> None:
        """Note that a caller has left: the place in the line is all that its request has."""
        sent.abandoned = True
        self._counters.abandoned += 1

    def drop(self, sent: Sent, response: Any) -> None:
        """Drop the answer to an abandoned request."""
        self.dropped += 1
        self._counters.late_answers += 1
        call = sent.unsent.call
        if call is not None and call.trace is not None:
            name = sent.unsent.request.api.name
            call.trace.emit(
                LATE_ANSWER_DROPPED, call=call.number, request=name, node=self._node
            )
        if sent.unsent.late is not None:
            sent.unsent.late(response)
