"""Result types of `list_topics`, in confluent-kafka's own module; no AdminClient."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final, NoReturn

from prokurist.compat.absent import absent_in
from prokurist.compat.confluent_kafka.cluster import ClusterMetadata
from prokurist.compat.confluent_kafka.values import (
    BrokerMetadata,
    PartitionMetadata,
    TopicMetadata,
)

__all__ = ["BrokerMetadata", "ClusterMetadata", "PartitionMetadata", "TopicMetadata"]

_LEFT_OUT: Final = MappingProxyType(
    {
        "AdminClient": "the `prokurist` command lists groups, topics and brokers",
        "GroupMetadata": "consumer_group_metadata() returns a ConsumerGroupMetadata of ours",
        "NewTopic": "topics are created with Kafka's own tools",
    }
)


__getattr__: Callable[[str], NoReturn] = absent_in(__name__, _LEFT_OUT)
