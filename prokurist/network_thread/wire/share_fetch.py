"""ShareFetch and ShareAcknowledge: records of a share group, and their acknowledgements.

Both are requests of one share session, which belongs to the connection that opened it. The
broker counts them in one row of numbers.

Answers are read in place, as those of Fetch are: records are a view of the frame.

Thread: any; everything here is frozen.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final, NamedTuple
from uuid import UUID

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import SHARE_ACKNOWLEDGE, SHARE_FETCH, Api
from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.fetch import LeaderHint, memory_behind
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import (
    milliseconds,
    node,
    said,
    seconds,
    throttle,
)
from prokurist.types import Node

OPENING: Final = 0
"""The number of a request that opens a session."""
CLOSING: Final = -1
"""The number of a request that closes it."""

BATCH_OPTIMIZED: Final = 0
RECORD_LIMIT: Final = 1

RENEW: Final = 4
MODES_SINCE: Final = 2

LONGEST_RANGE: Final = 1 << 20
"""Offsets of one acquired range; a share partition has 10,000 records in flight at most."""


class SharePartition(NamedTuple):
    """A partition of a share group, as the protocol names it."""

    topic_id: UUID
    partition: int


class OffsetTypes(NamedTuple):
    """Consecutive offsets with acknowledge types: one for all, or one for each."""

    first: int
    last: int
    types: tuple[int, ...]


Acknowledged = tuple[tuple[SharePartition, tuple[OffsetTypes, ...]], ...]
"""Acknowledgements of offsets, by partition; ascending in each."""


class AcquiredRange(NamedTuple):
    """Offsets that the broker has lent to this member."""

    first: int
    last: int
    delivery_count: int


@dataclass(frozen=True, slots=True)
class ShareFetchedPartition:
    """The answer for one partition.

    Attributes:
        partition: The partition.
        error: 0, or why there are no records.
        message: The broker's own words about it.
        acknowledge_error: 0, or why the acknowledgements were refused, all of them.
        acknowledge_message: The broker's own words about that.
        records: Its batches, a view of the frame.
        acquired: The ranges that are ours; the rest of the records is not.
        leader: Who leads it, if another does.
    """

    partition: SharePartition
    error: int
    records: memoryview
    acquired: tuple[AcquiredRange, ...] = ()
    message: str | None = None
    acknowledge_error: int = 0
    acknowledge_message: str | None = None
    leader: LeaderHint | None = None


@dataclass(frozen=True, slots=True)
class ShareFetchAnswer:
    """The answer to ShareFetch; partitions without news are left out.

    Attributes:
        error: 0, or why the request as a whole was refused.
        lock_duration: Seconds for which acquired records are locked.
        partitions: A row for each partition that the broker names.
        message: The broker's own words about the error.
        nodes: The addresses of the leaders that were told.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    lock_duration: float
    partitions: tuple[ShareFetchedPartition, ...]
    message: str | None = None
    nodes: tuple[Node, ...] = ()
    throttle: float = 0.0

    @property
    def size(self) -> int:
        """The bytes that its records keep alive: the memory of the whole frame."""
        frames = {id(each.records.obj): each for each in self.partitions if each.records}
        return sum(memory_behind(each.records) for each in frames.values())


