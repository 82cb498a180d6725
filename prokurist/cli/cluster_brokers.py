"""`prokurist brokers`: the brokers of the cluster, and each one's partitions.

Thread: the main one.
"""

from prokurist.cli.broker_queries import queries
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.output import Column, Row, show
from prokurist.network_thread.wire.metadata import MetadataAnswer
from prokurist.types import Node, counted

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
        KafkaException: No broker is reached.
    """
    with queries(asked) as ask:
        cluster = ask.cluster(None)
    rows = [row(node, cluster) for node in sorted(cluster.brokers, key=lambda node: node.id)]
    show(COLUMNS, rows, as_json=as_json)
    named = f" of cluster {cluster.cluster_id}" if cluster.cluster_id else ""
    asked.say(f"{counted(len(rows), 'broker')}{named}")


def row(node: Node, cluster: MetadataAnswer) -> Row:
    """One broker, and how many partitions it leads, holds, and is behind with."""
    partitions = [each for topic in cluster.topics for each in topic.partitions]
    held = [each for each in partitions if node.id in each.replicas]
    return {
        "broker": node.id,
        "address": f"{node.host}:{node.port}",
        "rack": node.rack,
        "leads": sum(each.leader_id == node.id for each in partitions),
        "replicas": len(held),
        "out_of_sync": sum(node.id not in each.in_sync_replicas for each in held),
    }
