"""Asks the leaders of partitions about their logs, and goes on without those that are silent.

Thread: the one that asks the brokers.

A partition whose leader is away costs the others little: all partitions are asked together
for `TOGETHER` seconds; if an answer is missing by then, each leader is asked by itself for
`APART` seconds. A partition that was silent is asked for `AGAIN` seconds at each later look,
beside the others and not with them, for `BESIDE` seconds at most.

A leader that is slow, and not away, needs more than that. So a partition that was silent is
also asked for longer now and then: each time for twice as long, up to the time of two
requests, and so seldom that the others wait for it a sixth of the time at most. One that has
answered so is slow: it is asked that seldom until it answers fast. Where all leaders are slow,
none answers, and all are asked together for twice as long.

Invariants: an answer is of some partitions at least. If none is answered, all are asked again
until the time of the step is over, and that is an error. So a cluster in which nothing
answers is told from one in which a leader is away. A partition that does not exist is not
waited for.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeVar

from prokurist.errors import TimeoutException
from prokurist.events.clock import Clock
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.repeated_warnings import RepeatedWarnings
from prokurist.spark.source.driver_queries import DriverQueries
from prokurist.types import TopicPartition, named

TOGETHER: Final = 2.0
"""Seconds for all partitions whose leaders answered at the last look."""
APART: Final = 1.0
"""Seconds for each leader by itself, once one of them has not answered."""
AGAIN: Final = 0.5
"""Seconds for each leader that was silent at the last look: every trigger pays them."""
BESIDE: Final = 1.0
"""Seconds of a look after which no other silent leader's turn begins."""
SPARING: Final = 5.0
"""A leader that was asked for long is left alone for so many times as long."""
STREAM: Final = "a stream of Kafka"
ALL_ANSWER: Final = "the leaders of all partitions answer"
ALL_ANSWER_SOON: Final = "the leaders of all partitions answer fast"

AnswerT = TypeVar("AnswerT")
Question = Callable[[Collection[TopicPartition]], Mapping[TopicPartition, AnswerT]]
"""Asks brokers something about each of some partitions, within the time of the step."""


@dataclass(slots=True)
class LaggingPartition:
    """A partition that is asked beside the others, because its leader is silent or slow.

    Attributes:
        since: Since when it has not been answered; None if it is, though slowly.
        patience: For how many seconds it is asked when that is due.
        due: When that is.
        asked: When it was asked last.
    """

    since: float | None
    patience: float
    due: float
    asked: float