@dataclass(frozen=True, slots=True)
class ShareFetch:
    """Fetches records of partitions, and acknowledges others in the same session.

    Version 1 has neither acquire modes nor renewals. The former decide how many records a
    member gets, so `record_limit` needs version 2; so does a renewal.

    Attributes:
        group_id: The group.
        member_id: Our member id.
        epoch: The number of the request in the session.
        added: Partitions that are new in the session.
        forgotten: Partitions that leave it.
        acknowledged: Acknowledgements of records.
        max_wait: Seconds that the broker may wait for records.
        min_bytes: How much it shall wait for.
        max_bytes: How much it may send; a first larger batch passes.
        max_records: How many records it may lend.
        batch_size: How many offsets a range should have.
        mode: `BATCH_OPTIMIZED` or `RECORD_LIMIT`.
    """

    api: ClassVar[Api] = SHARE_FETCH

    group_id: str
    member_id: str
    epoch: int
    added: tuple[SharePartition, ...] = ()
    forgotten: tuple[SharePartition, ...] = ()
    acknowledged: Acknowledged = ()
    max_wait: float = 0.0
    min_bytes: int = 0
    max_bytes: int = 0
    max_records: int = 0
    batch_size: int = 0
    mode: int = BATCH_OPTIMIZED

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if self.mode != BATCH_OPTIMIZED:
            yield Limit("share.acquire.mode=record_limit", oldest=MODES_SINCE)
        if renews(self.acknowledged):
            yield Limit("a renewal", oldest=MODES_SINCE)

    def body(self) -> Body:
        """The fields of every version at once."""
        acknowledged = dict(self.acknowledged)
        named = {each: acknowledged.get(each, ()) for each in (*self.added, *acknowledged)}
        return {
            "group_id": self.group_id,
            "member_id": self.member_id,
            "share_session_epoch": self.epoch,
            "max_wait": milliseconds(self.max_wait),
            "min_bytes": self.min_bytes,
            "max_bytes": self.max_bytes,
            "max_records": self.max_records,
            "batch_size": self.batch_size,
            "share_acquire_mode": self.mode,
            "is_renew_ack": renews(self.acknowledged),
            "topics": topic_bodies(named.items()),
            "forgotten_topics_data": tuple(
                {"topic_id": each, "partitions": tuple(number for number, _ in rows)}
                for each, rows in by_id((each, ()) for each in self.forgotten).items()
            ),
        }

    def answer(self, body: Body) -> ShareFetchAnswer:
        """Read an answer of any version.

        Raises:
            Malformed: A topic without an id, or a range that no broker lends.
        """
        return ShareFetchAnswer(
            error=body["error_code"],
            lock_duration=seconds(body["acquisition_lock_timeout"]),
            partitions=tuple(
                fetched(known_id(topic["topic_id"]), row)
                for topic in body["responses"]
                for row in topic["partitions"]
            ),
            message=said(body["error_message"]),
            nodes=nodes_of(body),
            throttle=throttle(body),
        )


@dataclass(frozen=True, slots=True)
class AcknowledgedPartition:
    """The answer for one partition: all of its acknowledgements, or none.

    Attributes:
        partition: The partition.
        error: 0, or why they were refused.
        message: The broker's own words about it.
        leader: Who leads it, if another does.
    """

    partition: SharePartition
    error: int
    message: str | None = None
    leader: LeaderHint | None = None


