"""The module of confluent-kafka's C library, from which programs import as well."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final, NoReturn

from prokurist.compat.absent import absent_in
from prokurist.compat.confluent_kafka.admin.topics import NewPartitions, NewTopic
from prokurist.compat.confluent_kafka.constants import *  # noqa: F403 - all of them
from prokurist.compat.confluent_kafka.consumer import Consumer
from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.compat.confluent_kafka.model import Uuid
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
    "Consumer",
    "KafkaError",
    "KafkaException",
    "Message",
    "NewPartitions",
    "NewTopic",
    "Producer",
    "TopicPartition",
    "Uuid",
    "libversion",
    "version",
]

_PARTITIONERS: Final = "name it in the key `partitioner` of a Producer"
_LEFT_OUT: Final = MappingProxyType(
    {
        "ShareConsumer": "share groups are not built",
        **dict.fromkeys(("consistent", "fnv1a", "murmur2"), _PARTITIONERS),
    }
)


__getattr__: Callable[[str], NoReturn] = absent_in(__name__, _LEFT_OUT)
