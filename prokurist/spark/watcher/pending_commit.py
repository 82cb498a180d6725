"""The offsets of a query that are still to be committed to its group, and when.

Thread: the committer's; pure, and given each moment.
Invariants: only the newest end of each partition waits, so everything during an outage is one
commit after it. Before a partition's first commit the group's offsets are looked up, and again
after an hour without a commit: a group without members forgets offsets some days after they
were committed, and another program may have moved them. An offset goes back only if that is
allowed.
"""

import math
from collections.abc import Mapping
from typing import Final

from prokurist.events.backoff import Backoff
from prokurist.types import TopicPartition

RENEWED_EVERY: Final = 3600.0
"""Seconds after which unchanged offsets are committed once more."""

REFUSED_FOR: Final = 60.0
"""Seconds after which a refusing group is asked again: its members may have gone."""


class PendingCommit:
    """The offsets that one run has still to commit, with back-off and hourly renewal.

    Args:
        backoff: The pauses between attempts that fail.
        allow_rewind: True if an offset may go back.

    Attributes:
        due_at: When there is something to do; never, where there is nothing.
        committed: The group's committed offsets, as far as known.
        is_refused: True if the group refused the last attempt.
    """

    def __init__(self, backoff: Backoff, *, allow_rewind: bool) -> None:
        self._backoff = backoff
        self._allow_rewind = allow_rewind
        self._ends: dict[TopicPartition, int] = {}
        self.committed: Mapping[TopicPartition, int | None] = {}
        self.is_refused: bool = False
        self._renewing = False
        self._failures = 0
        self._not_before = -math.inf
        self._renew_at = math.inf

    def ended(self, ends: Mapping[TopicPartition, int]) -> None:
        """Take the end of a batch, in place of a former one.

        A partition whose end has gone back may be of a topic that was created again. Its group
        has lost the former one's offset then, so it is asked once more.

        Args:
            ends: Of all partitions: one that is not among them is no more.
        """
        back = {each for each, end in ends.items() if end < self._ends.get(each, 0)}
        self._ends = dict(ends)
        self.committed = {
            partition: offset
            for partition, offset in self.committed.items()
            if partition in self._ends and partition not in back
        }

    @property
    def due_at(self) -> float:
        """See the class."""
        if not self.is_open:
            return self._renew_at
        return self._not_before

    @property
    def is_open(self) -> bool:
        """True while offsets are still to be looked up or committed."""
        return bool(self.unknown or self.pending)

    @property
    def unknown(self) -> tuple[TopicPartition, ...]:
        """Return the partitions that need a look-up of their committed offsets first."""
        return tuple(each for each in self._ends if each not in self.committed)

    @property
    def pending(self) -> dict[TopicPartition, int]:
        """The offsets to commit of partitions that were looked up."""
        return {
            partition: end
            for partition, end in self._ends.items()
            if partition in self.committed and self._wanted(end, self.committed[partition])
        }

    @property
    def kept_back(self) -> dict[TopicPartition, int]:
        """Return the partitions whose committed offset is ahead of ours and is kept."""
        if self._allow_rewind:
            return {}
        return {
            partition: committed
            for partition, committed in self.committed.items()
            if committed is not None and committed > self._ends[partition]
        }

    def _wanted(self, end: int, committed: int | None) -> bool:
        if committed is None or end > committed:
            return True
        return self._renewing if end == committed else self._allow_rewind

    def renew(self, now: float) -> None:
        """Look up and commit everything again, as the hour is over."""
        self.committed, self._renewing = {}, True
        self._renew_at, self._not_before = math.inf, now

    def hurry(self, now: float) -> None:
        """Try at once, since a call waits, in spite of a pause or refusal."""
        self.is_refused = False
        self._not_before = min(self._not_before, now)

    def has(self, committed: Mapping[TopicPartition, int | None], now: float) -> None:
        """Take looked-up committed offsets; None for no offset."""
        self.committed = {**self.committed, **committed}
        if not self.is_open:
            # It has them already. It counts from now all the same: when they were
            # committed is not known.
            self._done(now)

    def told(self, offsets: Mapping[TopicPartition, int], now: float) -> None:
        """Note offsets that were committed."""
        self.committed = {**self.committed, **offsets}
        self._done(now)

    def _done(self, now: float) -> None:
        self._renewing, self._failures, self.is_refused = False, 0, False
        self._not_before, self._renew_at = now, now + RENEWED_EVERY

    def failed(self, now: float) -> None:
        """Back off after an attempt that has failed."""
        self._failures += 1
        self.is_refused = False
        self._not_before = now + self._backoff.pause(self._failures)

    def refused(self, now: float) -> None:
        """Stop committing, since the group has refused."""
        self.is_refused = True
        self._not_before = now + REFUSED_FOR

    @property
    def ends(self) -> Mapping[TopicPartition, int]:
        """The end offsets of the last batch."""
        return self._ends

    def __repr__(self) -> str:
        state = "open" if self.is_open else "even"
        return f"PendingCommit({len(self._ends)} partitions, {state})"
