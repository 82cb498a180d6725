"""`prokurist brokers`: the brokers of the cluster, and each one's partitions.

Thread: the main one.
"""

from collections.abc import Iterable

from prokurist.cli.command_options import CommandOptions
from prokurist.cli.output import Column, Row, show
from prokurist.errors import UnknownTopicOrPartitionException
from prokurist.types import Node, PartitionInfo, counted

COLUMNS = (
    Column("broker", "bold"),
    Column("rack"),
    Column("leads"),
    Column("replicas"),
    Column("out_of_sync", "yellow"),
    Column("address"),
)


def run(asked: CommandOptions, *, as_json: bool) -> None:
    """List the brokers that are up.

    Raises:
        KafkaException: No broker is reached, or a topic is not told of.
    """
    with asked.admin() as admin:
        cluster = admin.describe_cluster(timeout=asked.left())
        names = admin.list_topics(internal=True, timeout=asked.left())
        described = admin.describe_topics(names, timeout=asked.left())
    for error in described.errors.values():
        # One that was deleted meanwhile is on no broker.
        if not isinstance(error, UnknownTopicOrPartitionException):
            raise error
    partitions = [info for topic in described.succeeded.values() for info in topic.partitions]
    nodes = sorted(cluster.brokers, key=lambda node: node.id)
    show(COLUMNS, [row(node, partitions) for node in nodes], as_json=as_json)
    named = f" of cluster {cluster.cluster_id}" if cluster.cluster_id else ""
    asked.say(f"{counted(len(nodes), 'broker')}{named}")


def row(node: Node, partitions: Iterable[PartitionInfo]) -> Row:
    """One broker, and how many partitions it leads, holds, and is behind with."""
    held = [each for each in partitions if node.id in {other.id for other in each.replicas}]
    return {
        "broker": node.id,
        "address": f"{node.host}:{node.port}",
        "rack": node.rack,
        "leads": sum(each.leader is not None and each.leader.id == node.id for each in held),
        "replicas": len(held),
        "out_of_sync": sum(
            node.id not in {other.id for other in each.in_sync_replicas} for each in held
        ),
    }
