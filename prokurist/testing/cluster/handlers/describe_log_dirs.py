"""DescribeLogDirs: one directory of each broker, with the copies in it."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topics import Topic
from prokurist.testing.cluster.wire import Values

DIRECTORY: Final = "/tmp/kafka-logs"  # noqa: S108 - a name that is Kafka's default
CAPACITY: Final = 1 << 40


def handle(state: State, request: Any, context: Context) -> Values:
    """Describe the copies of topics, or of all, on this broker."""
    code = context.refusals.whole()
    asked = (
        dict.fromkeys(state.topics)
        if request.topics is None
        else {each.topic: each.partitions for each in request.topics}
    )
    rows = []
    used = 0
    for name, indexes in asked.items():
        topic = state.topics.get(name)
        parts = copies(topic, indexes, context.node) if topic else []
        used += sum(each["partition_size"] for each in parts)
        if parts:
            rows.append({"name": name, "partitions": parts})
    return {
        "error_code": code,
        "results": []
        if code
        else [
            {
                "error_code": ErrorCode.none,
                "log_dir": DIRECTORY,
                "topics": rows,
                "total_bytes": CAPACITY,
                "usable_bytes": CAPACITY - used,
                "is_cordoned": False,
            }
        ],
    }


def copies(topic: Topic, indexes: Any, node: int) -> list[dict[str, Any]]:
    """The copies of a topic's partitions on a broker."""
    return [
        {
            "partition_index": each.index,
            "partition_size": sum(len(batch.data) for batch in each.log.batches),
            "offset_lag": max(0, each.log.end - each.copy_of(node).end),
            "is_future_key": False,
        }
        for each in topic.partitions
        if node in each.replicas and (indexes is None or each.index in indexes)
    ]
