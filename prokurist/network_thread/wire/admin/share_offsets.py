"""Start offsets of share groups.

Thread: any; frozen values.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import ItemsAnswer, answer_of, item_of
from prokurist.network_thread.wire.apis import (
    ALTER_SHARE_GROUP_OFFSETS,
    DELETE_SHARE_GROUP_OFFSETS,
    DESCRIBE_SHARE_GROUP_OFFSETS,
    Api,
)
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import by_topic, known
from prokurist.types import TopicPartition
from prokurist.types.groups import ShareOffset


@dataclass(frozen=True, slots=True)
class DescribeShareOffsets:
    """Asks a coordinator for the start offsets of share groups.

    Nothing is ever left out; the lag is not told below 1.

    Attributes:
        groups: The partitions of each group; None for all.
    """

    api: ClassVar[Api] = DESCRIBE_SHARE_GROUP_OFFSETS

    groups: Mapping[str, tuple[TopicPartition, ...] | None]

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "groups": tuple(
                {
                    "group_id": name,
                    "topics": None
                    if partitions is None
                    else tuple(
                        {"topic_name": topic, "partitions": tuple(each for each, _ in rows)}
                        for topic, rows in by_topic((tp, None) for tp in partitions).items()
                    ),
                }
                for name, partitions in self.groups.items()
            )
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version; a group's value has a row for each partition."""
        return answer_of(
            body,
            (
                (
                    group["group_id"],
                    item_of(
                        group,
                        {
                            TopicPartition(
                                topic["topic_name"], row["partition_index"]
                            ): item_of(row, share_offset_of(row))
                            for topic in group["topics"]
                            for row in topic["partitions"]
                        },
                    ),
                )
                for group in body["groups"]
            ),
        )


def share_offset_of(row: Body) -> ShareOffset | None:
    """Read a start offset; None where the group has none."""
    start = known(row["start_offset"])
    if start is None:
        return None
    return ShareOffset(start, known(row["leader_epoch"]), known(row.get("lag", -1)))


@dataclass(frozen=True, slots=True)
class AlterShareOffsets:
    """Asks a coordinator to change start offsets of a share group.

    Nothing is ever left out.

    Attributes:
        group_id: The group.
        offsets: The offset of each partition.
    """

    api: ClassVar[Api] = ALTER_SHARE_GROUP_OFFSETS

    group_id: str
    offsets: Mapping[TopicPartition, int]

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "group_id": self.group_id,
            "topics": tuple(
                {
                    "topic_name": topic,
                    "partitions": tuple(
                        {"partition_index": partition, "start_offset": offset}
                        for partition, offset in rows
                    ),
                }
                for topic, rows in by_topic(self.offsets.items()).items()
            ),
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version; an error of the group is one of each partition."""
        rows = (
            (TopicPartition(topic["topic_name"], row["partition_index"]), item_of(row))
            for topic in body["responses"]
            for row in topic["partitions"]
        )
        return answer_of(body, rows, body["error_code"])


@dataclass(frozen=True, slots=True)
class DeleteShareOffsets:
    """Asks a coordinator to delete the offsets that a share group has of topics.

    Nothing is ever left out.

    Attributes:
        group_id: The group.
        topics: The topics.
    """

    api: ClassVar[Api] = DELETE_SHARE_GROUP_OFFSETS

    group_id: str
    topics: tuple[str, ...]

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "group_id": self.group_id,
            "topics": tuple({"topic_name": each} for each in self.topics),
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version; an error of the group is one of each topic."""
        rows = ((row["topic_name"], item_of(row)) for row in body["responses"])
        return answer_of(body, rows, body["error_code"])
