"""Result of `list_topics`: topics, and the brokers of their partitions."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import ClassVar

from prokurist.admin import ClusterDescription
from prokurist.compat.absent import Face
from prokurist.compat.confluent_kafka.error import KafkaError
from prokurist.compat.confluent_kafka.values import (
    BrokerMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from prokurist.types import PartitionInfo

_ON_THE_COMMAND_LINE = "`prokurist brokers` tells it"


class ClusterMetadata(Face):
    """Topics and brokers, by name and by id.

    Args:
        topics: Each topic's partitions; an empty one does not exist.

    Attributes:
        cluster_id: The cluster's id, where an AdminClient has asked for it.
        controller_id: The controller, in the same way.
    """

    _left_out: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "cluster_id": _ON_THE_COMMAND_LINE,
            "controller_id": _ON_THE_COMMAND_LINE,
            "orig_broker_id": "any broker may have answered",
            "orig_broker_name": "any broker may have answered",
        }
    )

    cluster_id: str | None
    controller_id: int

    def __init__(self, topics: Mapping[str, Iterable[PartitionInfo]]) -> None:
        self.topics: dict[str, TopicMetadata] = {}
        self.brokers: dict[int, BrokerMetadata] = {}
        for name, partitions in topics.items():
            found = self.topics[name] = TopicMetadata(name)
            for each in partitions:
                found.partitions[each.partition] = self._partition(each)
            if not found.partitions:
                found.error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)

    @classmethod
    def of_cluster(
        cls,
        cluster: ClusterDescription,
        topics: Mapping[str, Iterable[PartitionInfo]],
        errors: Mapping[str, KafkaError],
    ) -> "ClusterMetadata":
        """The cluster with all its brokers, and topics or their errors."""
        found = cls(topics)
        for node in cluster.brokers:
            found.brokers[node.id] = BrokerMetadata(node.id, node.host, node.port)
        for name, error in errors.items():
            found.topics[name] = TopicMetadata(name, error=error)
        found.cluster_id = cluster.cluster_id
        found.controller_id = -1 if cluster.controller is None else cluster.controller.id
        return found

    def _partition(self, info: PartitionInfo) -> PartitionMetadata:
        for node in (*info.replicas, *(() if info.leader is None else (info.leader,))):
            self.brokers[node.id] = BrokerMetadata(node.id, node.host, node.port)
        return PartitionMetadata(
            info.partition,
            -1 if info.leader is None else info.leader.id,
            [node.id for node in info.replicas],
            [node.id for node in info.in_sync_replicas],
        )

    def __repr__(self) -> str:
        return f"ClusterMetadata({len(self.topics)} topics, {len(self.brokers)} brokers)"
