"""Look-ups and positions of an aiokafka consumer.

Thread: the event loop's. A part of the face's `AIOKafkaConsumer`.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from prokurist.aio import KafkaConsumer
from prokurist.compat.absent import Face
from prokurist.compat.aiokafka.errors import (
    ConsumerStoppedError,
    IllegalOperation,
    IllegalStateError,
    as_theirs,
)
from prokurist.compat.aiokafka.structs import OffsetAndMetadata, OffsetAndTimestamp
from prokurist.errors import KafkaException, TimeoutException
from prokurist.types import OffsetAndMetadata as OurOffset
from prokurist.types import TopicPartition

MILLISECOND: Final = 0.001
_INTERNAL: Final = frozenset({"__consumer_offsets", "__transaction_state"})
"""Topics that brokers keep for themselves."""


class LookingUp(Face):
    """The part that looks up, seeks and commits."""

    _consumer: KafkaConsumer
    _wait: float
    _group: str | None
    _closed: bool
    _shows_internal: bool
    _reads_committed: bool

    @abstractmethod
    def assignment(self) -> set[TopicPartition]:
        """Return the assigned partitions."""

    async def topics(self) -> set[str]:
        """All topics that the user may see."""
        with self._converted():
            found = set(await self._consumer.list_topics())
        return found if self._shows_internal else found - _INTERNAL

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """The partitions of a topic that the metadata know; None for another one."""
        cluster = self._consumer._built().metadata.cluster
        return {each.partition for each in cluster.partitions_of(topic)} or None

    # --- places ----------------------------------------------------------------------

    async def position(self, partition: TopicPartition) -> int:
        """The offset of the next record.

        Raises:
            IllegalStateError: It is not assigned.
            KafkaTimeoutError: It is not known by `request_timeout_ms`.
        """
        with self._converted():
            returned = self._consumer.progress(partition)[partition].returned
            if returned is not None:
                return returned.offset
            return await self._consumer.position(partition, self._wait)

    def highwater(self, partition: TopicPartition) -> int | None:
        """The end of a log, as the last fetch has told it; None before that."""
        with self._converted():
            end, written = self._consumer._positions.ends(partition)
        return end if written is None else written

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        """The end of what transactions have decided; −1 without `read_committed`."""
        with self._converted():
            end, _ = self._consumer._positions.ends(partition)
        return end if self._reads_committed or end is None else -1

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read a partition on from an offset.

        Raises:
            IllegalStateError: It is not assigned.
            ValueError: The offset is no number, or negative.
        """
        given: object = offset
        if not isinstance(given, int) or given < 0:
            raise ValueError(f"an offset is a number from 0 on, not {offset!r}")
        with self._converted():
            self._consumer.seek(partition, offset)

    async def seek_to_beginning(self, *partitions: TopicPartition) -> bool:
        """Read on from the beginning of each log; of none, of all that are assigned.

        Returns:
            True when the positions are known; False if `request_timeout_ms` is over.

        Raises:
            IllegalStateError: One is not assigned, or nothing is.
            TypeError: One is no TopicPartition.
        """
        wanted = self._wanted(partitions)
        with self._converted():
            self._consumer.seek_to_beginning(wanted)
        return await self._are_known(wanted)

    async def seek_to_end(self, *partitions: TopicPartition) -> bool:
        """Read on from the end of each log, as `seek_to_beginning` from its beginning."""
        wanted = self._wanted(partitions)
        with self._converted():
            self._consumer.seek_to_end(wanted)
        return await self._are_known(wanted)

    async def _are_known(self, partitions: Iterable[TopicPartition]) -> bool:
        for tp in partitions:
            try:
                await self._consumer.position(tp, self._wait)
            except TimeoutException:
                return False
            except KafkaException as error:
                raise as_theirs(error) from error
        return True

    async def seek_to_committed(
        self, *partitions: TopicPartition
    ) -> dict[TopicPartition, int | None]:
        """Read on from committed offsets; of none given, of all that are assigned.

        Returns:
            Them; None for a partition without one, which stays where it is.

        Raises:
            IllegalOperation: There is no group.
            IllegalStateError: One is not assigned, or nothing is.
            TypeError: One is no TopicPartition.
        """
        wanted = self._wanted(partitions)
        self._require_group()
        with self._converted():
            found = await self._consumer.committed(wanted, self._wait)
            for tp, place in found.items():
                if place is not None:
                    self._consumer.seek(tp, place.offset)
        return {tp: None if place is None else place.offset for tp, place in found.items()}

    def _wanted(self, partitions: tuple[Any, ...]) -> tuple[TopicPartition, ...]:
        """The assigned partitions that are meant.

        Raises:
            IllegalStateError: One is not assigned, or nothing is.
            TypeError: One is no TopicPartition.
        """
        require_partitions(partitions)
        assigned = self.assignment()
        if not partitions and not assigned:
            raise IllegalStateError("No partitions are currently assigned")
        if unknown := set(partitions) - assigned:
            raise IllegalStateError(f"Partitions {unknown} are not assigned")
        return partitions or tuple(assigned)

    # --- offsets ---------------------------------------------------------------------

    async def commit(self, offsets: Mapping[TopicPartition, Any] | None = None) -> None:
        """Commit offsets, or the positions of all that is assigned.

        Args:
            offsets: For each partition the next offset to read, or a pair of that and a text.

        Raises:
            CommitFailedError: The group no longer counts this member.
            IllegalOperation: There is no group.
            IllegalStateError: Nothing is assigned, or not the partition.
            KafkaError: It has failed.
            ValueError: `offsets` is no dict of such, or is empty.
        """
        self._require_group()
        assigned = self.assignment()
        if offsets is None:
            if not assigned:
                raise IllegalStateError("No partitions assigned")
            places = self._places()
        else:
            places = {tp: as_ours(each) for tp, each in offsets_in(offsets).items()}
            for tp in places:
                if tp not in assigned:
                    raise IllegalStateError(f"Partition {tp} is not assigned")
        if places:
            with self._converted():
                await self._consumer.commit(places, self._wait)

    def _places(self) -> dict[TopicPartition, OurOffset]:
        """The positions: of what was returned, the record in hand too; or where it begins."""
        places = {}
        for tp, progress in self._consumer.progress().items():
            known = self._consumer._positions.position(tp)
            if progress.returned is not None:
                places[tp] = progress.returned
            elif known is not None:
                places[tp] = OurOffset(known)
        return places

    async def committed(self, partition: TopicPartition) -> int | None:
        """The committed offset of the group; None without one.

        Raises:
            IllegalOperation: There is no group.
            KafkaError: It cannot be looked up.
        """
        self._require_group()
        with self._converted():
            place = (await self._consumer.committed(partition, self._wait))[partition]
        return None if place is None else place.offset

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, float]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after a time, in each log.

        Raises:
            KafkaTimeoutError: `request_timeout_ms` is over.
            ValueError: A time is negative.
        """
        times = {tp: int(time) for tp, time in timestamps.items()}
        for tp, time in times.items():
            if time < 0:
                raise ValueError(
                    f"the time for {tp} is {time}, and cannot be negative: beginning_offsets "
                    f"and end_offsets look up where a log begins and ends"
                )
        with self._converted():
            found = await self._consumer.offsets_for_times(times, self._wait)
        return {
            tp: None if place is None else OffsetAndTimestamp(place.offset, place.timestamp)
            for tp, place in found.items()
        }

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """The first offset of each log."""
        with self._converted():
            return await self._consumer.beginning_offsets(partitions, self._wait)

    async def end_offsets(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """The offset after the last record of each log."""
        with self._converted():
            return await self._consumer.end_offsets(partitions, self._wait)

    # --- within ----------------------------------------------------------------------

    def _require_group(self) -> None:
        """Refuse what needs a group.

        Raises:
            IllegalOperation: There is none.
        """
        if self._group is None:
            raise IllegalOperation("Requires group_id")

    @contextmanager
    def _converted(self) -> Iterator[None]:
        """Raise errors as aiokafka's.

        Raises:
            ConsumerStoppedError: The consumer was stopped.
            KafkaError: What the consumer below has raised.
        """
        try:
            yield
        except KafkaException as error:
            if self._closed:
                raise ConsumerStoppedError from error
            raise as_theirs(error) from error


def require_partitions(partitions: Iterable[object]) -> None:
    """Refuse what is no partition.

    Raises:
        TypeError: One is none.
    """
    for each in partitions:
        if not isinstance(each, TopicPartition):
            raise TypeError(f"a partition is a TopicPartition, not {each!r}")


def offsets_in(given: Any) -> dict[TopicPartition, OffsetAndMetadata]:
    """Read offsets to commit: numbers, or pairs of a number and a text.

    Raises:
        TypeError: A key is no TopicPartition, or a text none.
        ValueError: It is no dict of such, or is empty.
    """
    if not given or not isinstance(given, dict):
        raise ValueError(
            f"offsets are a dict of TopicPartition to an offset, or to a pair of an offset and "
            f"a text, not {given!r}"
        )
    require_partitions(given)
    found = {}
    for tp, place in given.items():
        try:
            offset, text = (place, "") if isinstance(place, int) else place
        except (TypeError, ValueError):
            raise ValueError(f"the offset for {tp} is {place!r}, and no pair") from None
        if not isinstance(text, str):
            raise TypeError(f"the text beside an offset is a str, not {text!r}")
        found[tp] = OffsetAndMetadata(offset, text)
    return found


def as_ours(place: OffsetAndMetadata) -> OurOffset:
    """A value of ours."""
    return OurOffset(place.offset, place.metadata)
