"""Waits until a consumer is ready to read.

Thread: the application's. A part of `KafkaConsumer`, whose attributes it uses.

It goes the way of a poll, pass by pass, and collects nothing: a member joins, listeners are
called, errors are raised, and records are fetched ahead.
"""

from datetime import timedelta
from typing import Final

from prokurist.application.driving import Steps
from prokurist.consumer.iteration import Iteration
from prokurist.consumer.obstacles import Obstacles
from prokurist.errors import KafkaException, UnknownTopicOrPartitionException
from prokurist.errors.timeout import TimeoutException, Wait, seconds
from prokurist.events.call import Call
from prokurist.records.why_empty import EmptyCause, WhyEmpty
from prokurist.types import TopicPartition

LOOK_AGAIN: Final = 0.05
"""Seconds between two looks: not all that makes a consumer ready ends the wait of a poll."""

READY: Final = frozenset(
    {
        EmptyCause.FETCHING,
        EmptyCause.OPEN_TRANSACTION,
        EmptyCause.NOTHING_NEW,
        EmptyCause.NOTHING_ASSIGNED,
        EmptyCause.PAUSED,
        EmptyCause.THROTTLED,
    }
)
"""Nothing of that is in the way of a record that is written now, or that ends by waiting."""

NOT_THERE: Final = frozenset({EmptyCause.TOPIC_MISSING, EmptyCause.PARTITION_MISSING})

WAITS_FOR: Final = {
    EmptyCause.UNREACHABLE: "a broker that can be reached",
    EmptyCause.NO_ANSWER: "the answer of a broker",
    EmptyCause.TOPIC_MISSING: "a topic that does not exist",
    EmptyCause.PARTITION_MISSING: "a partition that does not exist",
    EmptyCause.JOINING: "the group to give partitions",
    EmptyCause.NOTHING_ASSIGNED: "the group to give partitions",
    EmptyCause.REBALANCING: "the end of a rebalance",
    EmptyCause.NO_POSITION: "positions",
    EmptyCause.NO_LEADER: "the leaders of partitions",
}
"""Condition behind each obstacle, for ledgers."""


class Readiness(Iteration):
    """The wait for everything that reading needs."""

    def _await_ready(
        self, timeout: float | timedelta | None
    ) -> Steps[frozenset[TopicPartition]]:
        call = self._caller.call("wait_until_ready", timeout)
        wait = ReadyWait(self._obstacles, call)
        found = yield from self._await_records(
            call, lambda _deadline: wait.look(self._caller.now()), look_again=LOOK_AGAIN
        )
        if found is None:
            now = self._caller.now()
            call.leave(now)
            self._caller.counters.ended(call, now)
            raise wait.out_of_time(now, self._last_failure())
        return self._assigned.partitions()

    def _last_failure(self) -> KafkaException | None:
        failure = self._obstacles.reachability.last_failure
        return None if failure is None else failure[0]


class ReadyWait:
    """The obstacles that one wait has met, one after the other.

    Args:
        obstacles: Finds the obstacles.
        call: The call that waits.
    """

    def __init__(self, obstacles: Obstacles, call: Call) -> None:
        self._obstacles = obstacles
        self._call = call
        self._waits: list[Wait] = []
        self._last: tuple[WhyEmpty, float] | None = None
        # The epoch in which a topic was missing: the group gives its partitions in a later one.
        self._missing_in: int | None = None

    def look(self, now: float) -> bool | None:
        """True when nothing is in the way any more; None while an obstacle is left."""
        found = self._obstacles.look()
        if found.cause is EmptyCause.TOPIC_MISSING:
            self._missing_in = self._obstacles.epoch
        given_later = (
            found.cause is EmptyCause.NOTHING_ASSIGNED
            and self._missing_in is not None
            and self._missing_in == self._obstacles.epoch
        )
        if found.cause in READY and not given_later:
            return True
        if self._last is not None and self._last[0].cause is found.cause:
            self._last = (found, self._last[1])
        else:
            self._close(now)
            self._last = (found, now)
        return None

    def _close(self, now: float) -> None:
        if self._last is not None:
            found, since = self._last
            began = self._call.began
            self._waits.append(Wait(WAITS_FOR[found.cause], since - began, now - began))

    def out_of_time(self, now: float, failure: KafkaException | None) -> TimeoutException:
        """The TimeoutException that names the obstacles."""
        self._close(now)
        found = None if self._last is None else self._last[0]
        given, took = self._call.deadline.at - self._call.began, now - self._call.began
        text = "no broker was asked" if found is None else found.text
        told = " and ".join(
            f"{seconds(each.ended - each.started)} for {each.reason}" for each in self._waits
        )
        error: KafkaException | None = None
        if found is not None and found.cause in NOT_THERE:
            error = UnknownTopicOrPartitionException(found.text)
        elif found is not None and found.cause is EmptyCause.UNREACHABLE:
            error = failure
        if given > 0:
            message = (
                f"wait_until_ready was given {seconds(given)} and the consumer is not ready "
                f"after {seconds(took)}: {text}. It waited {told or 'for nothing'}. To wait "
                f"longer, pass a larger timeout, or raise {self._call.config_key} for calls "
                f"without one."
            )
        else:
            message = (
                f"wait_until_ready was given no time to wait (timeout 0) and the consumer is "
                f"not ready: {text}."
            )
        return TimeoutException(
            message,
            operation=self._call.operation,
            timeout=given,
            elapsed=took,
            partitions=() if found is None else found.partitions,
            waits=self._waits,
            last_error=error,
            config_key=self._call.config_key,
        )

    def __repr__(self) -> str:
        return f"ReadyWait({'nothing yet' if self._last is None else self._last[0].text})"