@dataclass(frozen=True, slots=True)
class ShareAcknowledgeAnswer:
    """The answer to ShareAcknowledge.

    Attributes:
        error: 0, or why the request as a whole was refused.
        lock_duration: Seconds for which renewed records are locked; 0 in version 1.
        partitions: A row for each partition that the request names.
        message: The broker's own words about the error.
        nodes: The addresses of the leaders that were told.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    lock_duration: float
    partitions: tuple[AcknowledgedPartition, ...]
    message: str | None = None
    nodes: tuple[Node, ...] = ()
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class ShareAcknowledge:
    """Acknowledges records; also closes a session.

    A renewal needs version 2.

    Attributes:
        group_id: The group.
        member_id: Our member id.
        epoch: The number of the request in the session; −1 to close it.
        acknowledged: Acknowledgements of records.
    """

    api: ClassVar[Api] = SHARE_ACKNOWLEDGE

    group_id: str
    member_id: str
    epoch: int
    acknowledged: Acknowledged = ()

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if renews(self.acknowledged):
            yield Limit("a renewal", oldest=MODES_SINCE)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "group_id": self.group_id,
            "member_id": self.member_id,
            "share_session_epoch": self.epoch,
            "is_renew_ack": renews(self.acknowledged),
            "topics": topic_bodies(self.acknowledged),
        }

    def answer(self, body: Body) -> ShareAcknowledgeAnswer:
        """Read an answer of any version.

        Raises:
            Malformed: A topic without an id.
        """
        return ShareAcknowledgeAnswer(
            error=body["error_code"],
            lock_duration=seconds(body.get("acquisition_lock_timeout", 0)),
            partitions=tuple(
                AcknowledgedPartition(
                    SharePartition(known_id(topic["topic_id"]), row["partition_index"]),
                    row["error_code"],
                    said(row["error_message"]),
                    leader_of(row),
                )
                for topic in body["responses"]
                for row in topic["partitions"]
            ),
            message=said(body["error_message"]),
            nodes=nodes_of(body),
            throttle=throttle(body),
        )


def renews(acknowledged: Acknowledged) -> bool:
    """True if a lock is to be renewed."""
    return any(RENEW in run.types for _, runs in acknowledged for run in runs)


def topic_bodies(
    rows: Iterable[tuple[SharePartition, tuple[OffsetTypes, ...]]],
) -> tuple[Body, ...]:
    """The request's bodies of topics, with acknowledgements."""
    return tuple(
        {
            "topic_id": topic_id,
            "partitions": tuple(
                {
                    "partition_index": number,
                    "acknowledgement_batches": tuple(
                        {
                            "first_offset": run.first,
                            "last_offset": run.last,
                            "acknowledge_types": run.types,
                        }
                        for run in runs
                    ),
                }
                for number, runs in partitions
            ),
        }
        for topic_id, partitions in by_id(rows).items()
    )


def by_id(
    rows: Iterable[tuple[SharePartition, tuple[OffsetTypes, ...]]],
) -> dict[UUID, list[tuple[int, tuple[OffsetTypes, ...]]]]:
    """Group rows of partitions by topic id, in the order they came in."""
    topics: dict[UUID, list[tuple[int, tuple[OffsetTypes, ...]]]] = {}
    for (topic_id, partition), runs in rows:
        topics.setdefault(topic_id, []).append((partition, runs))
    return topics


def known_id(topic_id: UUID | None) -> UUID:
    """The id of a topic in an answer.

    Raises:
        Malformed: It has none.
    """
    if topic_id is None:
        raise Malformed("a topic without its id")
    return topic_id


def fetched(topic_id: UUID, row: Body) -> ShareFetchedPartition:
    """Read one partition of the answer.

    Raises:
        Malformed: A range ends before it begins, is too long, or begins before the one
            before has ended.
    """
    acquired = tuple(
        AcquiredRange(each["first_offset"], each["last_offset"], each["delivery_count"])
        for each in row["acquired_records"]
    )
    after = 0
    for each in acquired:
        if not after <= each.first <= each.last < each.first + LONGEST_RANGE:
            raise Malformed(f"offsets {each.first} to {each.last} cannot be acquired")
        after = each.last + 1
    records = row["records"]
    return ShareFetchedPartition(
        SharePartition(topic_id, row["partition_index"]),
        row["error_code"],
        memoryview(b"") if records is None else records,
        acquired,
        said(row["error_message"]),
        row["acknowledge_error_code"],
        said(row["acknowledge_error_message"]),
        leader_of(row),
    )


def leader_of(row: Body) -> LeaderHint | None:
    """The leader that a broker names, which names none as 0 in epoch 0 as well."""
    leader = row["current_leader"]
    if leader["leader_id"] < 0 or leader["leader_epoch"] < 0:
        return None
    return LeaderHint(leader["leader_id"], leader["leader_epoch"])


def nodes_of(body: Body) -> tuple[Node, ...]:
    """The addresses of leaders that the answer names."""
    return tuple(
        node(each["node_id"], each["host"], each["port"], each["rack"])
        for each in body["node_endpoints"]
    )
