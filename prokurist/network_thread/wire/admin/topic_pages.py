"""DescribeTopicPartitions: the partitions of topics, page by page.

Thread: any; frozen values.
"""

from collections.abc import Iterator
from typing import ClassVar

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.apis import DESCRIBE_TOPIC_PARTITIONS, Api
from prokurist.network_thread.wire.metadata import TopicMetadata, topic_metadata
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import throttle
from prokurist.types import TopicPartition


@dataclass(frozen=True, slots=True)
class TopicPage:
    """Some partitions of topics.

    Attributes:
        topics: The topics with the partitions of this page.
        cursor: The first partition of the next page; None behind the last.
        throttle: Seconds that the broker wants to be left alone.
    """

    topics: tuple[TopicMetadata, ...]
    cursor: TopicPartition | None
    throttle: float = 0.0


@dataclass(frozen=True, slots=True)
class DescribeTopicPartitions:
    """Asks for partitions of topics, from a cursor on.

    Nothing is ever left out.

    Attributes:
        names: The topics, sorted.
        most: How many partitions, at most.
        cursor: The first partition; None to begin.
    """

    api: ClassVar[Api] = DESCRIBE_TOPIC_PARTITIONS

    names: tuple[str, ...]
    most: int
    cursor: TopicPartition | None = None

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        cursor = self.cursor
        return {
            "topics": tuple({"name": name} for name in self.names),
            "response_partition_limit": self.most,
            "cursor": None
            if cursor is None
            else {"topic_name": cursor.topic, "partition_index": cursor.partition},
        }

    def answer(self, body: Body) -> TopicPage:
        """Read an answer of any version."""
        cursor = body["next_cursor"]
        return TopicPage(
            topics=tuple(map(topic_metadata, body["topics"])),
            cursor=None
            if cursor is None
            else TopicPartition(cursor["topic_name"], cursor["partition_index"]),
            throttle=throttle(body),
        )
