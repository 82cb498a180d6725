"""Computes the offsets of a stream's triggers; the source's logic without pyspark.

Thread: the one of the process that Spark runs beside the driver for each source.

Spark writes down how far a trigger goes before anything of it is read, and reads just that
again after a failure. So its errors have to be noticed here, before: what Spark
has written down once and cannot read would stop the query for ever.

Invariants: each step has one deadline. Where reading began stands in the first end, as
`$init`, because Spark keeps it nowhere else; an end that is nothing but the beginning is
recognised by that. A partition that is new begins where its log does, and so does one whose
topic was created again, which its id tells. A log that is shorter than it was is a loss; where
that is borne, the stream goes back to its end, as with Spark's own source, and what comes from
then on is read.

A place is kept while its topic is missing: a broker that lags, or a right that was taken away,
hides topics that are there. With `failOnDataLoss` the query fails, and its checkpoint has every
place. Without it the place is kept until the topic has been missing for `brokerDownGraceMs`.

An id belongs to the ends of logs only if the topic was listed with it after they were looked
up: between a list and a look-up a topic may be deleted and created again. So what is to be
read is confirmed by one more list of its topics.

A partition whose leader is away stays where it is for this trigger, and the others are read;
at the start of a query its own start is deferred. That ends with an error after the grace,
because a watermark goes on with the others, and records that come later than it are dropped.

Under `availableNow` nothing is read beyond where the logs ended at its start, and a step that
cannot be made for all partitions is an error: to read nothing would mean that all is read.
"""

import logging
import math
from collections.abc import Collection, Mapping
from typing import Any, Final
from uuid import UUID

from prokurist.errors import TimeoutException
from prokurist.events.clock import Clock, epoch_milliseconds
from prokurist.spark import offset_resolution
from prokurist.spark.errors import DataLossException
from prokurist.spark.offset_json import EARLIEST, SourceOffset
from prokurist.spark.offset_ranges import OffsetRange, ranges_between
from prokurist.spark.rate_limits import TriggerLimits
from prokurist.spark.repeated_warnings import RepeatedWarnings
from prokurist.spark.source.batch_planning import check_there, cut
from prokurist.spark.source.data_losses import LogBounds, Offsets, notice_losses
from prokurist.spark.source.deferred_starts import DeferringLogs, resolved
from prokurist.spark.source.driver_queries import DriverQueries
from prokurist.spark.source.options import OnBrokerDown, Settings
from prokurist.spark.source.silent_leaders import SilentLeaders
from prokurist.spark.source.topic_listing import Listing
from prokurist.spark.start_offsets import Missing, stream_start
from prokurist.types import TopicPartition, named

START: Final = "the start that Spark gives"
END: Final = "the end that Spark gives"

log: Final = logging.getLogger(__name__)


