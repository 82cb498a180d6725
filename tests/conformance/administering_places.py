"""Scenarios of elections, reassignments and log directories."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from tests.conformance.stage import Stage

PATIENCE: Final = timedelta(seconds=20)
PREFERRED, UNCLEAN = range(2)


def elect(
    stage: Stage, kind: int, *wanted: tuple[str, Sequence[int]], every: bool = False
) -> None:
    """Ask for elections."""
    rows = [{"topic": topic, "partitions": tuple(each)} for topic, each in wanted]
    stage.ask(
        "a",
        "ElectLeaders",
        election_type=kind,
        topic_partitions=None if every else rows,
        timeout=PATIENCE,
    )


def reassign(stage: Stage, *wanted: tuple[str, int, Sequence[int] | None]) -> None:
    """Give partitions other nodes, counted from 1; None cancels."""
    topics = [
        {
            "name": topic,
            "partitions": [
                {
                    "partition_index": index,
                    "replicas": None if nodes is None else [stage.node(each) for each in nodes],
                }
            ],
        }
        for topic, index, nodes in wanted
    ]
    stage.ask("a", "AlterPartitionReassignments", topics=topics, timeout=PATIENCE)


def look(stage: Stage, name: str) -> None:
    """Describe a topic; Metadata would name a controller, which is any live node."""
    asked: dict[str, Any] = {"response_partition_limit": 100, "cursor": None}
    stage.ask("a", "DescribeTopicPartitions", 0, topics=[{"name": name}], **asked)


def elections_not_needed(stage: Stage) -> None:
    """Elections on one node, and of what is not there."""
    topic = stage.topic(2).name
    elect(stage, PREFERRED, (topic, (0, 7)), ("no-such-topic", (0,)))
    elect(stage, PREFERRED, (topic, ()))
    elect(stage, PREFERRED)
    if stage.version("ElectLeaders") >= 1:
        elect(stage, UNCLEAN, (topic, (0,)))
        elect(stage, 9, (topic, (0,)))


def reassignments_refused(stage: Stage) -> None:
    """Reassignments on one node: to itself, to what is not there, cancelled."""
    topic = stage.topic(2).name
    several: list[Sequence[int] | None] = [(1,), (8,), (), None, (1, 1)]
    for nodes in several:
        reassign(stage, (topic, 0, nodes))
    reassign(stage, (topic, 9, (1,)), ("no-such-topic", 0, (1,)))
    stage.ask("a", "ListPartitionReassignments", 0, topics=None, timeout=PATIENCE)
    rows: list[dict[str, Any]] = [{"name": topic, "partition_indexes": (0, 9)}]
    stage.ask("a", "ListPartitionReassignments", 0, topics=rows, timeout=PATIENCE)


def log_directories(stage: Stage) -> None:
    """Copies in a node's directory: of a topic, of some partitions, of what is not there."""
    topic = stage.topic(2)
    stage.produce(topic, b"value")
    for topics in (
        [{"topic": topic.name, "partitions": (0, 1, 9)}],
        [{"topic": topic.name, "partitions": ()}],
        [{"topic": "no-such-topic", "partitions": (0,)}],
        [],
    ):
        stage.ask("a", "DescribeLogDirs", topics=topics)


def elections_on_three(stage: Stage) -> None:
    """The preferred replica leads again after the leader has moved; topics placed by hand."""
    topic = stage.placed([1, 2], [2, 1])
    stage.side.move_leader(topic.name, 0, 2)
    reassign(stage, (topic.name, 0, (1, 2)))
    stage.side.settle_metadata()
    elect(stage, PREFERRED, (topic.name, (0, 1)))
    stage.side.settle_metadata()
    look(stage, topic.name)
    for rows in ([(0, [1, 2]), (1, [1])], [(0, [3, 1]), (1, [2, 3])]):
        placed = [
            {"partition_index": index, "broker_ids": [stage.node(each) for each in nodes]}
            for index, nodes in rows
        ]
        row: dict[str, Any] = {"name": f"{stage.name}-placed", "assignments": placed}
        row |= {"num_partitions": -1, "replication_factor": -1}
        stage.ask("a", "CreateTopics", topics=[row], timeout=PATIENCE)
    stage.side.settle_metadata()
    for nodes in ([1, 2], [1], [1, 8]):
        brokers = [{"broker_ids": [stage.node(each) for each in nodes]}]
        asked = {"name": f"{stage.name}-placed", "count": 3, "assignments": brokers}
        stage.ask("a", "CreatePartitions", topics=[asked], timeout=PATIENCE, validate_only=True)
    look(stage, f"{stage.name}-placed")
