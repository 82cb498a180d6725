"""aiokafka's names: `from prokurist.compat.aiokafka import AIOKafkaConsumer`.

docs/howto/drop_in.md has what is here, and what differs.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final, NoReturn

from prokurist.compat.absent import absent_in
from prokurist.compat.aiokafka.abc import ConsumerRebalanceListener
from prokurist.compat.aiokafka.consumer import AIOKafkaConsumer
from prokurist.compat.aiokafka.errors import ConsumerStoppedError, IllegalOperation
from prokurist.compat.aiokafka.producer import AIOKafkaProducer
from prokurist.compat.aiokafka.structs import (
    ConsumerRecord,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
)

__all__ = [
    "AIOKafkaConsumer",
    "AIOKafkaProducer",
    "ConsumerRebalanceListener",
    "ConsumerRecord",
    "ConsumerStoppedError",
    "IllegalOperation",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "TopicPartition",
]

_LEFT_OUT: Final = MappingProxyType(
    {
        "AIOKafkaClient": "topics() of an AIOKafkaConsumer, and health() of a prokurist client",
    }
)


__getattr__: Callable[[str], NoReturn] = absent_in(__name__, _LEFT_OUT)
