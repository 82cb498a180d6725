"""Manager of offsets: plans the reads of batch jobs, and commits them for a group.

Thread: any of the driver's, several at a time: a manager keeps its configuration and
nothing else, and each call has clients of its own (`visit`).

    offsets = OffsetManager("b1:9092,b2:9092", "billing")
    plan = offsets.plan("orders", start_missing="earliest")
    frame = spark.read.format("prokurist").options(**plan.options()).load()
    ...                     # write the results
    offsets.commit(plan)    # the next plan begins here

Invariants: every call ends by its deadline, with an answer or with a TimeoutException that
names its requests and brokers. A commit never takes a group back unless forced, and never
disturbs one that has members.

Between a plan and its commit Kafka keeps nothing: a job that dies reads the same again. Two
jobs for one group at the same time would read the same twice; the look at the committed offsets
and the commit are two requests, and only care can keep another job out between them.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from prokurist.config import ConsumerConfig
from prokurist.errors import ConfigException
from prokurist.events.clock import MonotonicClock, as_seconds, epoch_milliseconds
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.checkpoint import Checkpoint, read_checkpoint
from prokurist.spark.cluster_session import ClusterSession, Topics, visiting
from prokurist.spark.commit_metadata import is_later, note_of, refuse_backwards
from prokurist.spark.errors import DataLossException, Loss
from prokurist.spark.offset_manager.plan import OffsetPlan
from prokurist.spark.offset_manager.planning import (
    ARGUMENTS,
    edge_after_loss,
    lost,
    place_of,
    told,
    within,
)
from prokurist.spark.offset_resolution import ends, starts
from prokurist.spark.rate_limits import Splits, rate_limited
from prokurist.spark.start_offsets import (
    Committed,
    Edge,
    StartingOffsets,
    check_end,
    check_order,
    check_start,
    missing_in,
)
from prokurist.types import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Unpack

    from prokurist.config.typed import ConsumerKeywords

Where = str | int | datetime | Mapping[TopicPartition, int]
"""A place: the words of `startingOffsets`, milliseconds, a date and time, or offsets."""


@dataclass(frozen=True, slots=True)
class Lag:
    """The lag of a group in one partition.

    Attributes:
        committed: Where it is; None if it has committed nothing.
        end: Where the log ends.
    """

    committed: int | None
    end: int

    @property
    def records(self) -> int | None:
        """The number of offsets behind, at least that of records; None without a commit."""
        return None if self.committed is None else max(0, self.end - self.committed)


class OffsetManager:
    """Plans the reads of batch jobs, commits them, and measures a group's lag.

    Args:
        bootstrap: The brokers, as in the clients' key `bootstrap.servers`.
        group: The group of the commits; without one there are plans that begin elsewhere, and
            no commits.
        timeout: Seconds for a call that is given none.
        per_try: Seconds until a silent broker is given up and the request goes round again, as
            often as the call has time for.
        keywords: Further keys of `KafkaConsumer`, with underscores.

    Raises:
        ConfigException: A key is unknown, or a value breaks its rule.
    """

    def __init__(
        self,
        bootstrap: str | Sequence[str],
        group: str | None = None,
        *,
        timeout: float | timedelta = 10.0,
        per_try: float | timedelta = 2.5,
        **keywords: "Unpack[ConsumerKeywords]",
    ) -> None:
        keys: dict[str, object] = {
            # Each call has clients of its own: under one name they are one to metrics.
            "client_id": "prokurist-offsets",
            "request_timeout_ms": max(1, int(as_seconds(per_try) * 1000)),
            **keywords,
            "bootstrap_servers": bootstrap,
            # A topic's name that was mistyped must not become a topic.
            "allow_auto_create_topics": False,
            "enable_auto_commit": False,
        }
        if group is not None:
            keys["group_id"] = group
        self._keys = {name.replace("_", "."): value for name, value in keys.items()}
        servers = ConsumerConfig(self._keys).bootstrap_servers
        self._bootstrap = ",".join(f"{each.host}:{each.port}" for each in servers)
        self._group = group
        self._timeout = as_seconds(timeout)
        self._clock = MonotonicClock()

    def __repr__(self) -> str:
        return f"OffsetManager({self._bootstrap!r}, {self._group!r})"

    def plan(
        self,
        topics: Topics,
        *,
        start: Where = "committed",
        start_missing: Literal["error", "earliest", "latest"] = "error",
        end: Where = "latest",
        no_record: Literal["error", "latest"] = "error",
        on_data_loss: Literal["fail", "earliest", "latest"] = "fail",
        max_offsets: int | None = None,
        min_partitions: int | None = None,
        max_records: int | None = None,
        timeout: float | timedelta | None = None,
    ) -> OffsetPlan:
        """Pin the offsets that a batch job is to read.

        Args:
            topics: Names, partitions, or a `re.Pattern` that matches whole names.
            start: Where it begins: `committed`, `committed:OTHER`, `earliest`, a time
                (`2026-11-22T09:30`, `-1h`, a datetime, milliseconds), or offsets, as a
                mapping or as Spark's JSON of them.
            start_missing: Start of partitions without a committed offset, or missing from the
                given offsets.
            end: Where it ends: `latest`, a time, or offsets.
            no_record: Start of partitions without a record as young as the start time.
            on_data_loss: Treatment of a start that is no longer in its log: fail, or go on at
                the log's beginning or end. `OffsetPlan.losses` has the skipped offsets.
            max_offsets: Most offsets in all, shared out in proportion to the backlogs.
            min_partitions: `minPartitions` of the reader.
            max_records: `maxRecordsPerPartition` of the reader.
            timeout: Seconds; None for the manager's own.

        Raises:
            ConfigException: An argument is none of its forms, or contradicts the logs.
            DataLossException: A start is not in its log, and nothing says where to go on.
            KafkaException: The brokers refuse.
            NoOffsetForPartitionException: Nothing is committed, and nothing says where to
                begin then.
            TimeoutException: The time is over.
            UnknownTopicOrPartitionException: A topic does not exist.
        """
        now = epoch_milliseconds()
        first = place_of(start, ARGUMENTS.start, now)
        last = place_of(end, ARGUMENTS.end, now)
        check_start(first, ARGUMENTS)
        check_end(last, ARGUMENTS)
        check_order(first, last, ARGUMENTS)
        if first == Committed():
            self._need_group("a plan that begins at `committed`")
        beginning = StartingOffsets(
            first,
            missing_in(no_record, ARGUMENTS.no_record, earliest=False),
            missing_in(start_missing, ARGUMENTS.unnamed, earliest=True),
        )
        go_on = edge_after_loss(on_data_loss)
        for name, limit in (
            ("max_offsets", max_offsets),
            ("min_partitions", min_partitions),
            ("max_records", max_records),
        ):
            if limit is not None and limit < 1:
                raise ValueError(f"{name} is a number from 1 on, or None: {limit}")
        with self._visit("plan", timeout) as visit:
            infos = visit.partitions(topics)
            # The ends come after what is committed, or a job that commits meanwhile
            # would look as if its log had been cut back.
            found = starts(beginning, infos, visit, ARGUMENTS)
            log_starts, log_ends = visit.beginnings(infos), visit.ends(infos)
            losses = lost(found, log_starts, log_ends)
            if losses and go_on is None:
                raise DataLossException(
                    f"what was to be read is not there: {told(losses)}. To go on all the "
                    "same, set on_data_loss to earliest or latest",
                    losses=losses,
                )
            edges = log_ends if go_on is Edge.LATEST else log_starts
            found |= {each.partition: edges[each.partition] for each in losses}
            stop = within(ends(last, infos, visit, ARGUMENTS), found, log_ends)
        if max_offsets is not None:
            stop = rate_limited(max_offsets, found, stop)
        return OffsetPlan(
            bootstrap_servers=self._bootstrap,
            group=self._group,
            starts=found,
            ends=stop,
            log_starts=log_starts,
            log_ends=log_ends,
            leader_epochs={
                tp: info.leader_epoch
                for tp, info in infos.items()
                if info.leader_epoch is not None
            },
            topic_ids={
                tp.topic: info.topic_id
                for tp, info in infos.items()
                if info.topic_id is not None
            },
            made_at=now,
            splits=Splits(min_partitions, max_records),
            losses=tuple(losses),
        )

    def check(self, plan: OffsetPlan, timeout: float | timedelta | None = None) -> None:
        """Check that a plan can still be read: before a job, or before it is repeated.

        Raises:
            DataLossException: A topic was created again, or a log begins behind a start or ends
                before an end.
            KafkaException: The brokers refuse.
            TimeoutException: The time is over.
            UnknownTopicOrPartitionException: A topic does not exist any more.
        """
        with self._visit("check", timeout) as visit:
            infos = visit.partitions(plan.partitions)
            for tp, info in infos.items():
                known = plan.topic_ids.get(tp.topic)
                if known is not None and info.topic_id not in {known, None}:
                    raise DataLossException(
                        f"the topic {tp.topic} was deleted and created again since the plan: "
                        "none of its offsets means what it meant. Make another plan"
                    )
            begins, log_ends = visit.beginnings(infos), visit.ends(infos)
        losses = [
            *lost(
                {tp: at for tp, at in plan.starts.items() if at < plan.ends[tp]},
                begins,
                log_ends,
            ),
            *(
                Loss(tp, at, begins[tp], log_ends[tp])
                for tp, at in sorted(plan.ends.items())
                if plan.starts[tp] <= log_ends[tp] < at
            ),
        ]
        if losses:
            raise DataLossException(
                f"the plan cannot be read any more: {told(losses)}. Make another plan",
                losses=losses,
            )

    def commit(
        self,
        done: OffsetPlan | Checkpoint | Mapping[TopicPartition, int],
        *,
        query: str | None = None,
        batch: int | None = None,
        force: bool = False,
        timeout: float | timedelta | None = None,
    ) -> dict[TopicPartition, int]:
        """Commit the end of a job's reads.

        Args:
            done: The plan that was read, the checkpoint, or for each partition the offset
                after the last record that is done.
            query: A streaming query's id. With `batch` it is noted beside the offsets, and
                a batch before the one that is noted there changes nothing: so a batch that
                is repeated does no harm. A checkpoint brings its own.
            batch: The number of its batch.
            force: Commit regardless of the committed offsets, backwards as well.
            timeout: Seconds; None for the manager's own.

        Returns:
            The committed offsets; fewer than given where a later batch was here before.

        Raises:
            CommitBackwardsException: It would take the group back. Nothing is committed.
            GroupInUseException: The group has live members. Nothing is committed, and they
                notice nothing.
            KafkaException: The brokers refuse.
            TimeoutException: The time is over; `may_have_happened` is True if the offsets may
                have been committed all the same.
        """
        group = self._need_group("a commit")
        if isinstance(done, Checkpoint):
            query, batch = done.query, done.batch
        if (query is None) != (batch is None):
            raise TypeError("query and batch belong together: give both, or neither")
        offsets = done.ends if isinstance(done, (OffsetPlan, Checkpoint)) else done
        note = "" if query is None or batch is None else note_of(query, batch)
        wanted = {tp: OffsetAndMetadata(offset, note) for tp, offset in offsets.items()}
        if not wanted:
            return {}
        with self._visit("commit", timeout) as visit:
            if not force:
                before = visit.notes(group, wanted)
                wanted = {
                    tp: at
                    for tp, at in wanted.items()
                    if not is_later(before[tp], query, batch)
                }
                refuse_backwards(group, before, wanted)
            if wanted:
                visit.commit(group, wanted)
        return {tp: at.offset for tp, at in wanted.items()}

    def lag(
        self,
        group: str | None = None,
        topics: Topics | None = None,
        *,
        timeout: float | timedelta | None = None,
    ) -> dict[TopicPartition, Lag]:
        """The lag of a group, partition by partition.

        Args:
            group: The group; None for the manager's own.
            topics: The topics; None for all with committed offsets of the group.
            timeout: Seconds; None for the manager's own.

        Raises:
            KafkaException: The brokers refuse.
            TimeoutException: The time is over.
        """
        asked = self._need_group("a lag") if group is None else group
        with self._visit("lag", timeout) as visit:
            infos = visit.all_partitions() if topics is None else visit.partitions(topics)
            committed = visit.committed(asked, infos)
            shown = [tp for tp in infos if topics is not None or committed[tp] is not None]
            log_ends = visit.ends(shown)
        return {tp: Lag(committed[tp], log_ends[tp]) for tp in shown}

    def from_checkpoint(
        self,
        path: str | os.PathLike[str],
        *,
        source: int | str | None = None,
        batch: int | None = None,
        spark: Any = None,
    ) -> Checkpoint:
        """The offsets of a streaming query's checkpoint. See `read_checkpoint`.

        Raises:
            CheckpointException: It is no checkpoint, no batch is done, or none of its
                sources is Kafka's.
        """
        return read_checkpoint(path, source=source, batch=batch, spark=spark)

    def sync_group_from_checkpoint(
        self,
        path: str | os.PathLike[str],
        *,
        source: int | str | None = None,
        force: bool = False,
        spark: Any = None,
        timeout: float | timedelta | None = None,
    ) -> dict[TopicPartition, int]:
        """Commit the end of the last batch that a streaming query has done.

        Args:
            path: The checkpoint's folder.
            source: See `read_checkpoint`.
            force: See `commit`.
            spark: See `read_checkpoint`.
            timeout: Seconds for the commit; None for the manager's own.

        Raises:
            CheckpointException: See `from_checkpoint`.
            CommitBackwardsException: See `commit`.
            GroupInUseException: See `commit`.
            KafkaException: The brokers refuse.
            TimeoutException: The time is over.
        """
        done = self.from_checkpoint(path, source=source, spark=spark)
        return self.commit(done, force=force, timeout=timeout)

    def _visit(
        self, operation: str, timeout: float | timedelta | None
    ) -> "AbstractContextManager[ClusterSession]":
        given = self._timeout if timeout is None else timeout
        return visiting(f"OffsetManager.{operation}", self._keys, given, self._clock)

    def _need_group(self, what: str) -> str:
        if self._group is None:
            raise ConfigException(
                f"{what} needs a group, and this manager has none: "
                'OffsetManager("…", group="billing")'
            )
        return self._group
