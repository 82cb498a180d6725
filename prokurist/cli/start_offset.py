"""Start and end offsets of reading: the values of `-o`, kcat's and a few more.

Thread: the main one.
"""

import re
from collections.abc import Sequence
from typing import Final

from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.time_arguments import milliseconds, span
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import InvalidGroupIdException
from prokurist.events.clock import epoch_milliseconds
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition

EDGES: Final = {
    "beginning": "earliest",
    "earliest": "earliest",
    "end": "latest",
    "latest": "latest",
}
STORED: Final = "stored"


@dataclass(frozen=True, slots=True)
class StartOffset:
    """One value of `-o` that says where reading begins; of the four fields one is set.

    Attributes:
        edge: `earliest` or `latest`, as `auto.offset.reset` calls them.
        offset: That offset; below zero, so many records before the end.
        moment: The first record at or after it, in milliseconds since the epoch.
        stored: Where the group of `-X group.id` goes on; at the beginning where it has
            committed nothing.
    """

    edge: str | None = None
    offset: int | None = None
    moment: int | None = None
    stored: bool = False

    @classmethod
    def of(cls, text: str) -> "StartOffset":
        """Read a value of `-o`.

        Raises:
            Misused: It is none of the forms.
        """
        if edge := EDGES.get(text.lower()):
            return cls(edge=edge)
        if text.lower() == STORED:
            return cls(stored=True)
        if re.fullmatch(r"-?\d+", text):
            return cls(offset=int(text))
        if text.startswith("s@"):
            return cls(moment=moment(text[2:]))
        if text.startswith("-"):
            return cls(moment=moment(text))
        raise Misused(
            f"-o {text}: write beginning, end, stored, an offset, -N for the last N, s@TIME, "
            "-SPAN such as -1h, and e@TIME for where to stop"
        )

    def place(
        self,
        consumer: KafkaConsumer,
        asked: CommandOptions,
        partitions: Sequence[TopicPartition],
    ) -> None:
        """Have assigned partitions read from here on.

        Raises:
            Failed: A log does not have the offset.
            KafkaException: The brokers do not tell.
        """
        if self.edge == "earliest":
            consumer.seek_to_beginning(partitions)
            return
        if self.edge == "latest":
            consumer.seek_to_end(partitions)
            return
        offsets = self.offsets(consumer, asked, partitions)
        if self.offset is not None and self.offset >= 0:
            check_offsets(consumer, asked, offsets)
        for tp, offset in offsets.items():
            consumer.seek(tp, offset)

    def offsets(
        self,
        consumer: KafkaConsumer,
        asked: CommandOptions,
        partitions: Sequence[TopicPartition],
    ) -> dict[TopicPartition, int]:
        """The offsets that this means; beyond the log's ends where it says so.

        Raises:
            KafkaException: The brokers do not tell.
            Misused: There is no group for a committed place.
        """
        if self.edge == "earliest":
            return consumer.beginning_offsets(partitions, asked.left())
        if self.offset is not None and self.offset >= 0:
            return dict.fromkeys(partitions, self.offset)
        if self.moment is not None:
            return at_moment(consumer, asked, partitions, self.moment)
        if self.stored:
            begins = consumer.beginning_offsets(partitions, asked.left())
            try:
                kept = consumer.committed(partitions, asked.left())
            except InvalidGroupIdException:
                raise Misused(
                    "-o stored is where a group goes on, and none is named: -X group.id=NAME, "
                    "or -G NAME to read as its member"
                ) from None
            return {
                tp: begins[tp] if each is None else each.offset for tp, each in kept.items()
            }
        ends = consumer.end_offsets(partitions, asked.left())
        if self.offset is not None:
            begins = consumer.beginning_offsets(partitions, asked.left())
            return {tp: max(begins[tp], ends[tp] + self.offset) for tp in partitions}
        return ends


def range_of(texts: Sequence[str], default: str) -> tuple[StartOffset, int | None]:
    """Read the values of `-o`: the start of reading, and the moment of its end.

    Args:
        texts: Each value; `e@TIME` is for the end.
        default: Where it begins if none says so.

    Raises:
        Misused: Two are for the same, or one is none of the forms.
    """
    ends = [text for text in texts if text.startswith("e@")]
    begins = [text for text in texts if text not in ends]
    for each in (begins, ends):
        if len(each) > 1:
            raise Misused(f"-o {each[0]} and -o {each[1]} say the same: give one of them")
    until = moment(ends[0][2:]) if ends else None
    return StartOffset.of(begins[0] if begins else default), until


def moment(text: str) -> int:
    """A time, or with a `-` before it a span before now, in milliseconds since the epoch.

    Raises:
        Misused: It is neither.
    """
    if text.startswith("-"):
        return epoch_milliseconds() - span(text[1:])
    return milliseconds(text)


def at_moment(
    consumer: KafkaConsumer,
    asked: CommandOptions,
    partitions: Sequence[TopicPartition],
    when: int,
) -> dict[TopicPartition, int]:
    """The offset of each partition's first record at or after a time; its end without one.

    Raises:
        KafkaException: The brokers do not tell.
    """
    ends = consumer.end_offsets(partitions, asked.left())
    found = consumer.offsets_for_times(dict.fromkeys(partitions, when), asked.left())
    return {tp: ends[tp] if at is None else at.offset for tp, at in found.items()}


def check_offsets(
    consumer: KafkaConsumer, asked: CommandOptions, offsets: dict[TopicPartition, int]
) -> None:
    """Check that each log has the start offset, or ends there.

    Raises:
        Failed: One does not.
        KafkaException: The brokers do not tell.
    """
    begins = consumer.beginning_offsets(offsets, asked.left())
    ends = consumer.end_offsets(offsets, asked.left())
    for tp, offset in offsets.items():
        if not begins[tp] <= offset <= ends[tp]:
            raise Failed(
                f"offset {offset} of {tp} is not there: its log goes from {begins[tp]} to "
                f"{ends[tp]}"
            )