class SilentLeaders:
    """Asks leaders, and remembers which are silent or slow.

    Args:
        brokers: Asks them.
        clock: For how long they have been silent.

    Attributes:
        absent: The partitions of the last question that do not exist.
    """

    def __init__(self, brokers: DriverQueries, clock: Clock) -> None:
        self._brokers = brokers
        self._clock = clock
        self._lagging: dict[TopicPartition, LaggingPartition] = {}
        self._together = TOGETHER
        self._took = 0.0
        self._began = 0.0
        self._error = TimeoutException("no leader has answered")
        self._troubles = RepeatedWarnings()
        self.absent: set[TopicPartition] = set()

    def answers(
        self,
        partitions: Collection[TopicPartition],
        question: Question[AnswerT],
        *,
        whole: bool = False,
    ) -> dict[TopicPartition, AnswerT]:
        """Ask about partitions; those whose leader is silent are left out of the answer.

        So are those that do not exist, which are in `absent` then.

        Args:
            partitions: About which.
            question: What is asked.
            whole: Whether all leaders have to answer.

        Raises:
            KafkaException: A leader refuses.
            TimeoutException: No leader has answered within the time of the step, or not all
                that have to.
        """
        self.absent = set()
        self._began = self._clock.now()
        found: dict[TopicPartition, AnswerT] = {}
        rounds = 0
        while left := [tp for tp in partitions if tp not in found and tp not in self.absent]:
            if found and not whole:
                break
            if rounds and not self._brokers.has_time:
                raise self._error
            new = self._asked(left, question, insist=whole or rounds > 0)
            if not new:
                self._together = min(2 * self._together, self._longest)
            found |= new
            rounds += 1
        self._warn()
        return found

    def forget_others(self, partitions: Collection[TopicPartition]) -> None:
        """Forget partitions that are not among these: they are gone, and never asked again."""
        kept = set(partitions)
        self._lagging = {tp: each for tp, each in self._lagging.items() if tp in kept}

    def longest(self) -> float:
        """Return for how many seconds the leader that is silent longest has been."""
        now = self._clock.now()
        return now - min(self._silent.values(), default=now)

    def failure(self) -> TimeoutException:
        """Return the error that says which leaders are silent, and for how long."""
        silent = sorted(self._silent)
        error = TimeoutException(
            f"the leader of {named(silent)} has not answered for {self.longest():.0f} s",
            partitions=silent,
        )
        error.__cause__ = self._error
        return error

    @property
    def _silent(self) -> dict[TopicPartition, float]:
        """Since when each partition has not been answered."""
        return {tp: each.since for tp, each in self._lagging.items() if each.since is not None}

    @property
    def _longest(self) -> float:
        """The longest time for a question, which takes two requests."""
        return max(2 * self._brokers.request_timeout, TOGETHER)

    def _asked(
        self, partitions: list[TopicPartition], question: Question[AnswerT], *, insist: bool
    ) -> dict[TopicPartition, AnswerT]:
        """Ask once; those that lag beside the others, or together with them to insist."""
        found: dict[TopicPartition, AnswerT] = {}
        steady = [tp for tp in partitions if insist or tp not in self._lagging]
        if steady:
            whole, took = self._within(self._together, steady, question)
            if whole is None:
                found |= self._apart(steady, question)
            else:
                found |= whole
                self._took = took
                self._together = max(TOGETHER, min(self._together, 2 * took))
                self._answered(steady, took)
        beside = [tp for tp in partitions if tp not in steady]
        return found | self._beside(beside, question)

    def _apart(
        self, partitions: list[TopicPartition], question: Question[AnswerT]
    ) -> dict[TopicPartition, AnswerT]:
        """Ask each leader by itself."""
        found: dict[TopicPartition, AnswerT] = {}
        seconds = max(APART, 2 * self._took, self._together / 2)
        slowest = 0.0
        for led in self._by_leader(partitions, seconds):
            answer, took = self._within(seconds, led, question)
            if answer is None:
                self._missed(led, seconds, long=True)
            else:
                found |= answer
                slowest = max(slowest, took)
                self._answered(led, took)
        if found:
            self._took = slowest
        return found

    def _beside(
        self, partitions: list[TopicPartition], question: Question[AnswerT]
    ) -> dict[TopicPartition, AnswerT]:
        """Ask the leaders that lag, first those that were not asked for longest."""
        began = self._clock.now()
        wanted = [
            tp
            for tp in partitions
            if self._lagging[tp].since is not None or self._lagging[tp].due <= began
        ]
        if not wanted:
            return {}
        found: dict[TopicPartition, AnswerT] = {}
        again = min(max(AGAIN, 2 * self._took), self._together)
        leaders = self._by_leader(wanted, again)
        for led in sorted(
            leaders, key=lambda each: min(self._lagging[tp].asked for tp in each)
        ):
            now = self._clock.now()
            if now - began >= BESIDE:
                break
            due = [self._lagging[tp].patience for tp in led if self._lagging[tp].due <= now]
            seconds = max([again, *due])
            answer, took = self._within(seconds, led, question)
            if answer is None:
                self._missed(led, seconds, long=bool(due))
            else:
                found |= answer
                self._answered(led, took)
        return found

    def _by_leader(
        self, partitions: list[TopicPartition], seconds: float
    ) -> Iterable[list[TopicPartition]]:
        """The partitions of each leader; those that do not exist are noted as absent."""
        led_by, _ = self._within(seconds, partitions, self._brokers.leaders, noted=False)
        if led_by is None:
            return [partitions]
        by_leader: dict[int | None, list[TopicPartition]] = {}
        for tp in partitions:
            if tp in led_by:
                by_leader.setdefault(led_by[tp], []).append(tp)
            else:
                self.absent.add(tp)
                self._lagging.pop(tp, None)
        return by_leader.values()

    def _within(
        self,
        seconds: float,
        partitions: list[TopicPartition],
        question: Question[AnswerT],
        *,
        noted: bool = True,
    ) -> tuple[dict[TopicPartition, AnswerT] | None, float]:
        """Ask about all of these; None if an answer is missing in time, and the time it took.

        An attempt for which no time is left is none: its error would say no more than that.
        """
        began = self._clock.now()
        if not self._brokers.has_time:
            return None, 0.0
        try:
            with self._brokers.at_most(seconds):
                answer = dict(question(partitions))
        except TimeoutException as error:
            if noted:
                self._error = error
            return None, self._clock.now() - began
        return answer, self._clock.now() - began

    def _missed(self, partitions: list[TopicPartition], seconds: float, *, long: bool) -> None:
        """Note that no answer came, and after a long attempt when the next one is due."""
        now = self._clock.now()
        for tp in partitions:
            each = self._lagging.setdefault(
                tp, LaggingPartition(self._began, seconds, now, now)
            )
            each.asked = now
            if each.since is None:
                each.since = self._began
            if long:
                each.patience = min(2 * seconds, self._longest)
                each.due = now + SPARING * seconds

    def _answered(self, partitions: list[TopicPartition], took: float) -> None:
        """Note that a leader that lagged has answered, and whether it was fast."""
        now = self._clock.now()
        for tp in partitions:
            if tp not in self._lagging:
                continue
            if took <= max(APART, 2 * self._took):
                del self._lagging[tp]
            else:
                due = now + SPARING * took
                patience = min(2 * took, self._longest)
                self._lagging[tp] = LaggingPartition(None, patience, due, now)

    def _warn(self) -> None:
        """Log which leaders are silent or slow."""
        now = self._clock.now()
        if silent := sorted(self._silent):
            self._troubles.met(
                STREAM,
                ALL_ANSWER,
                f"the leader of {named(silent)} does not answer; this trigger reads the other "
                f"partitions, and these when a leader answers for them. The last attempt: "
                f"{self._error}",
                now,
            )
        else:
            self._troubles.over(STREAM, ALL_ANSWER, now)
        if slow := sorted(self._lagging.keys() - silent):
            seconds = max(self._lagging[tp].due - self._lagging[tp].asked for tp in slow)
            self._troubles.met(
                STREAM,
                ALL_ANSWER_SOON,
                f"the leader of {named(slow)} takes {seconds / SPARING:.1f} s to answer; it is "
                f"asked every {seconds:.0f} s, so that the other partitions do not wait for it",
                now,
            )
        elif not silent:
            self._troubles.over(STREAM, ALL_ANSWER_SOON, now)

    def __repr__(self) -> str:
        return f"SilentLeaders({named(sorted(self._lagging)) or 'none'})"
