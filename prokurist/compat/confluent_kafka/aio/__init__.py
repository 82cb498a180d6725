"""confluent-kafka's clients for asyncio: `AIOConsumer` and `AIOProducer`.

docs/howto/drop_in.md has what is here, and what differs.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final, NoReturn

from prokurist.compat.absent import absent_in
from prokurist.compat.confluent_kafka.aio.consumer import AIOConsumer
from prokurist.compat.confluent_kafka.aio.producer import AIOProducer

__all__ = ["AIOConsumer", "AIOProducer"]

_LEFT_OUT: Final = MappingProxyType(
    dict.fromkeys(
        ("AsyncDeserializingConsumer", "AsyncSerializingProducer"),
        "serializers are awaited by the program, before produce and after poll",
    )
)

__getattr__: Callable[[str], NoReturn] = absent_in(__name__, _LEFT_OUT)
