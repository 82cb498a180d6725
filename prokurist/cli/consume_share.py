"""`prokurist consume --share`: records of a share group to standard output.

Thread: the main one.
Invariants: a record is accepted only after it has been written out; the others are released, so
that records lost by a reader behind a pipe come again.
"""

import sys
from collections.abc import Sequence
from typing import Final

from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed
from prokurist.cli.formats import Format
from prokurist.events.clock import Deadline
from prokurist.lazy_dataclasses import dataclass
from prokurist.records.why_empty import EmptyCause, WhyEmpty
from prokurist.share.consumer import KafkaShareConsumer
from prokurist.types import counted

TELLING: Final = 5.0
"""Seconds without a record after which the reason is reported."""
LOOKING: Final = 1.0
"""Seconds without a record after which nothing is available, with `-e`."""
BEGINNING: Final = 3.0
"""The same before the first record: leaders answer while they load the group's state."""
LEAVING: Final = 1.0
"""Seconds that are kept for the last acknowledgements and for leaving the group."""


@dataclass(frozen=True, slots=True)
class ShareRequest:
    """Records to read, and their format.

    Attributes:
        topics: The topics.
        group: The share group.
        count: How many records; None for all.
        to_the_end: Stop when nothing is available.
        format: Makes a record's bytes.
    """

    topics: Sequence[str]
    group: str
    count: int | None
    to_the_end: bool
    format: Format


def run(asked: CommandOptions, wanted: ShareRequest) -> None:
    """Read until the count, the end, the time or Ctrl-C.

    Raises:
        Failed: The time was over too soon.
        KafkaException: The brokers refuse.
    """
    kept = min(LEAVING, asked.timeout / 5)
    until = Deadline(asked.deadline.at - kept)
    count = 0
    at_end = False
    nothing_since: float | None = None
    why: WhyEmpty | None = None
    with asked.share_consumer(wanted.group, wanted.count) as consumer:
        consumer.subscribe(wanted.topics)
        while wanted.count is None or count < wanted.count:
            now = asked.clock.now()
            left = until.remaining(now)
            if not left:
                break
            before = why
            written, why = write_some(consumer, wanted, min(left, waiting(wanted)), count)
            count += written
            if why is None:
                continue
            if why.cause is EmptyCause.NOTHING_NEW:
                nothing_since = now if nothing_since is None else nothing_since
                lasted = asked.clock.now() - nothing_since
                at_end = wanted.to_the_end and (count > 0 or lasted >= BEGINNING)
                if at_end:
                    break
            if not wanted.to_the_end and (before is None or before.cause is not why.cause):
                asked.say(f"waiting: {why}")
    reason = "" if why is None else f": {why}"
    if wanted.count is not None and count < wanted.count and not wanted.to_the_end:
        raise Failed(
            f"the time is over after {count} of {counted(wanted.count, 'record')}{reason}"
        )
    if wanted.to_the_end and not at_end and (wanted.count is None or count < wanted.count):
        raise Failed(f"the time is over after {counted(count, 'record')}{reason}")
    asked.say(counted(count, "record") + ("" if count or why is None else f": {why}"))


def waiting(wanted: ShareRequest) -> float:
    """Seconds of a poll."""
    return LOOKING if wanted.to_the_end else TELLING


def write_some(
    consumer: KafkaShareConsumer, wanted: ShareRequest, seconds: float, count: int
) -> tuple[int, WhyEmpty | None]:
    """Write the records of one poll, and accept them; the others are released.

    Returns:
        How many, and the reason for none.
    """
    records = consumer.poll(seconds)
    chosen = list(records)
    if wanted.count is not None:
        chosen = chosen[: wanted.count - count]
    try:
        sys.stdout.buffer.writelines(wanted.format(each.record) for each in chosen)
        sys.stdout.buffer.flush()
        for each in chosen:
            each.accept()
    finally:
        records.release()
    return len(chosen), records.why_empty
