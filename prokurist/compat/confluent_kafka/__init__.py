"""confluent-kafka's names: `import prokurist.compat.confluent_kafka as confluent_kafka`.

docs/howto/drop_in.md has what is here, and what differs.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final, NoReturn

from prokurist.compat.absent import absent_in
from prokurist.compat.confluent_kafka.cluster import ClusterMetadata
from prokurist.compat.confluent_kafka.consumer import Consumer
from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.compat.confluent_kafka.model import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    IsolationLevel,
    Node,
    TopicCollection,
    TopicPartitionInfo,
    Uuid,
)
from prokurist.compat.confluent_kafka.producer import Producer
from prokurist.compat.confluent_kafka.values import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Message,
    TopicPartition,
)
from prokurist.compat.confluent_kafka.versions import libversion, version

__all__ = [
    "OFFSET_BEGINNING",
    "OFFSET_END",
    "OFFSET_INVALID",
    "OFFSET_STORED",
    "TIMESTAMP_CREATE_TIME",
    "TIMESTAMP_LOG_APPEND_TIME",
    "TIMESTAMP_NOT_AVAILABLE",
    "ClusterMetadata",
    "Consumer",
    "ConsumerGroupState",
    "ConsumerGroupTopicPartitions",
    "ConsumerGroupType",
    "ElectionType",
    "IsolationLevel",
    "KafkaError",
    "KafkaException",
    "Message",
    "Node",
    "Producer",
    "TopicCollection",
    "TopicPartition",
    "TopicPartitionInfo",
    "Uuid",
    "libversion",
    "version",
]

_SERDES: Final = "give key_deserializer and value_deserializer to prokurist.KafkaConsumer"
_LEFT_OUT: Final = MappingProxyType(
    {
        "DeserializingConsumer": _SERDES,
        "DeserializingShareConsumer": "share groups are not built",
        "SerializingProducer": "give key_serializer and value_serializer to "
        "prokurist.KafkaProducer",
        "ShareConsumer": "share groups are not built",
    }
)


__getattr__: Callable[[str], NoReturn] = absent_in(__name__, _LEFT_OUT)
