"""Errors of acknowledgements of a share group's records."""

from collections.abc import Mapping
from typing import Any

from prokurist.errors.timeout import TimeoutException
from prokurist.errors.tree import KafkaException
from prokurist.types import TopicPartition, counted

Offsets = tuple[int, ...]

SHOWN = 5
"""Partitions that the text names."""


class AcknowledgeException(KafkaException):
    """Acknowledgements were refused or lost: these records may be delivered again.

    Attributes:
        refused: The offsets of each partition, and the error.
        done: The offsets of each partition whose acknowledgements were taken.
        may_have_happened: True if the answer for some was lost: they may have been taken.
    """

    def __init__(
        self,
        message: str = "",
        *,
        refused: Mapping[TopicPartition, tuple[Offsets, KafkaException]] | None = None,
        done: Mapping[TopicPartition, Offsets] | None = None,
        may_have_happened: bool = False,
    ) -> None:
        self.refused: dict[TopicPartition, tuple[Offsets, KafkaException]] = dict(refused or {})
        self.done: dict[TopicPartition, Offsets] = dict(done or {})
        self.may_have_happened: bool = may_have_happened
        super().__init__(message or _account(self))


class AcknowledgeTimeoutException(TimeoutException):
    """The time of `commit_sync` is over with acknowledgements unanswered.

    Unsent marks stay, and the next commit or poll sends them. A request that was sent and not
    answered may have had its effect (`may_have_happened`).

    Attributes:
        refused: The offsets of each partition that were refused, and the error.
        done: The offsets of each partition whose acknowledgements were taken.
    """

    error_code: int | None = None

    def __init__(
        self,
        message: str = "",
        *,
        refused: Mapping[TopicPartition, tuple[Offsets, KafkaException]] | None = None,
        done: Mapping[TopicPartition, Offsets] | None = None,
        **ledger: Any,
    ) -> None:
        self.refused: dict[TopicPartition, tuple[Offsets, KafkaException]] = dict(refused or {})
        self.done: dict[TopicPartition, Offsets] = dict(done or {})
        super().__init__(message, **ledger)


def _account(error: AcknowledgeException) -> str:
    """Name the partitions; empty for an exception without any."""
    if not error.refused:
        return ""
    told = [
        f"{counted(len(offsets), 'record')} of {tp} from offset {offsets[0]} on "
        f"({type(why).__name__}: {why})"
        for tp, (offsets, why) in list(error.refused.items())[:SHOWN]
    ]
    more = len(error.refused) - len(told)
    if more:
        told.append(f"and {more} more partitions")
    done = sum(map(len, error.done.values()))
    unknown = ", or may have been, since no answer came" if error.may_have_happened else ""
    return (
        f"acknowledgements were not taken{unknown}: {'; '.join(told)}. "
        f"{counted(done, 'other')} were taken. The group delivers these records again, so "
        f"process them in a way that bears a repetition"
    )
