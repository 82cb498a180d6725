"""`prokurist topics`: all topics, or the partitions of some.

Thread: the main one.
"""

from collections.abc import Iterable, Sequence

from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed
from prokurist.cli.output import Column, Row, show
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.types import Node, PartitionInfo, TopicPartition

TOPICS = (
    Column("topic", "bold"),
    Column("partitions"),
    Column("replicas"),
    Column("under_replicated"),
    Column("without_leader"),
)
PARTITIONS = (
    Column("topic", "bold"),
    Column("partition"),
    Column("leader"),
    Column("replicas"),
    Column("in_sync"),
    Column("beginning"),
    Column("end"),
)


def run(asked: CommandOptions, topics: Sequence[str], *, as_json: bool) -> None:
    """List all topics, or the partitions of those named.

    Raises:
        Failed: One of them does not exist.
        KafkaException: The brokers do not tell.
    """
    with asked.consumer() as consumer:
        if not topics:
            listed = sorted(consumer.list_topics(asked.left()).items())
            show(TOPICS, [summary(name, infos) for name, infos in listed], as_json=as_json)
            return
        infos = [info for topic in topics for info in partitions_of(consumer, asked, topic)]
        # A partition without a leader has no broker that could tell its offsets.
        led = [TopicPartition(info.topic, info.partition) for info in infos if info.leader]
        begins = consumer.beginning_offsets(led, asked.left())
        ends = consumer.end_offsets(led, asked.left())
    show(PARTITIONS, [detail(info, begins, ends) for info in infos], as_json=as_json)


def partitions_of(
    consumer: KafkaConsumer, asked: CommandOptions, topic: str
) -> list[PartitionInfo]:
    """The partitions of a topic that exists.

    Raises:
        Failed: It does not.
        KafkaException: The brokers do not tell.
    """
    infos = consumer.partitions_for(topic, asked.left())
    if not infos:
        raise Failed(f"there is no topic {topic!r}: `prokurist topics` lists those there are")
    return infos


def summary(name: str, infos: Sequence[PartitionInfo]) -> Row:
    """A topic in one row."""
    return {
        "topic": name,
        "partitions": len(infos),
        "replicas": max((len(info.replicas) for info in infos), default=0),
        "under_replicated": sum(
            len(each.in_sync_replicas) < len(each.replicas) for each in infos
        ),
        "without_leader": sum(info.leader is None for info in infos),
    }


def detail(
    info: PartitionInfo, begins: dict[TopicPartition, int], ends: dict[TopicPartition, int]
) -> Row:
    """A partition in one row."""
    tp = TopicPartition(info.topic, info.partition)
    return {
        "topic": info.topic,
        "partition": info.partition,
        "leader": None if info.leader is None else info.leader.id,
        "replicas": ids(info.replicas),
        "in_sync": ids(info.in_sync_replicas),
        "beginning": begins.get(tp),
        "end": ends.get(tp),
    }


def ids(nodes: Iterable[Node]) -> list[int]:
    """The ids of nodes."""
    return [node.id for node in nodes]
