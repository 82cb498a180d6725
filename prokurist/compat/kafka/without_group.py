"""Topics that a consumer without a group reads: all of their partitions, by itself."""

from collections.abc import Callable
from typing import Final

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import TimeoutException
from prokurist.types import TopicPartition

SOON: Final = 1.0
"""Seconds to the next look at a topic that does not exist."""


class WithoutGroup:
    """Topics, and the partitions that were found of them.

    Args:
        consumer: It is assigned what is found.
        now: The clock.
        every: Seconds from one look to the next, for new partitions.
    """

    def __init__(self, consumer: KafkaConsumer, now: Callable[[], float], every: float) -> None:
        self._consumer = consumer
        self._now = now
        self._every = every
        self._due = 0.0
        self.topics: frozenset[str] = frozenset()

    def read(self, topics: frozenset[str], wait: float) -> None:
        """Read topics.

        Args:
            topics: Their names; of none, nothing is read.
            wait: Seconds.

        Raises:
            TimeoutException: They cannot be looked up.
        """
        self.topics = topics
        self._look(wait)

    def look(self, wait: float) -> None:
        """Look for new partitions if it is time, and for no longer than this."""
        if self.topics and self._now() >= self._due:
            try:
                self._look(min(wait, SOON))
            except TimeoutException:
                self._due = self._now() + SOON

    def until_next(self) -> float:
        """Seconds to the next look."""
        return max(0.0, self._due - self._now())

    def _look(self, wait: float) -> None:
        found: set[TopicPartition] = set()
        complete = True
        for topic in sorted(self.topics):
            numbers = [each.partition for each in self._consumer.partitions_for(topic, wait)]
            complete = complete and bool(numbers)
            # Of one that does not exist the first is waited for.
            found |= {TopicPartition(topic, number) for number in numbers or (0,)}
        if found != self._consumer.assignment():
            self._consumer.assign(found)
        self._due = self._now() + (self._every if complete else SOON)

    def __repr__(self) -> str:
        return f"WithoutGroup({sorted(self.topics)})"
