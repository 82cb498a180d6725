"""Looks up, on the driver, partitions, ends of logs, offsets by time, and a group's offsets.

Thread: whichever uses it, one at a time. The client is built when it is first needed, so
what holds this can be pickled until then, and built again where it was not.

Invariants: `within` bounds all look-ups of one step by one deadline; an error
of that deadline says what the last question waited for.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import (
    ConfigException,
    TimeoutException,
    UnknownTopicOrPartitionException,
)
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.spark.source.partition_selection import Matching, Partitions, Selection
from prokurist.spark.source.worker_consumers import CLOSE, made
from prokurist.types import PartitionInfo, TopicPartition

INTERNAL: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)
"""Kafka's own topics, which no pattern of topics means."""
FRESH: Final = {"metadata.max.age.ms": "5000"}
"""Time until an added partition is noticed, unless the user sets it."""
BRIEF: Final = {"request.timeout.ms": "5000", "fetch.max.wait.ms": "500"}
"""Time that a broker may be silent before another one is asked, unless the user sets it; the
second key must not contradict the first, as nothing is fetched here."""


class DriverQueries:
    """Look-ups of the driver; an `OffsetLookup`.

    Args:
        config: Configuration of the client, without a group.
        group: Whose offsets `committed` means.

    Attributes:
        topic_ids: The id of each topic that was looked at last, where brokers tell it.
    """

    def __init__(self, config: Mapping[str, str], group: str | None = None) -> None:
        self._config = dict(config)
        self._group = group
        self._clock = MonotonicClock()
        self._consumer: KafkaConsumer | None = None
        self.topic_ids: dict[str, UUID | None] = {}
        self._deadline: Deadline | None = None

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Set the deadline of all look-ups inside the `with` block.

        Raises:
            TimeoutException: The time was over; which question has met its end is a matter of
                chance, so the option that gives more is named.
        """
        self._deadline = Deadline.after(self._clock.now(), seconds)
        try:
            yield
        except TimeoutException as error:
            error.add_note(f"All of this step had the {seconds:g} s of driverDeadlineMs.")
            raise
        finally:
            self._deadline = None

    def partitions(self, selection: Selection, *, fresh: bool = False) -> list[TopicPartition]:
        """The partitions of a selection.

        Args:
            selection: That.
            fresh: Whether a broker is asked in any case; else what was learnt within
                `metadata.max.age.ms` is believed.

        Raises:
            UnknownTopicOrPartitionException: There is no such topic.
        """
        if isinstance(selection, Partitions):
            return sorted(selection.partitions)
        if isinstance(selection, Matching):
            listed = self._client().list_topics(self._left)
            names = [
                name
                for name in listed
                if name not in INTERNAL and selection.pattern.search(name)
            ]
        elif fresh:
            listed, names = self._client().list_topics(self._left), list(selection.names)
        else:
            names = list(selection.names)
            listed = {name: self._client().partitions_for(name, self._left) for name in names}
        return self._found(names, listed)

    def _found(
        self, names: Iterable[str], listed: Mapping[str, Sequence[PartitionInfo]]
    ) -> list[TopicPartition]:
        """The partitions of topics, in order."""
        found: list[TopicPartition] = []
        for name in sorted(names):
            infos = listed.get(name, ())
            if not infos:
                raise UnknownTopicOrPartitionException(
                    f"the topic {name!r} does not exist, or this user may not describe it: "
                    f"create it before it is read"
                )
            found.extend(sorted(TopicPartition(name, each.partition) for each in infos))
        self.topic_ids = {name: listed[name][0].topic_id for name in names}
        return found

    def leaders(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        """The id of each partition's leader; None where there is none."""
        wanted = list(partitions)
        known: dict[TopicPartition, int | None] = {}
        for name in {tp.topic for tp in wanted}:
            for each in self._client().partitions_for(name, self._left):
                node = each.leader
                known[TopicPartition(name, each.partition)] = None if node is None else node.id
        return {tp: known.get(tp) for tp in wanted}

    def beginnings(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        """See `OffsetLookup`."""
        return self._client().beginning_offsets(partitions, self._left)

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See `OffsetLookup`."""
        return self._client().end_offsets(partitions, self._left)

    def at_times(
        self, moments: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """See `OffsetLookup`."""
        found = self._client().offsets_for_times(moments, self._left)
        return {tp: None if each is None else each.offset for tp, each in found.items()}

    def committed(
        self, group: str | None, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int | None]:
        """See `OffsetLookup`. The group is asked by a client of its own, and not joined.

        Raises:
            ConfigException: No group is named.
        """
        asked = group or self._group
        if asked is None:
            raise ConfigException(
                "startingOffsets=committed needs a group: write committed:GROUP, or set "
                "kafka.group.id"
            )
        config = self._config | {"group.id": asked}
        with made(config, enable_auto_commit=False) as consumer:
            found = consumer.committed(partitions, self._left)
        return {tp: None if each is None else each.offset for tp, each in found.items()}

    @contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """Bound look-ups inside the `with` block by a part of the time."""
        whole = self._deadline
        part = Deadline.after(self._clock.now(), seconds)
        self._deadline = part if whole is None else whole.earlier(part)
        try:
            yield
        finally:
            self._deadline = whole

    @property
    def has_time(self) -> bool:
        """True before the deadline."""
        return self._left is None or self._left > 0

    @property
    def _left(self) -> float | None:
        """The seconds until the deadline."""
        deadline = self._deadline
        return None if deadline is None else deadline.remaining(self._clock.now())

    def _client(self) -> KafkaConsumer:
        if self._consumer is None:
            brief = {} if "request.timeout.ms" in self._config else BRIEF
            self._consumer = made(FRESH | self._config | brief)
        return self._consumer

    def close(self) -> None:
        """Close the client, which is built again when it is needed."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close(CLOSE)

    def __getstate__(self) -> tuple[dict[str, str], str | None]:
        return self._config, self._group

    def __setstate__(self, state: tuple[dict[str, str], str | None]) -> None:
        self.__init__(*state)  # type: ignore[misc]  # a copy is made as the first one was
