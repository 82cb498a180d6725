"""Computes the offsets of a stream's triggers; the source's logic without pyspark.

Thread: the one of the process that Spark runs beside the driver for each source.

Spark writes down how far a trigger goes before anything of it is read, and reads just that
again after a failure. So its errors have to be noticed here, before: what Spark
has written down once and cannot read would stop the query for ever.

Invariants: each step has one deadline. Where reading began stands in the first end, as
`$init`, because Spark keeps it nowhere else; an end that is nothing but the beginning is
recognised by that. A partition that is new begins where its log does. A log that is shorter
than it was is a loss; where that is borne, the stream goes back to its end, as with Spark's
own source, and what comes from then on is read.

A partition whose leader is away stays where it is for this trigger, and the others are read;
at the start of a query its own start is deferred. That ends with an error after the grace,
because a watermark goes on with the others, and records that come later than it are dropped.

Under `availableNow` nothing is read beyond where the logs ended at its start, and a step that
cannot be made for all partitions is an error: to read nothing would mean that all is read.
"""

import logging
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from prokurist.errors import (
    TimeoutException,
    UnknownTopicOrPartitionException,
)
from prokurist.events.clock import Clock, epoch_milliseconds
from prokurist.spark import offset_resolution
from prokurist.spark.errors import DataLossException, Loss
from prokurist.spark.offset_json import SourceOffset
from prokurist.spark.offset_ranges import OffsetRange, ranges_between
from prokurist.spark.rate_limits import TriggerLimits
from prokurist.spark.source.batch_planning import cut
from prokurist.spark.source.deferred_starts import DeferringLogs, resolved
from prokurist.spark.source.driver_queries import DriverQueries
from prokurist.spark.source.options import OnBrokerDown, Settings
from prokurist.spark.source.silent_leaders import SilentLeaders
from prokurist.spark.start_offsets import Missing, stream_start
from prokurist.types import TopicPartition, named

Offsets = Mapping[TopicPartition, int]
START: Final = "the start that Spark gives"
END: Final = "the end that Spark gives"

log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LogBounds:
    """The beginnings and ends of logs, as looked up once.

    Attributes:
        partitions: All partitions that there are.
        first: Where the logs begin whose leaders have answered.
        last: Where they end.
    """

    partitions: frozenset[TopicPartition]
    first: Offsets
    last: Offsets


