"""Fetch: records, from where a consumer stands in each partition.

Answers are read in place: the records of each partition are a view of the frame, without any
copy. A view keeps its frame alive.

Topics go by their names up to version 12 and by their ids from version 13 on. So a request with
any unknown id is bound to 12, and a fetch session (KIP-227) uses one or the other throughout.

Thread: any; everything here is frozen.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, ClassVar, Final
from uuid import UUID

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import FETCH, Api
from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import (
    by_topic,
    known,
    milliseconds,
    node,
    or_minus_one,
    throttle,
)
from prokurist.types import Node, TopicPartition

CONSUMER: Final = -1
"""The replica id of a client that is no replica."""

NO_SESSION: Final = 0
"""The session id of a request without a session."""
FIRST_EPOCH: Final = 0
"""Begin a session, and end the one that is named."""
LAST_EPOCH: Final = -1
"""End the session that is named, and begin none."""

NO_EPOCH: Final = -1
"""Stands for the epoch of the last record that was fetched."""

IDS_SINCE: Final = 13

ABORTED_BYTES: Final = 128
"""Memory of an aborted transaction's objects."""


@dataclass(frozen=True, slots=True)
class FetchQuestion:
    """A partition to fetch, from an offset on.

    Attributes:
        partition: The partition.
        offset: The first offset that is wanted.
        max_bytes: How much of it; a first larger batch passes.
        leader_epoch: The epoch that we believe its leader to be in, by which the
            broker fences a question based on stale metadata.
    """

    partition: TopicPartition
    offset: int
    max_bytes: int
    leader_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class LeaderHint:
    """The leader of a partition, as named by a broker that is not (KIP-951).

    Attributes:
        leader: The leader's id.
        epoch: The epoch it leads in.
    """

    leader: int
    epoch: int


@dataclass(frozen=True, slots=True)
class FetchedPartition:
    """The answer for one partition.

    Attributes:
        partition: The partition.
        error: 0, or why there is nothing.
        records: Its batches, a view of the frame; the last may be cut off.
        high_watermark: Up to where its log is safe.
        last_stable_offset: Up to where no transaction is open.
        log_start: Where its log begins.
        aborted: The aborted transactions among the records, each as its producer's
            id and its first offset; None with isolation.level=read_uncommitted.
        preferred_replica: The broker to be asked instead (KIP-392).
        leader: Who leads it, if another does.
    """

    partition: TopicPartition
    error: int
    records: memoryview
    high_watermark: int | None = None
    last_stable_offset: int | None = None
    log_start: int | None = None
    aborted: tuple[tuple[int, int], ...] | None = None
    preferred_replica: int | None = None
    leader: LeaderHint | None = None


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """The answer to Fetch: records by partition.

    Attributes:
        error: 0, or why the request as a whole was refused.
        session_id: The session that it belongs to; 0 for none.
        partitions: A row for each partition that the broker names.
        nodes: The addresses of the leaders that were told.
        throttle: Seconds that the broker wants to be left alone.
    """

    error: int
    session_id: int
    partitions: tuple[FetchedPartition, ...]
    nodes: tuple[Node, ...] = ()
    throttle: float = 0.0

    @property
    def size(self) -> int:
        """The bytes that its records keep alive: the memory of the whole frame."""
        frames = {id(each.records.obj): each for each in self.partitions if each.records}
        aborted = sum(len(each.aborted or ()) for each in self.partitions if each.records)
        kept = sum(memory_behind(each.records) for each in frames.values())
        return kept + ABORTED_BYTES * aborted


