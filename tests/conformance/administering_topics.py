"""Scenarios of CreateTopics, DeleteTopics, CreatePartitions and DescribeTopicPartitions."""

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from tests.conformance.stage import Stage

PATIENCE: Final = timedelta(seconds=20)
AT_ONCE: Final = timedelta(0)
MINIMUM: Final = {"num_partitions": 1, "replication_factor": 1}
BY_DEFAULT: Final = {"num_partitions": -1, "replication_factor": -1}


def create(stage: Stage, *rows: dict[str, Any], **more: Any) -> Any:
    """Ask for topics."""
    topics = [{**MINIMUM, **each} for each in rows]
    return stage.ask("a", "CreateTopics", topics=topics, **{"timeout": PATIENCE, **more})


def delete(stage: Stage, *names: str, timeout: timedelta = PATIENCE) -> Any:
    """Delete topics by name, in any version."""
    rows = [{"name": each, "topic_id": None} for each in names]
    return stage.ask("a", "DeleteTopics", topics=rows, topic_names=list(names), timeout=timeout)


def config(**properties: str | None) -> list[dict[str, Any]]:
    """Properties as CreateTopics takes them: Kafka's names, with underscores."""
    return [{"name": each.replace("_", "."), "value": v} for each, v in properties.items()]


def placed(stage: Stage, *rows: tuple[int, Sequence[int]]) -> list[dict[str, Any]]:
    """An assignment of partitions to nodes, counted from 1."""
    return [
        {"partition_index": index, "broker_ids": [stage.node(each) for each in nodes]}
        for index, nodes in rows
    ]


def topics_created(stage: Stage) -> None:
    """Topics of all sizes, and those that cannot be; each looked for first, then made."""
    name = stage.name
    for row in (
        {"name": f"{name}-a"},
        {"name": f"{name}-b", **BY_DEFAULT},
        {"name": f"{name}-c", "num_partitions": 3},
        {"name": f"{name}-a"},
        {"name": f"{name}-x", "num_partitions": 0},
        {"name": f"{name}-x", "num_partitions": -2},
        {"name": f"{name}-x", "num_partitions": 10_001},
        {"name": f"{name}-x", "replication_factor": 0},
        {"name": f"{name}-x", "replication_factor": -2},
        {"name": f"{name}-x", "replication_factor": 9},
        {"name": f"{name}-x", "num_partitions": 0, "replication_factor": 0},
    ):
        create(stage, row, validate_only=True)
        create(stage, row, validate_only=False)
    create(stage, {"name": f"{name}-d"}, {"name": f"{name}-a"}, {"name": f"{name}-e"})
    create(stage, {"name": f"{name}-f"}, {"name": f"{name}-f"}, {"name": f"{name}-g"})
    create(stage)
    create(stage, {"name": f"{name}-h"}, {"name": f"{name}-a"}, timeout=AT_ONCE)
    known(stage, *(f"{name}-{each}" for each in "abcdefgh"))


def names_of_topics(stage: Stage) -> None:
    """Names that cannot be, and names that differ by dots and underscores alone."""
    for name in ("", ".", "..", "a b", "x" * 250, "é", "a/b"):
        create(stage, {"name": name})
    create(stage, {"name": f"{stage.name}.one"})
    create(stage, {"name": f"{stage.name}_one"})
    create(stage, {"name": f"{stage.name}.one"})


def topics_assigned(stage: Stage) -> None:
    """Topics whose partitions are assigned to nodes, as they may be and as they may not."""
    cases: list[list[tuple[int, list[int]]]] = [
        [(0, [1])],
        [(0, [1]), (1, [1])],
        [(1, [1]), (0, [1])],
        [(0, [8])],
        [(0, [-1])],
        [(1, [1])],
        [(0, [1]), (2, [1])],
        [(0, [1, 1])],
        [(0, [])],
        [(0, [1]), (0, [1])],
        [(0, [1]), (1, [1, 8])],
        [(0, [1]), (1, [])],
    ]
    for nth, rows in enumerate(cases):
        name = f"{stage.name}-{nth}"
        create(stage, {"name": name, "assignments": placed(stage, *rows), **BY_DEFAULT})
    one = placed(stage, (0, [1]))
    for size in ({}, {"num_partitions": -1}, {"replication_factor": -1}):
        create(stage, {"name": f"{stage.name}-sized", "assignments": one, **size})
    known(stage, *(f"{stage.name}-{nth}" for nth in range(3)))


def topics_configured(stage: Stage) -> None:
    """Topics with properties, and properties that cannot be."""
    cases: list[dict[str, str | None]] = [
        {"retention_ms": "1000", "cleanup_policy": "compact,delete"},
        {"nosuch": "1"},
        {"retention_ms": "x"},
        {"retention_ms": "-5"},
        {"retention_ms": ""},
        {"retention_ms": None},
        {"retention_ms": " 77 "},
        {"cleanup_policy": "foo"},
        {"cleanup_policy": ""},
        {"cleanup_policy": "delete, compact"},
        {"min_insync_replicas": "0"},
        {"compression_type": "lz"},
        {"message_timestamp_type": "x"},
        {"preallocate": "maybe"},
        {"preallocate": "TRUE"},
        {"max_message_bytes": "12345678901"},
        {"min_cleanable_dirty_ratio": "2"},
        {"min_cleanable_dirty_ratio": "x"},
        {"min_compaction_lag_ms": "10", "max_compaction_lag_ms": "5"},
        {"retention_ms": "1", "nosuch": "2"},
        {"retention_ms": "x", "nosuch": "2"},
    ]
    for nth, properties in enumerate(cases):
        create(stage, {"name": f"{stage.name}-{nth}", "configs": config(**properties)})
    twice = [*config(retention_ms="1"), *config(retention_ms="2")]
    create(stage, {"name": f"{stage.name}-twice", "configs": twice})