class Stream:
    """The offsets of one stream: where it begins, and how far each trigger goes.

    Args:
        settings: What the options come to.
        brokers: Who is asked.
        clock: For the deadlines, and the grace.
    """

    def __init__(self, settings: Settings, brokers: DriverQueries, clock: Clock) -> None:
        # Both are checked now, also where a checkpoint says where to go on.
        stream_start(settings.given, epoch_milliseconds())
        self._limits = TriggerLimits.of(settings.given)
        self._settings = settings
        self._brokers = brokers
        self._leaders = SilentLeaders(brokers, clock)
        self._clock = clock
        self._initial: SourceOffset | None = None
        self._target: Offsets | None = None
        self._latest: Offsets | None = None
        self._took_at = -math.inf
        self._down_since: float | None = None
        self._topic_ids: dict[str, UUID | None] = {}

    @property
    def limits(self) -> TriggerLimits:
        """The limits of each trigger."""
        return self._limits

    def initial(self) -> dict[str, Any]:
        """The stream's start, resolved once.

        Raises:
            ConfigException: The options name offsets that cannot be.
            KafkaException: The brokers do not tell in time.
        """
        if self._initial is None:
            with self._brokers.within(self._settings.driver_deadline):
                self._initial = self._begun()
        return self._initial.as_dict()

    def _begun(self) -> SourceOffset:
        """Resolve the start; without silent leaders, unless all have to answer."""
        now = epoch_milliseconds()
        beginning = stream_start(self._settings.given, now)
        partitions = self._brokers.partitions(self._settings.selection)
        if self._target is not None:
            starts = offset_resolution.starts(beginning, partitions, self._brokers)
            return SourceOffset(starts, starts)
        logs = DeferringLogs(
            self._brokers,
            self._leaders,
            now,
            defers_times=beginning.no_record is not Missing.ERROR,
        )
        found = offset_resolution.starts(beginning, partitions, logs)
        starts = {tp: at for tp, at in found.items() if tp not in logs.deferred}
        return SourceOffset(starts, starts, logs.deferred)

    def freeze(self) -> None:
        """Fix the end of the stream to the present ends of the logs.

        Raises:
            KafkaException: The brokers do not tell in time.
        """
        with self._brokers.within(self._settings.driver_deadline):
            partitions = self._brokers.partitions(self._settings.selection)
            self._target = self._brokers.ends(partitions)

    def latest(self, start: Mapping[str, Any], *, limited: bool) -> dict[str, Any]:
        """The end of the next trigger; its start if it reads nothing.

        Args:
            start: How far the stream has come.
            limited: Whether the limits of a trigger hold.

        Raises:
            KafkaException: The brokers do not tell in time, or records are gone.
        """
        given = SourceOffset.of(start, START)
        try:
            with self._brokers.within(self._settings.driver_deadline):
                logs, begun = self._looked(given)
        except TimeoutException as error:
            self._skip_or_raise(error)
            return dict(start)
        self._down_since = None
        self._check_silence()
        self._latest = {**(self._latest or {}), **logs.last}
        ends = self._goal(begun.ends, logs, limited=limited)
        if ends == given.ends and begun.deferred == given.deferred:
            return dict(start)
        self._took_at = self._clock.now()
        bears_start = given.start == given.ends or begun.ends != given.ends
        return SourceOffset(ends, begun.ends if bears_start else None, begun.deferred).as_dict()

    def report(self) -> dict[str, Any] | None:
        """The ends of the logs when they were looked up last."""
        return None if self._latest is None else SourceOffset(self._latest).as_dict()

    def ranges(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[OffsetRange]:
        """The pieces that the tasks of a trigger read.

        Raises:
            KafkaException: A partition is new, and its broker does not tell where it begins.
        """
        goal = SourceOffset.of(end, END)
        starts = dict(SourceOffset.of(start, START).ends if goal.start is None else goal.start)
        new = goal.ends.keys() - starts.keys()
        if new:
            with self._brokers.within(self._settings.driver_deadline):
                starts.update(self._brokers.beginnings(new))
        return cut(self._settings, ranges_between(starts, goal.ends))

    # --- one look at the logs ----------------------------------------------------------

    def _looked(self, given: SourceOffset) -> tuple[LogBounds, SourceOffset]:
        """Look up the logs, and the position of the stream.

        What is gone is noticed. The second answer has the starts that were deferred until
        now, and is else what was given.
        """
        partitions = self._there(given.ends)
        logs = self._asked(partitions)
        if any(tp in logs.last and logs.last[tp] < at for tp, at in given.ends.items()):
            # A new leader may have said so, just after its election.
            logs = self._asked(partitions)
        found = resolved(given.deferred, logs.first, logs.last, self._brokers, self._leaders)
        deferred = {
            tp: each
            for tp, each in given.deferred.items()
            if tp in logs.partitions and tp not in found
        }
        begun = SourceOffset({**given.ends, **found}, given.start, deferred)
        self._notice(begun.ends, logs)
        return logs, begun

    def _asked(self, partitions: list[TopicPartition]) -> LogBounds:
        there, brokers = frozenset(partitions), self._brokers
        if not partitions:
            return LogBounds(there, {}, {})
        if self._target is not None:
            return LogBounds(there, brokers.beginnings(partitions), brokers.ends(partitions))
        self._leaders.forget_others(there)
        edges = self._leaders.answers(partitions, self._edges)
        return LogBounds(
            there,
            {tp: first for tp, (first, _) in edges.items()},
            {tp: last for tp, (_, last) in edges.items()},
        )

    def _edges(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, tuple[int, int]]:
        first, last = self._brokers.beginnings(partitions), self._brokers.ends(partitions)
        return {tp: (first[tp], last[tp]) for tp in partitions}

    def _check_silence(self) -> None:
        """Raise if a partition has been left out for too long.

        Raises:
            TimeoutException: One is.
        """
        if self._leaders.longest() >= self._settings.grace:
            error = self._leaders.failure()
            error.add_note(
                f"Its records were passed over for the {self._settings.grace:g} s of "
                f"brokerDownGraceMs while the other partitions were read. Longer than that, a "
                f"watermark may be ahead of them by too much."
            )
            raise error

    def _there(self, begun: Offsets) -> list[TopicPartition]:
        """The partitions that exist; looked up again if one seems to be gone."""
        found = self._listed(fresh=False)
        return found if begun.keys() <= set(found) else self._listed(fresh=True)

    def _listed(self, *, fresh: bool) -> list[TopicPartition]:
        try:
            return self._brokers.partitions(self._settings.selection, fresh=fresh)
        except UnknownTopicOrPartitionException:
            if self._settings.fail_on_data_loss:
                raise
            return []

    def _notice(self, begun: Offsets, logs: LogBounds) -> None:
        """Log what is gone, or raise it.

        Raises:
            DataLossException: It is not to be borne.
        """
        missing = [tp for tp in begun if tp not in logs.partitions]
        told = [f"{named(missing)} is there no more"] if missing else []
        told += [f"the topic {name!r} was created again" for name in self._recreated()]
        losses = [
            Loss(tp, at, logs.first[tp], logs.last[tp])
            for tp, at in sorted({**dict.fromkeys(logs.last, 0), **begun}.items())
            if tp in logs.last and not logs.first[tp] <= at <= logs.last[tp]
        ]
        told += map(str, losses)
        if not told:
            return
        if self._settings.fail_on_data_loss:
            raise DataLossException(
                f"records are gone that this stream was to read: {'; '.join(told)}. Set "
                f"failOnDataLoss to false to read what is left",
                losses=losses,
            )
        log.warning(
            "records may be gone, and the stream goes on with what its logs have now: %s",
            "; ".join(told),
        )

    def _recreated(self) -> list[str]:
        """Topics that are others than at the last look, as far as their ids tell."""
        known, self._topic_ids = self._topic_ids, {**self._topic_ids, **self._brokers.topic_ids}
        return sorted(
            name
            for name, topic_id in self._topic_ids.items()
            if topic_id is not None and known.get(name, topic_id) not in (None, topic_id)
        )

    # --- how much of it ----------------------------------------------------------------

    def _goal(
        self, begun: Offsets, logs: LogBounds, *, limited: bool
    ) -> dict[TopicPartition, int]:
        silent = logs.partitions - logs.last.keys()
        last = {tp: at for tp, at in begun.items() if tp in silent} | dict(logs.last)
        if self._target is not None:
            target = self._target
            last = {
                # A log that is shorter than it was is gone on with at its end, and is the only
                # one that goes back.
                tp: min(end, max(target[tp], begun.get(tp, 0)))
                for tp, end in last.items()
                if tp in target
            }
        if not limited:
            return last
        waited = (self._clock.now() - self._took_at) * 1000
        if self._target is None and self._limits.holds_back(begun, last, waited):
            return dict(begun)
        known = {tp: begun[tp] if tp in begun else logs.first[tp] for tp in last}
        return self._limits.end(known, last)

    # --- without an answer -------------------------------------------------------------

    def _skip_or_raise(self, error: TimeoutException) -> None:
        """Note a step without an answer, and raise unless it may be skipped.

        Raises:
            TimeoutException: That is not to be borne, or has been for too long.
        """
        settings = self._settings
        if settings.on_broker_down is OnBrokerDown.FAIL or self._target is not None:
            raise error
        now = self._clock.now()
        if self._down_since is None:
            self._down_since = now - settings.driver_deadline
            log.warning("no broker answers, and nothing is read until one does: %s", error)
        down = now - self._down_since
        if down >= settings.grace:
            error.add_note(
                f"Nothing was read for {down:.0f} s, which is longer than brokerDownGraceMs."
            )
            raise error

    def close(self) -> None:
        """Close the stream's client."""
        self._brokers.close()

    def __repr__(self) -> str:
        state = "" if self._target is None else ", frozen"
        return f"Stream({self._settings.selection}{state})"
