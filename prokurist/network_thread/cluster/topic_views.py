"""The topics of an answer to Metadata, as the snapshot of the cluster keeps them.

Thread: any; pure functions.
"""

from collections.abc import Iterator

from prokurist.events.cluster import PartitionView, TopicView
from prokurist.network_thread.wire.metadata import MetadataAnswer, TopicMetadata


def views_of(answer: MetadataAnswer) -> Iterator[TopicView]:
    """The topics of an answer as the snapshot keeps them."""
    return (view_of(topic.name, topic) for topic in answer.topics if topic.name is not None)


def view_of(name: str, topic: TopicMetadata) -> TopicView:
    """One topic of an answer as the snapshot keeps it."""
    return TopicView(
        name=name,
        error=topic.error,
        id=topic.topic_id,
        internal=topic.internal,
        partitions={
            each.partition: PartitionView(
                each.partition,
                each.error,
                each.leader_id,
                each.leader_epoch,
                each.replicas,
                each.in_sync_replicas,
                each.offline_replicas,
            )
            for each in topic.partitions
        },
    )
