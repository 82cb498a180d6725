"""Serializers and partitioners of kafka-python and aiokafka, for the producer below."""

from collections.abc import Callable
from typing import Any, Final

from prokurist.producer.serializing import Headers, of_all


class OfNull:
    """A serializer that is asked for null, too; the producer below does not ask for None.

    Args:
        serializer: The user's.
    """

    NULL: Final = object()
    """Sent in the place of None."""

    def __init__(self, serializer: object) -> None:
        self._made = of_all(serializer)

    def __call__(self, topic: str, headers: Headers, it: Any) -> Any:
        """The bytes of an object, which is None for null."""
        return self._made(topic, headers, None if it is OfNull.NULL else it)

    def __repr__(self) -> str:
        return f"OfNull({self._made!r})"


class Partitioner:
    """A partitioner of kafka-python or aiokafka as one of ours.

    Args:
        choose: Called with the key, all partitions, and those that have a leader.
    """

    def __init__(self, choose: Callable[..., int]) -> None:
        self._choose = choose

    def __call__(self, topic: str, key: Any, _value: Any, cluster: Any) -> int:
        """The partition of a record."""
        every = cluster.partitions_of(topic)
        led = [each.partition for each in every if each.leader is not None]
        return self._choose(key, [each.partition for each in every], led)

    def __repr__(self) -> str:
        return f"Partitioner({self._choose!r})"
