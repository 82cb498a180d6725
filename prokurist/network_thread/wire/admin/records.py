"""DeleteRecords.

Thread: any; frozen values.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import ItemsAnswer, answer_of, item_of
from prokurist.network_thread.wire.apis import DELETE_RECORDS, Api
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import by_partition, by_topic, milliseconds
from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True)
class DeleteRecords:
    """Asks a leader to delete records.

    Nothing is ever left out.

    Attributes:
        before: The first offset that is kept, for each partition; −1 to delete all.
        timeout: Seconds that the broker may wait for its followers.
    """

    api: ClassVar[Api] = DELETE_RECORDS

    before: Mapping[TopicPartition, int]
    timeout: float

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "topics": tuple(
                {
                    "name": topic,
                    "partitions": tuple(
                        {"partition_index": partition, "offset": offset}
                        for partition, offset in rows
                    ),
                }
                for topic, rows in by_topic(self.before.items()).items()
            ),
            "timeout": milliseconds(self.timeout),
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        rows = by_partition(body["topics"])
        return answer_of(body, ((tp, item_of(row, row["low_watermark"])) for tp, row in rows))