GONE_AFTER: Final = (0.5, 1.0)
"""Pauses before each list that has to lack a topic until `failOnDataLoss` makes it an error."""
STREAM: Final = "a stream of Kafka"
ALL_THERE: Final = "the topics that were read are there"
ALL_NAMED: Final = "all that the selection names is there"


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
        self._listing: Listing | None = None
        self._listed_at = -math.inf
        self._topic_ids: dict[str, UUID] = {}
        self._missing: dict[TopicPartition, float] = {}
        self._begins: Offsets = {}
        self._warnings = RepeatedWarnings()

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
        listing = self._brokers.listing(self._settings.selection)
        listing.check()
        self._topic_ids |= listing.known_ids
        partitions = listing.partitions
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
            partitions = self._listed(SourceOffset({})).partitions
            self._target = self._leaders.answers(partitions, self._brokers.ends, whole=True)

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
        # What a silent leader told last stands, but not the end of a place that is dropped.
        kept = begun.ends.keys() | begun.deferred.keys()
        former = self._latest or {}
        self._latest = {tp: at for tp, at in former.items() if tp in kept} | dict(logs.last)
        self._begins = logs.first
        ends = self._goal(begun.ends, logs, limited=limited)
        # A topic that was created again may end where the former one did, and is not read yet.
        moved = begun.ends.items() - given.ends.items()
        if ends == given.ends and begun.deferred == given.deferred and not moved:
            return dict(start)
        self._took_at = self._clock.now()
        bears_start = given.start == given.ends or moved
        return SourceOffset(ends, begun.ends if bears_start else None, begun.deferred).as_dict()

    def report(self) -> dict[str, Any] | None:
        """The ends of the logs when they were looked up last."""
        return None if self._latest is None else SourceOffset(self._latest).as_dict()

    def ranges(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[OffsetRange]:
        """The pieces that the tasks of a trigger read.

        Raises:
            DataLossException: Records of a new partition are gone since this was planned.
            KafkaException: A partition is new, and its broker does not tell where it begins.
        """
        goal = SourceOffset.of(end, END)
        starts = dict(SourceOffset.of(start, START).ends if goal.start is None else goal.start)
        new = goal.ends.keys() - starts.keys()
        starts |= {tp: first for tp, first in self._begins.items() if tp in new}
        if unknown := [tp for tp in new if tp not in starts]:
            with self._brokers.within(self._settings.driver_deadline):
                found = self._leaders.answers(unknown, self._brokers.beginnings, whole=True)
            starts |= found
            if self._leaders.absent and self._settings.fail_on_data_loss:
                raise DataLossException(
                    f"{named(self._leaders.absent)} was to be read, and does not exist any "
                    f"more. Set failOnDataLoss to false to read what is left"
                )
            if self._settings.fail_on_data_loss:
                # It is planned from offset 0 on, or with a start: see `notice_losses`.
                last = {tp: max(first, goal.ends[tp]) for tp, first in found.items()}
                check_there(dict.fromkeys(found, 0), found, last)
        return cut(self._settings, ranges_between(starts, goal.ends))

    # --- one look at the logs ----------------------------------------------------------

    def _looked(self, given: SourceOffset) -> tuple[LogBounds, SourceOffset]:
        """Look up the logs, and the position of the stream.

        What is gone is noticed. The second answer has the starts that were deferred until
        now, and those of topics that were created again; it lacks what is not read any more.
        """
        absent: set[TopicPartition] = set()
        while True:
            listing = self._listed(given)
            logs = self._asked(given, listing)
            # A broker that lags may go on listing what does not exist: that is not waited for.
            listed_absent, absent = absent, self._leaders.absent
            if self._is_confirmed(given, listing, logs) and absent <= listed_absent:
                break
            self._listing = None
            if not self._brokers.has_time:
                raise TimeoutException("the topics that are read are not the same for long")
        logs = self._past_open_transactions(given, logs)
        recreated = listing.recreated(self._topic_ids)
        ends, deferred = self._places(given, listing, recreated)
        answering = {tp: each for tp, each in deferred.items() if tp in logs.last}
        found = resolved(answering, logs.first, logs.last, self._brokers, self._leaders)
        deferred = {tp: each for tp, each in deferred.items() if tp not in found}
        begun = SourceOffset({**ends, **found}, given.start, deferred)
        notice_losses(
            given,
            begun.ends,
            logs,
            recreated,
            self._missing,
            fails=self._settings.fail_on_data_loss,
        )
        self._topic_ids |= listing.known_ids
        return logs, begun

    def _asked(self, given: SourceOffset, listing: Listing) -> LogBounds:
        """Look up the logs, twice if one is shorter than it was."""
        logs = self._bounds(listing.partitions)
        if any(tp in logs.last and logs.last[tp] < at for tp, at in given.ends.items()):
            # A new leader may have said so, just after its election.
            logs = self._bounds(listing.partitions)
        return logs

    def _past_open_transactions(self, given: SourceOffset, logs: LogBounds) -> LogBounds:
        """Keep a place between the last stable offset and the end of its log: nothing is gone.

        A query has such a place when it goes on with `read_committed`, and has read up to the
        end before. A partition whose leader is silent now is left out.
        """
        short = [tp for tp, at in given.ends.items() if logs.last.get(tp, at) < at]
        if not short or not self._brokers.reads_committed:
            return logs
        log_ends = self._leaders.answers(short, self._brokers.log_ends)
        silent = set(short) - log_ends.keys()
        kept = {tp: min(given.ends[tp], end) for tp, end in log_ends.items()}
        return LogBounds(
            {tp: each for tp, each in logs.first.items() if tp not in silent},
            {tp: each for tp, each in logs.last.items() if tp not in silent} | kept,
        )

    def _bounds(self, partitions: Collection[TopicPartition]) -> LogBounds:
        self._leaders.forget_others(partitions)
        edges = self._leaders.answers(partitions, self._edges, whole=self._target is not None)
        return LogBounds(
            {tp: first for tp, (first, _) in edges.items()},
            {tp: last for tp, (_, last) in edges.items()},
        )

    def _is_confirmed(self, given: SourceOffset, listing: Listing, logs: LogBounds) -> bool:
        """Whether what is to be read of the logs is of the topics that were listed.

        A topic is deleted and created again between the list and the look-up (A), or deleted
        between the look-up and now (B). The ends are those of the new log (A), or of one that
        is gone (B). A list that is made after the look-up has another id (A), or
        none (B).
        """
        news = {
            tp.topic
            for tp, at in logs.last.items()
            if given.ends.get(tp) != at and listing.topic_ids.get(tp.topic) is not None
        }
        now = self._brokers.topic_ids(news) if news else {}
        return all(now.get(name) == listing.topic_ids[name] for name in news)

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

    # --- the topics that there are -----------------------------------------------------

    def _listed(self, given: SourceOffset) -> Listing:
        """The topics that there are; listed again if the list is old, or lacks a place.

        Raises:
            UnknownTopicOrPartitionException: One that was never read is not there.
        """
        places = given.ends.keys() | given.deferred.keys()
        now = self._clock.now()
        listing, cached = self._listing, True
        due = min(self._missing.values(), default=math.inf) + self._settings.grace <= now
        if listing is None or due or now - self._listed_at >= self._brokers.max_age:
            listing, cached = self._list(places), False
        if cached and self._lacks(places, listing) - self._missing.keys():
            listing = self._list(places)
        if self._settings.fail_on_data_loss:
            for pause in GONE_AFTER:
                if not (self._lacks(places, listing) or listing.missing or listing.lacking):
                    break
                self._clock.sleep(pause)
                listing = self._list(places)
            if not self._lacks(places, listing):
                listing.check()
        self._note_missing(self._lacks(places, listing))
        self._note_unknown(listing.absence(places))
        return listing

    def _list(self, places: Collection[TopicPartition]) -> Listing:
        now = self._clock.now()
        overdue = now - self._settings.grace
        known = {
            tp.topic
            for tp in places
            if self._settings.selection.selects(tp)
            and self._missing.get(tp, -math.inf) <= overdue
        }
        self._listing = self._brokers.listing(self._settings.selection, known)
        self._listed_at = self._clock.now()
        return self._listing

    def _lacks(
        self, places: Collection[TopicPartition], listing: Listing
    ) -> set[TopicPartition]:
        """The places that are selected, and whose partitions are not there."""
        selects, there = self._settings.selection.selects, set(listing.partitions)
        return {tp for tp in places if tp not in there and selects(tp)}

    def _note_missing(self, lacking: Collection[TopicPartition]) -> None:
        now = self._clock.now()
        self._missing = {tp: self._missing.get(tp, now) for tp in lacking}
        if not lacking:
            self._warnings.over(STREAM, ALL_THERE, now)
        elif not self._settings.fail_on_data_loss:
            self._warnings.met(
                STREAM,
                ALL_THERE,
                f"{named(lacking)} is there no more; its place is kept, and what is left is "
                f"read. If it is missing for the {self._settings.grace:g} s of "
                f"brokerDownGraceMs, its place is dropped",
                now,
            )

    def _note_unknown(self, words: str) -> None:
        """Warn of what is selected by name, was never read, and does not exist.

        With `failOnDataLoss`, and at the first start of a query, it is an error.
        """
        now = self._clock.now()
        if words:
            self._warnings.met(
                STREAM, ALL_NAMED, f"{words}. What is left is read until it exists", now
            )
        else:
            self._warnings.over(STREAM, ALL_NAMED, now)

    def _places(
        self, given: SourceOffset, listing: Listing, recreated: Collection[str]
    ) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
        """The places and the deferred starts that are gone on with."""
        selects, now = self._settings.selection.selects, self._clock.now()
        places = given.ends.keys() | given.deferred.keys()
        unselected = {tp for tp in places if not selects(tp)}
        gone = {
            tp
            for tp, since in self._missing.items()
            if now - since >= self._settings.grace and tp.topic not in listing.refused
        }
        for dropped, why in (
            (unselected, "is not among what is read any more"),
            (gone, f"was missing for {self._settings.grace:g} s, for brokerDownGraceMs"),
        ):
            if dropped:
                log.warning(
                    "%s %s: its place in the stream is dropped. Should it be read again, it "
                    "begins where its log does",
                    named(dropped),
                    why,
                )
        self._missing = {tp: since for tp, since in self._missing.items() if tp not in gone}
        kept = {
            tp
            for tp in places
            if tp not in unselected and tp not in gone and tp.topic not in recreated
        }
        again = {tp: EARLIEST for tp in listing.partitions if tp.topic in recreated}
        return (
            {tp: at for tp, at in given.ends.items() if tp in kept},
            {tp: each for tp, each in given.deferred.items() if tp in kept} | again,
        )

    # --- how much of it ----------------------------------------------------------------

    def _goal(
        self, begun: Offsets, logs: LogBounds, *, limited: bool
    ) -> dict[TopicPartition, int]:
        last = dict(logs.last)
        if self._target is not None:
            # A list lacked it when the end of the stream was fixed: its end is fixed now.
            target = self._target = {
                **{tp: end for tp, end in last.items() if tp in begun},
                **self._target,
            }
            last = {
                # A log that is shorter than it was is gone on with at its end, and is the only
                # one that goes back.
                tp: min(end, max(target[tp], begun.get(tp, 0)))
                for tp, end in last.items()
                if tp in target
            }
        # What no leader has answered for stays where it is.
        last = {**begun, **last}
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
