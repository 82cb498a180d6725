"""kafka-python's names: `from prokurist.compat.kafka import KafkaConsumer`.

docs/howto/drop_in.md has what is here, and what differs.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final, NoReturn

from prokurist.compat.absent import absent_in
from prokurist.compat.kafka.admin import KafkaAdminClient
from prokurist.compat.kafka.admin.values import (
    IsolationLevel,
    OffsetSpec,
    TopicPartitionReplica,
)
from prokurist.compat.kafka.consumer import KafkaConsumer
from prokurist.compat.kafka.producer import KafkaProducer
from prokurist.compat.kafka.structs import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    TopicPartition,
)
from prokurist.consumer.listeners import ConsumerRebalanceListener

__all__ = [
    "ConsumerGroupMetadata",
    "ConsumerRebalanceListener",
    "IsolationLevel",
    "KafkaAdminClient",
    "KafkaConsumer",
    "KafkaProducer",
    "OffsetAndMetadata",
    "OffsetSpec",
    "TopicPartition",
    "TopicPartitionReplica",
]

_CALLABLE: Final = "a callable of the bytes, or an object with the method, serves as one"
_LEFT_OUT: Final = MappingProxyType(
    {
        "AsyncConsumerRebalanceListener": "a listener's methods are called in poll",
        "DefaultSerializer": _CALLABLE,
        "Deserializer": _CALLABLE,
        "JsonSerializer": _CALLABLE,
        "Serializer": _CALLABLE,
    }
)


__getattr__: Callable[[str], NoReturn] = absent_in(__name__, _LEFT_OUT)
