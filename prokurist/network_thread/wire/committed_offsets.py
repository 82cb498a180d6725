"""OffsetCommit and OffsetFetch: committed offsets of a group.

Version 10 names topics by id, and both requests can be sent in it only if the id of every topic
is known (`topic_ids`). An answer is always read back to names.

Thread: any; frozen values. A mapping given as `topic_ids` is not changed
between sending the request and reading its answer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import ClassVar
from uuid import UUID

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import OFFSET_COMMIT, OFFSET_FETCH, Api
from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import (
    by_partition,
    by_topic,
    known,
    or_minus_one,
    the_only,
    throttle,
)
from prokurist.types import OffsetAndMetadata, TopicPartition


@dataclass(frozen=True, slots=True)
class OffsetCommitAnswer:
    """The error code of each partition of a commit.

    Attributes:
        errors: A code for each partition that the broker names, 0 for success.
        throttle: Seconds that the broker wants to be left alone.
    """

    errors: tuple[tuple[TopicPartition, int], ...]
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class OffsetCommit:
    """Commits offsets of a group.

    Left out where a version lacks it: the leader epoch (below 6; only the check
    for a truncated log is lost). Refused: a static member's name below 7, by
    which the broker fences its double; a KIP-848 member's epoch below 9, where it
    would be taken for a classic generation.

    Attributes:
        group_id: The group.
        offsets: The offsets to commit, for each partition once.
        generation: The classic generation or the KIP-848 member epoch; −1 outside
            of a membership.
        member_id: The member; empty outside of a membership.
        instance_id: The static member's name, where there is one.
        is_member_epoch: Whether `generation` is a KIP-848 member epoch.
        topic_ids: The ids that are known of the topics.
    """

    api: ClassVar[Api] = OFFSET_COMMIT

    group_id: str
    offsets: tuple[tuple[TopicPartition, OffsetAndMetadata], ...]
    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None
    is_member_epoch: bool = False
    topic_ids: Mapping[str, UUID] = field(default_factory=dict, compare=False)

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if self.instance_id is not None:
            yield Limit("group.instance.id", oldest=7)
        if self.is_member_epoch:
            yield Limit("committing as a member of the consumer protocol", oldest=9)
        yield from without_ids(
            (partition.topic for partition, _ in self.offsets), self.topic_ids
        )

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "group_id": self.group_id,
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
            "retention_time": -1,  # the broker's own setting
            "topics": tuple(
                {
                    "name": topic,
                    "topic_id": self.topic_ids.get(topic),
                    "partitions": tuple(
                        {
                            "partition_index": partition,
                            "committed_offset": kept.offset,
                            "committed_leader_epoch": or_minus_one(kept.leader_epoch),
                            "committed_metadata": kept.metadata,
                        }
                        for partition, kept in rows
                    ),
                }
                for topic, rows in by_topic(self.offsets).items()
            ),
        }

    def answer(self, body: Body) -> OffsetCommitAnswer:
        """Read an answer of any version."""
        return OffsetCommitAnswer(
            errors=tuple(
                (partition, row["error_code"])
                for partition, row in by_partition(body["topics"], self.topic_ids)
            ),
            throttle=throttle(body),
        )


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """The committed offset of one partition.

    Attributes:
        partition: The partition.
        error: 0, or why it is not known.
        offset: The next offset to read; None if nothing is committed.
        leader_epoch: The leader epoch of the record before it, where it is kept.
        metadata: The note beside it.
    """

    partition: TopicPartition
    error: int
    offset: int | None
    leader_epoch: int | None = None
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class OffsetFetchAnswer:
    """The committed offsets of a group.

    Attributes:
        error: 0, or a code for the group as a whole (none in version 1: that repeats it in
            every partition).
        committed: A row for each partition that the broker names.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    committed: tuple[CommittedOffset, ...]
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class OffsetFetch:
    """Asks for the committed offsets of a group.

    Left out where a version lacks it: the member's id and epoch (below 9), by
    which the broker turns away those that are no longer members; the offsets
    are the same, and the heartbeat turns them away too. Refused: asking for all
    below 2, where no topics means none; `require_stable` below 7, unless
    `unstable_will_do` says that the offsets of transactions still open are
    better than none (what Java's consumer thinks of brokers before 2.5).

    All partitions are not asked for in version 10: its answer would name topics
    by ids that may be unknown here.

    Attributes:
        group_id: The group.
        partitions: The partitions; None for all with committed offsets.
        require_stable: True to get UNSTABLE_OFFSET_COMMIT while a transaction that commits
            offsets is still open.
        unstable_will_do: True to ask also brokers without that feature.
        member_id: The KIP-848 member that asks; None outside of a membership.
        member_epoch: Its epoch; −1 outside of a membership.
        topic_ids: The ids that are known of the topics.
    """

    api: ClassVar[Api] = OFFSET_FETCH

    group_id: str
    partitions: tuple[TopicPartition, ...] | None = None
    require_stable: bool = False
    unstable_will_do: bool = False
    member_id: str | None = None
    member_epoch: int = -1
    topic_ids: Mapping[str, UUID] = field(default_factory=dict, compare=False)

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if self.partitions is None:
            yield Limit("asking for all committed offsets by topic name", oldest=2, newest=9)
        else:
            yield from without_ids((topic for topic, _ in self.partitions), self.topic_ids)
        if self.require_stable and not self.unstable_will_do:
            yield Limit("waiting for open transactions (require_stable)", oldest=7)

    def body(self) -> Body:
        """The fields of every version at once: from 8 on, groups come in batches."""
        topics = None
        if self.partitions is not None:
            topics = tuple(
                {
                    "name": topic,
                    "topic_id": self.topic_ids.get(topic),
                    "partition_indexes": tuple(partition for partition, _ in rows),
                }
                for topic, rows in by_topic((each, None) for each in self.partitions).items()
            )
        group = {
            "group_id": self.group_id,
            "member_id": self.member_id,
            "member_epoch": self.member_epoch,
            "topics": topics,
        }
        return {**group, "groups": (group,), "require_stable": self.require_stable}

    def answer(self, body: Body) -> OffsetFetchAnswer:
        """Read an answer of any version.

        Raises:
            Malformed: It is not about our group alone.
        """
        group = body
        if "groups" in body:
            group = the_only(body["groups"], "groups")
            if group["group_id"] != self.group_id:
                raise Malformed("it is for another group")
        return OffsetFetchAnswer(
            error=group.get("error_code", 0),
            committed=tuple(
                CommittedOffset(
                    partition=partition,
                    error=row["error_code"],
                    offset=known(row["committed_offset"]),
                    leader_epoch=known(row.get("committed_leader_epoch", -1)),
                    metadata=row["metadata"] or "",
                )
                for partition, row in by_partition(group["topics"], self.topic_ids)
            ),
            throttle=throttle(body),
        )


def without_ids(topics: Iterator[str], topic_ids: Mapping[str, UUID]) -> Iterator[Limit]:
    """The limit of a request that cannot name all of its topics by id."""
    unknown = next((topic for topic in topics if topic not in topic_ids), None)
    if unknown is not None:
        yield Limit(f"topic {unknown}, whose id is not known,", newest=9)
