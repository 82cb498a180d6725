"""Outcome of the acknowledgements of one call, partition by partition.

Thread: the network thread notes, the application thread reads; `_lock` is held for a few
assignments.
"""

import threading
from collections.abc import Iterable

from prokurist.errors import KafkaException
from prokurist.types import TopicPartition


class AcknowledgeOutcome:
    """Confirmed acknowledgements, and those that were refused or lost."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._done: dict[TopicPartition, list[int]] = {}
        self._refused: dict[TopicPartition, tuple[list[int], KafkaException]] = {}
        self._unknown = False
        self._late: AcknowledgeOutcome | None = None

    def leave(self) -> None:
        """The call that would tell it is over: keep apart what comes from now on."""
        with self._lock:
            self._late = self._late or AcknowledgeOutcome()

    def take_late(self) -> "AcknowledgeOutcome | None":
        """Take what has come behind the end of the call; None for nothing."""
        with self._lock:
            if not self._late:
                return None
            late, self._late = self._late, AcknowledgeOutcome()
            return late

    def confirm(self, tp: TopicPartition, offsets: Iterable[int]) -> None:
        """The broker has taken the acknowledgements of some offsets."""
        with self._lock:
            if self._late is not None:
                self._late.confirm(tp, offsets)
                return
            self._done.setdefault(tp, []).extend(offsets)

    def refuse(
        self,
        tp: TopicPartition,
        offsets: Iterable[int],
        error: KafkaException,
        *,
        unknown: bool = False,
    ) -> None:
        """They were refused, or lost; the first error of a partition stays.

        Args:
            tp: The partition.
            offsets: The offsets.
            error: Why.
            unknown: True if they may have been taken all the same.
        """
        with self._lock:
            if self._late is not None:
                self._late.refuse(tp, offsets, error, unknown=unknown)
                return
            self._unknown = self._unknown or unknown
            refused, _ = self._refused.setdefault(tp, ([], error))
            refused.extend(offsets)

    @property
    def done(self) -> dict[TopicPartition, tuple[int, ...]]:
        """The offsets whose acknowledgements were taken."""
        with self._lock:
            return {tp: tuple(sorted(each)) for tp, each in self._done.items()}

    @property
    def refused(self) -> dict[TopicPartition, tuple[tuple[int, ...], KafkaException]]:
        """The offsets whose acknowledgements were refused or lost, with the error."""
        with self._lock:
            return {
                tp: (tuple(sorted(set(offsets))), error)
                for tp, (offsets, error) in self._refused.items()
            }

    @property
    def may_have_happened(self) -> bool:
        """True if a refused acknowledgement may have been taken all the same."""
        return self._unknown

    def __bool__(self) -> bool:
        return bool(self._done or self._refused)

    def __repr__(self) -> str:
        return f"AcknowledgeOutcome({len(self._done)} done, {len(self._refused)} refused)"
