"""Positions with a raised error: polls request them again after a pause.

Thread: the network thread alone.

An application that goes on polling without doing anything about such an error would otherwise
have brokers asked as fast as they answer. A call of `position` asks at once; so does a poll
once the partition was sought, or its leader has changed.
"""

from collections.abc import Callable, Iterable

from prokurist.events.backoff import Backoff
from prokurist.events.positions import PositionRequest
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.operations.timer import Due, Timer
from prokurist.types import TopicPartition


@dataclass(slots=True)
class RefusedPosition:
    """A position that could not be told.

    Attributes:
        ticket: The ticket of the request; another one ends the wait.
        failures: How often in a row.
        until: Until when it is not asked for again.
    """

    ticket: int
    failures: int
    until: float


class RefusedPositions:
    """Has polls wait before they ask again for a position that was refused.

    Args:
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        over: Called when one of them may be asked for again.
    """

    def __init__(self, timer: Timer, backoff: Backoff, over: Callable[[], None]) -> None:
        self._timer = timer
        self._backoff = backoff
        self._over = over
        self._refused: dict[TopicPartition, RefusedPosition] = {}
        self._due: Due | None = None

    def note(self, refused: Iterable[PositionRequest]) -> None:
        """Note that one error was raised for some positions: they are asked for together."""
        tickets = {each.partition: each.ticket for each in refused}
        failures = 1 + max((self._failures(tp, at) for tp, at in tickets.items()), default=0)
        until = self._timer.now + self._backoff.pause(failures)
        for tp, ticket in tickets.items():
            self._refused[tp] = RefusedPosition(ticket, failures, until)

    def ready(self, wanted: Iterable[PositionRequest]) -> list[PositionRequest]:
        """Those that need not wait; the others are told of when they need no longer.

        Args:
            wanted: All positions that are missing; others are forgotten.
        """
        tickets = {each.partition: each.ticket for each in wanted}
        self._refused = {
            tp: refused
            for tp, refused in self._refused.items()
            if tickets.get(tp) == refused.ticket
        }
        waiting = {tp for tp, each in self._refused.items() if each.until > self._timer.now}
        if waiting:
            self._watch(min(self._refused[tp].until for tp in waiting))
        return [each for each in wanted if each.partition not in waiting]

    def _failures(self, tp: TopicPartition, ticket: int) -> int:
        former = self._refused.get(tp)
        return 0 if former is None or former.ticket != ticket else former.failures

    def _watch(self, until: float) -> None:
        if self._due is not None and self._due.at <= until:
            return
        if self._due is not None:
            self._timer.cancel(self._due)
        self._due = self._timer.at(until, "retry backoff of positions", self._wake)

    def _wake(self) -> None:
        self._due = None
        self._over()

    def __repr__(self) -> str:
        return f"RefusedPositions({len(self._refused)} partitions)"
