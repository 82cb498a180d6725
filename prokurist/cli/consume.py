"""`prokurist consume`: records to standard output.

Thread: the main one.
Invariants: in a group an offset is committed only after the records before it have been
written out, so that what a reader behind a pipe has lost comes again. Nothing is committed
outside of groups.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.formats import Format
from prokurist.cli.output import counted
from prokurist.cli.start_offset import StartOffset
from prokurist.cli.topics import partitions_of
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.events.clock import Deadline
from prokurist.records.consumer_records import ConsumerRecord
from prokurist.types import TopicPartition, named

LOOKING: Final = 0.2
"""How often it is looked whether the end is reached where no record comes any more."""
LOOKUPS: Final = 10.0
"""Seconds for topics and offsets, where reading itself has no end."""
PATIENCE: Final = 30.0
"""How long the way to the end may bring nothing, where no `--timeout` bounds it."""
LEAVING: Final = 1.0
"""Seconds that are kept for the last commit and for leaving the group."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What is to be read, and how it is written.

    Attributes:
        topics: The topics.
        partitions: Which partitions of them; none for all.
        beginning: Where to begin; in a group, where nothing is committed.
        group: The group to join, where it is one.
        count: How many records; None for all.
        to_the_end: Stop at the ends that there are when reading begins.
        format: Makes a record's bytes.
    """

    topics: Sequence[str]
    partitions: Sequence[int]
    beginning: StartOffset
    group: str | None
    count: int | None
    to_the_end: bool
    format: Format

    def __post_init__(self) -> None:
        if self.group is not None and self.partitions:
            raise Misused("-p with -G: the group says who reads which partition")
        if self.group is not None and self.beginning.edge is None:
            raise Misused("-o with -G is beginning or end: where nothing is committed")


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
    asked.say(counted(reading.count, "record"))


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

    def is_done(self) -> bool:
        """Whether all has been read that was asked for.

        Raises:
            Failed: It has not, and the time is over.
            KafkaException: The brokers do not tell.
        """
        wanted = self._wanted
        if wanted.count is not None and self.count >= wanted.count:
            return True
        if wanted.to_the_end and self._is_at_the_end():
            return True
        if self._left() == 0:
            if wanted.count is None and not wanted.to_the_end:
                return True  # To read for a while is what a time alone asks for.
            raise Failed(f"the time is over after {self._progress()}")
        if wanted.to_the_end and self._asked.clock.now() - self._moved_at >= PATIENCE:
            raise Failed(f"nothing came for {PATIENCE:g} s, after {self._progress()}")
        return False

    def go_on(self) -> None:
        """Wait for records, and write them out.

        Raises:
            KafkaException: Something is wrong that reading cannot go on after.
            OSError: They cannot be written.
        """
        wait = min(self._left(), LOOKING) if self._wanted.to_the_end else self._left()
        missing = None if self._wanted.count is None else self._wanted.count - self.count
        unwritten: list[ConsumerRecord] = []
        try:
            unwritten = list(self._consumer.poll(wait))
            taken = unwritten[:missing]
            sys.stdout.buffer.writelines(map(self._wanted.format, taken))
            sys.stdout.buffer.flush()
            unwritten = unwritten[missing:] if missing is not None else []
        finally:
            # Have them read again: a commit would count them as done.
            for record in reversed(unwritten):
                tp = TopicPartition(record.topic, record.partition)
                self._consumer.seek(tp, record.offset)
        if taken:
            self.count += len(taken)
            self._moved_at = self._asked.clock.now()

    def _is_at_the_end(self) -> bool:
        mine = self._consumer.assignment()
        if new := mine - self._ends.keys():
            self._ends.update(self._consumer.end_offsets(new, self._briefly().left()))
        self._behind = [
            tp
            for tp in sorted(mine)
            if self._consumer.position(tp, self._briefly().left()) < self._ends[tp]
        ]
        return bool(mine) and not self._behind

    def _progress(self) -> str:
        wanted, read = self._wanted, counted(self.count, "record")
        if wanted.count is not None:
            return f"{self.count} of {wanted.count} records"
        if not self._behind:
            return f"{read}: the group has given nothing to this member"
        return f"{read}: not at the end of {named(self._behind)}"

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