LOWEST: Final = {
    "compression.lz4.level": 1,
    "compression.zstd.level": -131072,
    "delete.retention.ms": 0,
    "file.delete.delay.ms": 0,
    "flush.messages": 1,
    "flush.ms": 0,
    "index.interval.bytes": 0,
    "local.retention.bytes": -2,
    "local.retention.ms": -2,
    "max.compaction.lag.ms": 1,
    "max.message.bytes": 0,
    "message.timestamp.after.max.ms": 0,
    "message.timestamp.before.max.ms": 0,
    "min.compaction.lag.ms": 0,
    "min.insync.replicas": 1,
    "retention.ms": -1,
    "segment.index.bytes": 4,
    "segment.jitter.ms": 0,
    "segment.ms": 1,
}


def limits_of_properties(stage: Stage) -> None:
    """The lowest number of each property of a topic, and the one below."""
    for name, least in LOWEST.items():
        for value in (least, least - 1):
            row = {"name": f"{stage.name}-x", "configs": [{"name": name, "value": str(value)}]}
            create(stage, row, validate_only=True)
    for name, most in (("compression.lz4.level", 17), ("compression.zstd.level", 22)):
        row = {"name": f"{stage.name}-x", "configs": [{"name": name, "value": f"{most + 1}"}]}
        create(stage, row, validate_only=True)


def topics_deleted(stage: Stage) -> None:
    """Topics by name: that are there, that are not, twice, without time."""
    names = [stage.topic().name for _ in range(4)]
    delete(stage, names[0])
    delete(stage, names[0])
    delete(stage, names[1], "no-such-topic")
    delete(stage, names[2], names[2], "no-such-topic")
    delete(stage, names[3], "no-such-topic", timeout=AT_ONCE)
    delete(stage, "a b")
    delete(stage)
    known(stage, *names)


def topics_deleted_by_id(stage: Stage) -> None:
    """Topics by id: that are there, that are not; by both and by neither."""
    topics = [stage.topic() for _ in range(4)]
    nothing = uuid.UUID(int=9)
    for rows in (
        [{"name": None, "topic_id": topics[0].id}],
        [{"name": None, "topic_id": topics[0].id}],
        [{"name": None, "topic_id": nothing}, {"name": topics[1].name, "topic_id": None}],
        [{"name": topics[2].name, "topic_id": topics[2].id}],
        [{"name": topics[2].name, "topic_id": nothing}],
        [{"name": None, "topic_id": None}],
        [{"name": "", "topic_id": None}],
        [{"name": None, "topic_id": topics[3].id}, {"name": None, "topic_id": topics[3].id}],
        [{"name": None, "topic_id": topics[3].id}, {"name": topics[3].name, "topic_id": None}],
        [{"name": None, "topic_id": None}, {"name": None, "topic_id": None}],
    ):
        stage.ask("a", "DeleteTopics", 6, topics=rows, timeout=PATIENCE)
    known(stage, *(each.name for each in topics))


def partitions_created(stage: Stage) -> None:
    """Topics that grow, and that may not; each looked for first, then grown."""
    topic, other = stage.topic(2), stage.topic(2)

    def grow(count: int, *nodes: Sequence[int], name: str = topic.name) -> None:
        rows = [{"broker_ids": [stage.node(each) for each in row]} for row in nodes]
        asked = {"name": name, "count": count, "assignments": rows or None}
        for dry in (True, False):
            stage.ask(
                "a", "CreatePartitions", topics=[asked], timeout=PATIENCE, validate_only=dry
            )

    for count in (2, 1, 0, -1):
        grow(count)
    grow(3, name="no-such-topic")
    grow(3, name="")
    grow(4, [1])
    grow(4, [1], [1], [1])
    grow(4, [1], [8])
    grow(4, [1], [1, 8])
    grow(4, [1], [])
    grow(4, [1], [1])
    known(stage, topic.name)

    def several(*rows: tuple[str, int], timeout: timedelta = PATIENCE) -> None:
        topics = [{"name": name, "count": count, "assignments": None} for name, count in rows]
        stage.ask("a", "CreatePartitions", topics=topics, timeout=timeout)

    several((topic.name, 9), (other.name, 3), timeout=AT_ONCE)
    several((topic.name, 9), (topic.name, 9), (other.name, 3))
    several((other.name, 5), ("no-such-topic", 5))
    several()
    known(stage, topic.name, other.name)


def partitions_in_pages(stage: Stage) -> None:
    """Topics in pages: limits, cursors, topics that are not there."""
    first, second = sorted((stage.topic(2).name, stage.topic(3).name))

    def page(*names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> None:
        at = cursor and {"topic_name": cursor[0], "partition_index": cursor[1]}
        stage.ask(
            "a",
            "DescribeTopicPartitions",
            0,
            topics=[{"name": each} for each in names],
            response_partition_limit=limit,
            cursor=at,
        )

    for limit in (2000, 4, 3, 2, 1, 0, -1):
        page(second, first, limit=limit)
    page(first, "no-such-topic", second, limit=2)
    page(first, first)
    page("no-such-topic")
    for cursor in ((first, 1), (first, 2), (first, 100), (second, 0), (second, 2)):
        page(second, first, limit=2, cursor=cursor)
    for cursor in (("no-such-topic", 0), (first, -1), (second, 0)):
        page(first, cursor=cursor)


def known(stage: Stage, *names: str) -> None:
    """What metadata says of topics, once all brokers have learned of what was done."""
    stage.side.settle_metadata()
    stage.ask("a", "Metadata", 9, topics=[{"name": each} for each in names])
