"""What the driver asks the brokers: partitions, ends of logs, times, and a group's offsets.

Thread: whichever uses it, one at a time. The client is built when it is first needed, so
what holds this can be pickled until then, and built again where it was not.

Invariants: whatever is asked in one step, `within` bounds it all by one deadline; an error
of that deadline says what the last question waited for.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import UnknownTopicOrPartitionException
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.spark.selecting import Matching, Partitions, Selection, Topics
from prokurist.types import TopicPartition

INTERNAL: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)
"""Kafka's own topics, which no pattern of topics means."""
CLOSE: Final = 1.0
"""Seconds for closing the client: nothing is left to be done then."""


class Brokers:
    """See the module; `resolving.Logs`.

    Args:
        config: Configuration of the client, without a group.
        group: Whose offsets `committed` means.
    """

    def __init__(self, config: Mapping[str, str], group: str | None = None) -> None:
        self._config = dict(config)
        self._group = group
        self._clock = MonotonicClock()
        self._consumer: KafkaConsumer | None = None
        self._deadline: Deadline | None = None

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Bound all that is asked in here."""
        self._deadline = Deadline.after(self._clock.now(), seconds)
        try:
            yield
        finally:
            self._deadline = None

    def partitions(self, selection: Selection) -> list[TopicPartition]:
        """Which partitions there are of what is to be read.

        Raises:
            UnknownTopicOrPartitionException: There is no such topic.
        """
        match selection:
            case Partitions(partitions):
                return sorted(partitions)
            case Topics(names):
                return [tp for name in sorted(names) for tp in self._of_topic(name)]
            case Matching(pattern):
                listed = self._client().list_topics(self._left)
                return sorted(
                    TopicPartition(each.topic, each.partition)
                    for name, parts in listed.items()
                    if name not in INTERNAL and pattern.search(name)
                    for each in parts
                )

    def _of_topic(self, name: str) -> list[TopicPartition]:
        found = self._client().partitions_for(name, self._left)
        if not found:
            raise UnknownTopicOrPartitionException(
                f"there is no topic {name!r}, or nobody may know of it: create it before it is "
                f"read"
            )
        return sorted(TopicPartition(each.topic, each.partition) for each in found)

    def beginnings(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        """See `resolving.Logs`."""
        return self._client().beginning_offsets(partitions, self._left)

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See `resolving.Logs`."""
        return self._client().end_offsets(partitions, self._left)

    def at_times(
        self, moments: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """See `resolving.Logs`."""
        found = self._client().offsets_for_times(moments, self._left)
        return {tp: None if each is None else each.offset for tp, each in found.items()}

    def committed(
        self, group: str | None, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int | None]:
        """See `resolving.Logs`. The group is asked by a client of its own, and not joined."""
        config = self._config | {"group.id": group or self._group}
        with KafkaConsumer(config, enable_auto_commit=False) as consumer:
            found = consumer.committed(partitions, self._left)
        return {tp: None if each is None else each.offset for tp, each in found.items()}

    @property
    def _left(self) -> float | None:
        """Seconds that are left for this step."""
        deadline = self._deadline
        return None if deadline is None else deadline.remaining(self._clock.now())

    def _client(self) -> KafkaConsumer:
        if self._consumer is None:
            self._consumer = KafkaConsumer(self._config)
        return self._consumer

    def close(self) -> None:
        """Close the client, if there is one; it is built again when it is needed."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close(CLOSE)

    def __getstate__(self) -> tuple[dict[str, str], str | None]:
        return self._config, self._group

    def __setstate__(self, state: tuple[dict[str, str], str | None]) -> None:
        self.__init__(*state)  # type: ignore[misc]  # a copy is made as the first one was
