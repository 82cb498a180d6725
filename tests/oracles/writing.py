"""Judges what a producer has written: in order, once, and as its deliveries say.

The judge knows nothing of brokers or clients: an adapter numbers the records of each partition
in the order in which they were sent, and says which numbers are in each log. A topic that was
created again has another log.

Thread: any; data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Fate:
    """The outcome of a record, as its delivery says it.

    Attributes:
        offset: Its offset; None where it has failed.
        may_be_there: Whether one that has failed may be in the log.
        error: The name of the error that it has failed with.
    """

    offset: int | None
    may_be_there: bool = False
    error: str = ""


def wrongs_of(
    where: object, logs: Sequence[Sequence[int]], fates: Mapping[int, Fate]
) -> list[str]:
    """Compare the logs of an idempotent producer's partition with its deliveries.

    Args:
        where: The partition.
        logs: The numbers in each of its logs, from offset 0.
        fates: The outcome of each record by its number.

    Returns:
        What is wrong, in words.
    """
    found: list[str] = []
    for life, log in enumerate(logs):
        twice = sorted({each for each in log if log.count(each) > 1})
        if twice:
            found.append(f"writing: {where}: {twice} are twice in log {life}: {log}")
        elif any(later < earlier for earlier, later in pairwise(log)):
            found.append(f"writing: {where}: log {life} is out of order: {log}")
    everywhere = {number for log in logs for number in log}
    for number, fate in fates.items():
        if fate.offset is not None:
            if not any(
                log[fate.offset : fate.offset + 1] == [number] for log in map(list, logs)
            ):
                found.append(f"writing: {where}: {number} is not at {fate.offset}: {logs}")
        elif not fate.may_be_there and number in everywhere:
            found.append(
                f"writing: {where}: {number} failed with {fate.error}, and is there: {logs}"
            )
    return found
