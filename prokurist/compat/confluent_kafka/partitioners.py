"""librdkafka's ways to choose partitions, by the names that `partitioner` has for them.

Its own default is `consistent_random`, and not Java's way: a program that changes one import
has to find each key in the partition where it was.
"""

import random
import zlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final


def consistent(topic: str, key: bytes | None, _value: Any, cluster: Any) -> int:
    """By the CRC-32 of the key; without a key always the same."""
    return zlib.crc32(key or b"") % len(cluster.partitions_of(topic))


def consistent_random(topic: str, key: bytes | None, value: Any, cluster: Any) -> int:
    """By the CRC-32 of the key; without a key any."""
    return (consistent if key else any_of)(topic, key, value, cluster)


def any_of(topic: str, _key: bytes | None, _value: Any, cluster: Any) -> int:
    """Any partition, whatever the key."""
    return random.randrange(len(cluster.partitions_of(topic)))  # noqa: S311 - no secret


DEFAULT: Final = "consistent_random"

PARTITIONERS: Final[Mapping[str, Callable[..., int] | None]] = MappingProxyType(
    {
        "consistent": consistent,
        DEFAULT: consistent_random,
        "random": any_of,
        "murmur2": None,
        "murmur2_random": None,
    }
)
"""By name; None is Java's way, which the client below goes by itself."""
