"""Where reading begins: the values of `-o`, as kcat has them.

Thread: the main one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Misused
from prokurist.cli.moments import milliseconds
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.types import TopicPartition

EDGES = {"beginning": "earliest", "earliest": "earliest", "end": "latest", "latest": "latest"}


@dataclass(frozen=True, slots=True)
class StartOffset:
    """One value of `-o`; of the three fields one is set.

    Attributes:
        edge: `earliest` or `latest`, as `auto.offset.reset` calls them.
        offset: That offset; below zero, so many records before the end.
        moment: The first record at or after it, in milliseconds since the epoch.
    """

    edge: str | None = None
    offset: int | None = None
    moment: int | None = None

    @classmethod
    def of(cls, text: str) -> "StartOffset":
        """Read a value of `-o`.

        Raises:
            Misused: It is none of the forms.
        """
        if edge := EDGES.get(text.lower()):
            return cls(edge=edge)
        if re.fullmatch(r"-?\d+", text):
            return cls(offset=int(text))
        if text.startswith("s@"):
            return cls(moment=milliseconds(text[2:]))
        raise Misused(
            f"-o {text}: write beginning, end, an offset, -N for the last N, or s@TIME"
        )

    def place(
        self,
        consumer: KafkaConsumer,
        asked: CommandOptions,
        partitions: Sequence[TopicPartition],
    ) -> None:
        """Have assigned partitions read from here on.

        Raises:
            KafkaException: The brokers do not tell.
        """
        if self.edge == "earliest":
            consumer.seek_to_beginning(partitions)
            return
        if self.edge == "latest":
            consumer.seek_to_end(partitions)
            return
        for tp, offset in self.offsets(consumer, asked, partitions).items():
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
        """
        if self.edge == "earliest":
            return consumer.beginning_offsets(partitions, asked.left())
        if self.offset is not None and self.offset >= 0:
            return dict.fromkeys(partitions, self.offset)
        ends = consumer.end_offsets(partitions, asked.left())
        if self.moment is not None:
            moments = dict.fromkeys(partitions, self.moment)
            found = consumer.offsets_for_times(moments, asked.left())
            return {tp: ends[tp] if at is None else at.offset for tp, at in found.items()}
        if self.offset is not None:
            begins = consumer.beginning_offsets(partitions, asked.left())
            return {tp: max(begins[tp], ends[tp] + self.offset) for tp in partitions}
        return ends