@dataclass(frozen=True, slots=True)
class Fetch:
    """Fetches records of partitions, from an offset on in each.

    Left out where a version lacks it: the session (below 7; every fetch is a full
    one), the believed leader epoch (below 9) and the rack (below 11; the leader is
    read from). The epoch of the last record is never sent: it is for replicas, whose
    logs a leader compares with its own. A consumer's position is compared by
    OffsetForLeaderEpoch when the leader epoch changes.

    Attributes:
        questions: The partitions to fetch; in a session only new or changed ones.
        forgotten: The session's partitions that are not to be fetched any more.
        topic_ids: The id of each topic of the session; complete, or empty.
        session_id: The session; 0 for none.
        session_epoch: The number of the request in it.
        max_wait: Seconds that the broker may wait for `min_bytes`.
        min_bytes: How much it shall wait for.
        max_bytes: How much it may send; a first larger batch passes.
        read_committed: True if the log ends at its last stable offset.
        rack: Where we are, so that a replica there can be named.
    """

    api: ClassVar[Api] = FETCH

    questions: tuple[FetchQuestion, ...]
    forgotten: tuple[TopicPartition, ...] = ()
    topic_ids: Mapping[str, UUID] = field(default_factory=dict)
    session_id: int = NO_SESSION
    session_epoch: int = FIRST_EPOCH
    max_wait: float = 0.0
    min_bytes: int = 0
    max_bytes: int = 0
    read_committed: bool = False
    rack: str = ""

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if (self.questions or self.forgotten or self.session_id) and not self.topic_ids:
            yield Limit("a topic without an id", newest=IDS_SINCE - 1)

    def body(self) -> Body:
        """The fields of every version at once."""
        questions = by_topic((question.partition, question) for question in self.questions)
        forgotten = by_topic((tp, None) for tp in self.forgotten)
        return {
            "replica_id": CONSUMER,
            "max_wait": milliseconds(self.max_wait),
            "min_bytes": self.min_bytes,
            "max_bytes": self.max_bytes,
            "isolation_level": int(self.read_committed),
            "session_id": self.session_id,
            "session_epoch": self.session_epoch,
            "topics": tuple(
                {
                    "topic": topic,
                    "topic_id": self.topic_ids.get(topic),
                    "partitions": tuple(partition_body(*row) for row in rows),
                }
                for topic, rows in questions.items()
            ),
            "forgotten_topics_data": tuple(
                {
                    "topic": topic,
                    "topic_id": self.topic_ids.get(topic),
                    "partitions": tuple(partition for partition, _ in rows),
                }
                for topic, rows in forgotten.items()
            ),
            "rack_id": self.rack,
        }

    def answer(self, body: Body) -> FetchAnswer:
        """Read an answer of any version.

        Raises:
            Malformed: It names a topic id that the session does not have.
        """
        names = {topic_id: name for name, topic_id in self.topic_ids.items()}
        rows: list[FetchedPartition] = []
        for topic in body["responses"]:
            name = topic["topic"] if "topic" in topic else names.get(topic["topic_id"])
            if name is None:
                raise Malformed(f"topic id {topic['topic_id']} was not asked for")
            rows += [fetched(name, row) for row in topic["partitions"]]
        return FetchAnswer(
            error=body.get("error_code", 0),
            session_id=body.get("session_id", NO_SESSION),
            partitions=tuple(rows),
            nodes=tuple(
                node(each["node_id"], each["host"], each["port"], each["rack"])
                for each in body.get("node_endpoints", ())
            ),
            throttle=throttle(body),
        )


def memory_behind(view: memoryview) -> int:
    """The bytes of memory that a view keeps alive.

    A native frame tells it, since its pages may have been another's before; any other
    is as large as it is long.
    """
    owner: Any = view.obj
    held: int | None = getattr(owner, "held", None)
    return len(owner) if held is None else held


def partition_body(partition: int, question: FetchQuestion) -> Body:
    """The request's body of one partition."""
    return {
        "partition": partition,
        "current_leader_epoch": or_minus_one(question.leader_epoch),
        "fetch_offset": question.offset,
        "last_fetched_epoch": NO_EPOCH,
        "log_start_offset": -1,
        "partition_max_bytes": question.max_bytes,
    }


def fetched(topic: str, row: Body) -> FetchedPartition:
    """Read one partition of the answer."""
    leader = row.get("current_leader")
    aborted = row["aborted_transactions"]
    return FetchedPartition(
        partition=TopicPartition(topic, row["partition_index"]),
        error=row["error_code"],
        records=row["records"],
        high_watermark=known(row["high_watermark"]),
        last_stable_offset=known(row["last_stable_offset"]),
        log_start=known(row.get("log_start_offset", -1)),
        aborted=None
        if aborted is None
        else tuple((each["producer_id"], each["first_offset"]) for each in aborted),
        preferred_replica=known(row.get("preferred_read_replica", -1)),
        leader=None
        if leader is None or leader["leader_id"] < 0
        else LeaderHint(leader["leader_id"], leader["leader_epoch"]),
    )
