"""`prokurist consume`: records to standard output.

Thread: the main one.
Invariants: in a group an offset is committed only after the records before it have been written
out, so that records lost by a reader behind a pipe come again. Nothing is committed outside of
groups.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.formats import Format
from prokurist.cli.record_filter import Accepts
from prokurist.cli.record_order import AsTheyCome, Merge, Newest, RecordOrder, partition_of
from prokurist.cli.start_offset import StartOffset, at_moment
from prokurist.cli.topics import partitions_of
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.events.clock import Deadline
from prokurist.lazy_dataclasses import dataclass
from prokurist.records.consumer_records import ConsumerRecord
from prokurist.records.why_empty import EmptyCause, WhyEmpty
from prokurist.types import TopicPartition, counted, named

LOOKING: Final = 0.2
"""Seconds between two checks for the end, while no records come."""
TELLING: Final = 5.0
"""Seconds without a record after which the reason is reported."""
UNREMARKABLE: Final = {EmptyCause.NOTHING_NEW, EmptyCause.FETCHING, EmptyCause.SKIPPED}
"""Causes of empty polls that are not reported while the command goes on."""
LOOKUPS: Final = 10.0
"""Seconds for topics and offsets, where reading itself has no end."""
PATIENCE: Final = 30.0
"""Seconds without progress towards the end before giving up, without `--timeout`."""
LEAVING: Final = 1.0
"""Seconds that are kept for the last commit and for leaving the group."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Records to read, and their format.

    Attributes:
        topics: The topics.
        partitions: The partitions of them; none for all.
        beginning: Where to begin; in a group, where nothing is committed.
        until: Stop before the first record at or after this time, in milliseconds since the
            epoch; None for no such end.
        group: The group to join, where it is one.
        count: How many records; None for all.
        to_the_end: Stop at the ends that there are when reading begins.
        merge: Write the records of all partitions by their timestamps.
        newest: Write so many records, the newest of all partitions; None for all.
        accepts: Filter of the records to write; None for all.
        format: Makes a record's bytes.
    """

    topics: Sequence[str]
    partitions: Sequence[int]
    beginning: StartOffset
    group: str | None
    count: int | None
    to_the_end: bool
    format: Format
    until: int | None = None
    merge: bool = False
    newest: int | None = None
    accepts: Accepts | None = None

    def __post_init__(self) -> None:
        if self.group is not None:
            self._check_group()
        if self.newest is not None and (self.count is not None or self.merge):
            raise Misused("-n says how many and in which order: leave out -c and --merge")
        if self.merge and not self.has_end:
            raise Misused("--merge needs an end, so as not to wait for a silent partition: -e")

    def _check_group(self) -> None:
        if self.partitions:
            raise Misused("-p with -G: the group says who reads which partition")
        if self.beginning.edge is None or self.until is not None:
            raise Misused("-o with -G is beginning or end: where nothing is committed")
        if self.merge or self.newest is not None:
            raise Misused("--merge and -n with -G: a group commits records as they are read")

    @property
    def has_end(self) -> bool:
        """True if reading stops at an end that is known when it begins."""
        return self.to_the_end or self.until is not None or self.newest is not None

    def order(self) -> RecordOrder:
        """Return the order of the written records."""
        if self.newest is not None:
            return Newest(self.newest)
        return Merge() if self.merge else AsTheyCome()


def run(asked: CommandOptions, wanted: ReadRequest) -> None:
    """Read until the count, the end, the time or Ctrl-C.

    Raises:
        Failed: A topic or partition does not exist, or the time was over too soon.
        KafkaException: The brokers refuse, or do not answer in time.
    """
    keys: dict[str, object]
    if wanted.group is not None:
        keys = {"group_id": wanted.group, "enable_auto_commit": True}
        keys["auto_offset_reset"] = wanted.beginning.edge
    else:
        # An offset out of range is an error: it must not become another one quietly.
        keys = {"auto_offset_reset": wanted.beginning.edge or "none"}
    with asked.consumer(**keys) as consumer:
        reading = Reading(asked, wanted, consumer)
        reading.begin()
        while not reading.is_done():
            reading.go_on()
    asked.say(counted(reading.count, "record") + reading.why_none())


class Reading:
    """One run of the command.

    Attributes:
        count: How many records have been written out.
    """

    def __init__(
        self, asked: CommandOptions, wanted: ReadRequest, consumer: KafkaConsumer
    ) -> None:
        self.count: int = 0
        self._asked = asked
        self._wanted = wanted
        self._consumer = consumer
        self._ends: dict[TopicPartition, int] = {}
        self._behind: list[TopicPartition] = []
        self._order = wanted.order()
        self._why_empty: WhyEmpty | None = None
        self._looked_at = 0
        self._moved_at = asked.clock.now()
        kept = 0.0 if wanted.group is None else min(LEAVING, asked.timeout / 5)
        self._until = Deadline(asked.deadline.at - kept)

    def begin(self) -> None:
        """Subscribe, or assign and place.

        Raises:
            Failed: There is no such topic or partition.
            KafkaException: The brokers do not tell.
        """
        wanted, consumer, lookups = self._wanted, self._consumer, self._briefly()
        there = {
            topic: [info.partition for info in partitions_of(consumer, lookups, topic)]
            for topic in wanted.topics
        }
        if wanted.group is not None:
            consumer.subscribe(wanted.topics)
            return
        partitions = [
            TopicPartition(topic, number)
            for topic, numbers in there.items()
            for number in chosen(topic, numbers, wanted.partitions)
        ]
        consumer.assign(partitions)
        wanted.beginning.place(consumer, lookups, partitions)
        if wanted.until is not None:
            self._ends = at_moment(consumer, lookups, partitions, wanted.until)
        if wanted.has_end:
            self._look_behind()

    def is_done(self) -> bool:
        """Return True if all requested records have been read.

        Raises:
            Failed: It has not, and the time is over.
            KafkaException: The brokers do not tell.
        """
        wanted = self._wanted
        if wanted.count is not None and self.count >= wanted.count:
            return True
        if wanted.has_end and self._is_at_the_end():
            return True
        if self._left() == 0:
            if wanted.count is None and not wanted.has_end:
                return True  # To read for a while is what a time alone asks for.
            raise Failed(f"the time is over after {self._progress()}")
        if wanted.has_end and self._asked.clock.now() - self._moved_at >= PATIENCE:
            raise Failed(f"nothing came for {PATIENCE:g} s, after {self._progress()}")
        return False

    def go_on(self) -> None:
        """Wait for records, and write them out.

        Raises:
            KafkaException: Something is wrong that reading cannot go on after.
            OSError: They cannot be written.
        """
        wait = min(self._left(), LOOKING if self._wanted.has_end else TELLING)
        unwritten: list[ConsumerRecord] = []
        taken = 0
        try:
            polled = self._consumer.poll(wait)
            self._tell(polled.why_empty)
            unwritten = list(polled)
            accepted, taken = self._chosen(unwritten)
            self._order.take(accepted)
            if self._wanted.has_end and self._wanted.group is None:
                self._look_behind()
            self._write(self._order.ready(self._behind))
            unwritten = unwritten[taken:]
        finally:
            # Have them read again: a commit would count them as done.
            for record in reversed(unwritten):
                self._consumer.seek(partition_of(record), record.offset)
        if taken:
            self._looked_at += taken
            self._moved_at = self._asked.clock.now()

    def why_none(self) -> str:
        """Return the reason for an output without records; empty if any was written."""
        if self.count:
            return ""
        if self._looked_at:
            return f": none of {counted(self._looked_at, 'record')} is one that was asked for"
        return f": {self._why_empty or 'there are none between the beginning and the end'}"

    def _tell(self, why: WhyEmpty | None) -> None:
        """Report the obstacle to records after a while, once for each cause."""
        before, self._why_empty = self._why_empty, why
        if why is None or self._wanted.has_end or why.cause in UNREMARKABLE:
            return
        is_new = before is None or before.cause is not why.cause
        is_named = before is not None and why.transactions and not before.transactions
        if (is_new or is_named) and self._left():
            self._asked.say(f"waiting: {why}")

    def _chosen(self, records: Sequence[ConsumerRecord]) -> tuple[list[ConsumerRecord], int]:
        """The records that are to be written, and how many were looked at for them."""
        wanted, chosen_ones = self._wanted, list[ConsumerRecord]()
        missing = None if wanted.count is None or wanted.merge else wanted.count - self.count
        for looked_at, record in enumerate(records):
            if missing is not None and len(chosen_ones) >= missing:
                return chosen_ones, looked_at
            if wanted.until is not None and record.offset >= self._ends[partition_of(record)]:
                continue
            if wanted.accepts is None or wanted.accepts(record):
                chosen_ones.append(record)
        return chosen_ones, len(records)

    def _write(self, records: Sequence[ConsumerRecord]) -> None:
        missing = None if self._wanted.count is None else self._wanted.count - self.count
        written = records[:missing]
        sys.stdout.buffer.writelines(map(self._wanted.format, written))
        sys.stdout.buffer.flush()
        self.count += len(written)

    def _is_at_the_end(self) -> bool:
        if self._wanted.group is not None:
            self._look_behind()
        return bool(self._consumer.assignment()) and not self._behind

    def _look_behind(self) -> None:
        """Find the partitions before their end; pause the others, except in a group."""
        mine = self._consumer.assignment()
        if new := mine - self._ends.keys():
            self._ends.update(self._consumer.end_offsets(new, self._briefly().left()))
        self._behind = [
            tp
            for tp in sorted(mine)
            if self._consumer.position(tp, self._briefly().left()) < self._ends[tp]
        ]
        if self._wanted.group is None:
            resting = (mine - set(self._behind)) | set(self._order.full())
            self._consumer.pause(resting)
            self._consumer.resume(mine - resting)

    def _progress(self) -> str:
        wanted, read = self._wanted, counted(self.count, "record")
        if wanted.count is not None:
            return f"{self.count} of {counted(wanted.count, 'record')}{self.why_none()}"
        if not self._behind:
            return f"{read}{self.why_none()}"
        why = self._why_empty
        kept = "" if why is None or why.cause in UNREMARKABLE else f": {why}"
        return f"{read}: not at the end of {named(self._behind)}{kept}"

    def _left(self) -> float:
        return self._until.remaining(self._asked.clock.now())

    def _briefly(self) -> CommandOptions:
        return replace(self._asked, timeout=min(self._asked.left(), LOOKUPS))


def chosen(topic: str, there: Sequence[int], wanted: Sequence[int]) -> Sequence[int]:
    """The partitions of a topic that are wanted: all, unless some are named.

    Raises:
        Failed: One of those is not there.
    """
    for number in wanted:
        if number not in there:
            raise Failed(f"{topic} has no partition {number}: they go from 0 to {max(there)}")
    return wanted or there
