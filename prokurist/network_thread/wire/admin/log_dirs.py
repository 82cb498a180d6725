"""DescribeLogDirs and AlterReplicaLogDirs.

Thread: any; frozen values.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from prokurist.errors import error_for
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import (
    ItemAnswer,
    ItemsAnswer,
    answer_of,
    item_of,
)
from prokurist.network_thread.wire.apis import (
    ALTER_REPLICA_LOG_DIRS,
    DESCRIBE_LOG_DIRS,
    Api,
)
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import known
from prokurist.types import TopicPartition
from prokurist.types.replicas import LogDir, Replica, ReplicaInLogDir


@dataclass(frozen=True, slots=True)
class DescribeLogDirs:
    """Asks a broker for its log directories.

    Nothing is ever left out.

    Attributes:
        broker: The broker, as the answer's only item.
    """

    api: ClassVar[Api] = DESCRIBE_LOG_DIRS

    broker: int

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"topics": None}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        dirs = {row["log_dir"]: log_dir_of(row) for row in body["results"]}
        code = body.get("error_code", 0)
        return answer_of(body, [] if code else [(self.broker, ItemAnswer(value=dirs))], code)


def log_dir_of(row: Body) -> LogDir:
    """Read one log directory."""
    return LogDir(
        path=row["log_dir"],
        replicas={
            TopicPartition(topic["name"], each["partition_index"]): ReplicaInLogDir(
                each["partition_size"], each["offset_lag"], each["is_future_key"]
            )
            for topic in row["topics"]
            for each in topic["partitions"]
        },
        error=error_for(row["error_code"]),
        total_bytes=known(row.get("total_bytes", -1)),
        usable_bytes=known(row.get("usable_bytes", -1)),
        cordoned=row.get("is_cordoned", False),
    )


@dataclass(frozen=True, slots=True)
class AlterReplicaLogDirs:
    """Asks a broker to move replicas of its own to log directories.

    Nothing is ever left out.

    Attributes:
        paths: The directory of each replica; all are of one broker.
    """

    api: ClassVar[Api] = ALTER_REPLICA_LOG_DIRS

    paths: Mapping[Replica, str]

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        dirs: dict[str, dict[str, list[int]]] = {}
        for replica, path in self.paths.items():
            dirs.setdefault(path, {}).setdefault(replica.topic, []).append(replica.partition)
        return {
            "dirs": tuple(
                {
                    "path": path,
                    "topics": tuple(
                        {"name": topic, "partitions": tuple(partitions)}
                        for topic, partitions in topics.items()
                    ),
                }
                for path, topics in dirs.items()
            )
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        brokers = {(each.topic, each.partition): each for each in self.paths}
        rows = []
        for topic in body["results"]:
            for row in topic["partitions"]:
                place = topic["topic_name"], row["partition_index"]
                rows.append((brokers.get(place, place), item_of(row)))
        return answer_of(body, rows)
