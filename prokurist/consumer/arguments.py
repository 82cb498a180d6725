"""What users pass, checked before any waiting.

Thread: the application's. Each function returns the argument in the one form that
is used inside, or raises what is wrong with it.
"""

from collections.abc import Iterable, Mapping

from prokurist.types import OffsetAndMetadata, TopicPartition


def partitions_in(
    given: TopicPartition | Iterable[TopicPartition],
) -> tuple[TopicPartition, ...]:
    """One partition or any number of them, each once, in the order given.

    Raises:
        TypeError: Something in it is no TopicPartition.
        ValueError: A topic is empty or a partition negative.
    """
    # A TopicPartition is a tuple, hence iterable: it has to be asked for first.
    several: object = (given,) if isinstance(given, TopicPartition) else given
    if isinstance(several, str) or not isinstance(several, Iterable):
        raise TypeError(f"partitions are TopicPartitions, not {several!r}")
    return tuple(dict.fromkeys(partition_in(each) for each in several))


def partition_in(given: TopicPartition) -> TopicPartition:
    """One partition.

    Raises:
        TypeError: It is no TopicPartition.
        ValueError: Its topic is empty or its number negative.
    """
    if not isinstance(given, TopicPartition):
        raise TypeError(f"a partition is a TopicPartition, not {given!r}")
    topic_in(given.topic)
    number = given.partition
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"a partition's number is an int, not {number!r}")
    if number < 0:
        raise ValueError(f"a partition's number is not negative: {given!r}")
    return given


def topic_in(given: str) -> str:
    """One topic's name.

    Raises:
        TypeError: It is no str.
        ValueError: It is empty.
    """
    if not isinstance(given, str):
        raise TypeError(f"a topic is a str, not {given!r}")
    if not given:
        raise ValueError("a topic has a name: it is empty")
    return given


def offsets_in(
    given: Mapping[TopicPartition, OffsetAndMetadata],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Offsets to commit.

    Raises:
        TypeError: It is no mapping of partitions to offsets.
        ValueError: An offset is negative, or a partition is none.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"offsets are a mapping of TopicPartition to offset, not {given!r}")
    return {partition_in(tp): offset_in(tp, offset) for tp, offset in given.items()}


def offset_in(tp: TopicPartition, given: OffsetAndMetadata) -> OffsetAndMetadata:
    """One offset to commit.

    Raises:
        TypeError: It is no OffsetAndMetadata.
    """
    if not isinstance(given, OffsetAndMetadata):
        raise TypeError(f"the offset of {tp} is an OffsetAndMetadata, not {given!r}")
    return given
