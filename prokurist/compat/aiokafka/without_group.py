"""Topics that a consumer without a group reads: all of their partitions, by itself.

Thread: the event loop's.
"""

import re
from collections.abc import Callable
from typing import Final

from prokurist.aio import KafkaConsumer
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

    Attributes:
        topics: Their names; of a pattern, those that were found.
    """

    def __init__(self, consumer: KafkaConsumer, now: Callable[[], float], every: float) -> None:
        self._consumer = consumer
        self._now = now
        self._every = every
        self._due = 0.0
        self._pattern: re.Pattern[str] | None = None
        self.topics: frozenset[str] = frozenset()

    @property
    def is_used(self) -> bool:
        """True if topics are read so."""
        return bool(self.topics) or self._pattern is not None

    def read(self, wanted: "frozenset[str] | re.Pattern[str]") -> None:
        """Read topics from the next look on; of none, nothing is looked for."""
        self._pattern = None if isinstance(wanted, frozenset) else wanted
        self.topics = wanted if isinstance(wanted, frozenset) else frozenset()
        self._due = 0.0

    async def look(self, wait: float) -> None:
        """Look for new partitions if it is time, and for no longer than this."""
        if self.is_used and self._now() >= self._due:
            try:
                await self.find(min(wait, SOON))
            except TimeoutException:
                self._due = self._now() + SOON

    def until_next(self) -> float:
        """Seconds to the next look."""
        return max(0.0, self._due - self._now()) if self.is_used else self._every

    async def find(self, wait: float) -> frozenset[str]:
        """Find the partitions there are, and read them.

        Returns:
            Topics that do not exist.

        Raises:
            TimeoutException: They cannot be looked up.
        """
        if self._pattern is not None:
            every = await self._consumer.list_topics(wait)
            self.topics = frozenset(filter(self._pattern.match, every))
        found: set[TopicPartition] = set()
        missing = set()
        for topic in sorted(self.topics):
            infos = await self._consumer.partitions_for(topic, wait)
            found |= {TopicPartition(topic, each.partition) for each in infos}
            if not infos:
                missing.add(topic)
        if found and found != self._consumer.assignment():
            self._consumer.assign(found)
        self._due = self._now() + (SOON if missing or not found else self._every)
        return frozenset(missing)

    def __repr__(self) -> str:
        return f"WithoutGroup({sorted(self.topics)})"
