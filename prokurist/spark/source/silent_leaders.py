"""Asks the leaders of partitions about their logs, and goes on without those that are silent.

Thread: the one that asks the brokers.

A partition whose leader is away costs the others little: all partitions are asked together
for `TOGETHER` seconds; if an answer is missing by then, each leader is asked by itself for
`APART` seconds. A partition that was silent is asked for `AGAIN` seconds at each later look,
beside the others and not with them, until its leader answers.

Invariants: an answer is of some partitions at least. If none is answered, all are asked again
until the time of the step is over, and that is an error. So a cluster in which nothing
answers is told from one in which a leader is away.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeVar

from prokurist.errors import TimeoutException
from prokurist.events.clock import Clock
from prokurist.spark.repeated_warnings import RepeatedWarnings
from prokurist.spark.source.driver_queries import DriverQueries
from prokurist.types import TopicPartition, named

TOGETHER: Final = 2.0
"""Seconds for all partitions whose leaders answered at the last look."""
APART: Final = 1.0
"""Seconds for each leader by itself, once one of them has not answered."""
AGAIN: Final = 0.5
"""Seconds for each leader that was silent at the last look: every trigger pays them."""
STREAM: Final = "a stream of Kafka"
ALL_ANSWER: Final = "the leaders of all partitions answer"

AnswerT = TypeVar("AnswerT")
Question = Callable[[Collection[TopicPartition]], Mapping[TopicPartition, AnswerT]]
"""Asks brokers something about each of some partitions, within the time of the step."""


class SilentLeaders:
    """Asks leaders, and remembers which are silent.

    Args:
        brokers: Asks them.
        clock: For how long they have been silent.
    """

    def __init__(self, brokers: DriverQueries, clock: Clock) -> None:
        self._brokers = brokers
        self._clock = clock
        self._since: dict[TopicPartition, float] = {}
        self._error = TimeoutException("no leader has answered")
        self._troubles = RepeatedWarnings()

    def answers(
        self, partitions: Collection[TopicPartition], question: Question[AnswerT]
    ) -> dict[TopicPartition, AnswerT]:
        """Ask about partitions; those whose leader is silent are left out of the answer.

        Args:
            partitions: About which.
            question: What is asked.

        Raises:
            KafkaException: A leader refuses.
            TimeoutException: No leader has answered within the time of the step.
        """
        if not partitions:
            return {}
        began = self._clock.now()
        while not (found := self._asked(partitions, question)):
            if not self._brokers.has_time:
                raise self._error
        self._remember(partitions, found, began)
        return found

    def forget_others(self, partitions: Collection[TopicPartition]) -> None:
        """Forget partitions that are not among these: they are gone, and never asked again."""
        self._since = {tp: at for tp, at in self._since.items() if tp in partitions}

    def longest(self) -> float:
        """Return for how many seconds the leader that is silent longest has been."""
        return self._clock.now() - min(self._since.values(), default=self._clock.now())

    def failure(self) -> TimeoutException:
        """Return the error that says which leaders are silent, and for how long."""
        error = TimeoutException(
            f"the leader of {named(sorted(self._since))} has not answered for "
            f"{self.longest():.0f} s",
            partitions=sorted(self._since),
        )
        error.__cause__ = self._error
        return error

    def _asked(
        self, partitions: Collection[TopicPartition], question: Question[AnswerT]
    ) -> dict[TopicPartition, AnswerT]:
        found: dict[TopicPartition, AnswerT] = {}
        answering = [tp for tp in partitions if tp not in self._since]
        if answering:
            whole = self._within(TOGETHER, answering, question)
            found |= self._apart(APART, answering, question) if whole is None else whole
        return found | self._apart(
            AGAIN, [tp for tp in partitions if tp in self._since], question
        )

    def _apart(
        self, seconds: float, partitions: Iterable[TopicPartition], question: Question[AnswerT]
    ) -> dict[TopicPartition, AnswerT]:
        """Ask each leader by itself."""
        found: dict[TopicPartition, AnswerT] = {}
        led_by: Mapping[TopicPartition, int | None] = dict.fromkeys(partitions)
        leaders = self._within(seconds, list(led_by), self._brokers.leaders)
        by_leader: dict[int | None, list[TopicPartition]] = {}
        for tp, leader in (led_by if leaders is None else leaders).items():
            by_leader.setdefault(leader, []).append(tp)
        for led in by_leader.values():
            found |= self._within(seconds, led, question) or {}
        return found

    def _within(
        self, seconds: float, partitions: list[TopicPartition], question: Question[AnswerT]
    ) -> dict[TopicPartition, AnswerT] | None:
        """Ask about all of these; None if an answer is missing in time."""
        try:
            with self._brokers.at_most(seconds):
                return dict(question(partitions))
        except TimeoutException as error:
            self._error = error
            return None

    def _remember(
        self,
        partitions: Collection[TopicPartition],
        found: Collection[TopicPartition],
        began: float,
    ) -> None:
        for tp in partitions:
            if tp in found:
                self._since.pop(tp, None)
            else:
                self._since.setdefault(tp, began)
        now = self._clock.now()
        if not self._since:
            self._troubles.over(STREAM, ALL_ANSWER, now)
            return
        self._troubles.met(
            STREAM,
            ALL_ANSWER,
            f"the leader of {named(sorted(self._since))} does not answer; this trigger reads "
            f"the other partitions, and these when a leader answers for them. The last "
            f"attempt: {self._error}",
            now,
        )

    def __repr__(self) -> str:
        return f"SilentLeaders({named(sorted(self._since)) or 'none'})"
