"""The largest batches that topics take, found out from what their brokers refuse and accept.

Thread: the network thread alone changes it; application threads read one number.

A broker that refuses a batch (MESSAGE_TOO_LARGE) names no size. Later batches of the topic
stay below the refused one, until a larger one is tried: `max.message.bytes` may have been
raised again. A trial is twice as large as what was accepted, so a refused one costs a single
split. An accepted one is followed by the next at once. After a refused one the pause before
the next doubles, from `FIRST` to `LONGEST`: a topic that always takes less than
`max.request.size` refuses about ten trials in ten minutes, and one in five minutes later.
"""

from typing import Final

from prokurist.lazy_dataclasses import dataclass

FIRST: Final = 1.0
"""Seconds after a refusal until a larger batch is tried for the first time."""
LONGEST: Final = 300.0
"""Seconds between refused trials at most."""
SHARE: Final = 0.75
"""How large later batches may be, as a share of a refused one of a size that was accepted."""


@dataclass(slots=True)
class BatchLimit:
    """The limit of one topic.

    Attributes:
        size: Bytes that a batch may have.
        accepted: Bytes that one may have by all that was refused; less than `size` in a trial.
        pause: Seconds between the last refusal and the next trial.
        next_trial: When a larger batch is tried.
    """

    size: int
    accepted: int
    pause: float
    next_trial: float


class BatchLimits:
    """The limits of topics whose brokers have refused a batch.

    Args:
        most: Bytes that a batch may have where none was refused, by `max.request.size`.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._limits: dict[str, BatchLimit] = {}

    def of(self, topic: str) -> int:
        """Bytes that a batch of a topic may have."""
        limit = self._limits.get(topic)
        return self._most if limit is None else limit.size

    def is_lowered(self, topic: str) -> bool:
        """Whether batches have to be smaller than `max.request.size` allows."""
        return self.of(topic) < self._most

    def refuse(self, topic: str, size: int, now: float) -> None:
        """Lower a topic's limit: its broker has refused a batch."""
        limit = self._limits.get(topic)
        if limit is None:
            below = int(size * SHARE)
            self._limits[topic] = BatchLimit(below, below, FIRST, now + FIRST)
            return
        if size <= limit.accepted:
            # No trial: the topic takes less than before.
            limit.accepted = int(size * SHARE)
        limit.size = limit.accepted
        if now < limit.next_trial:
            return  # One of several batches that were on their way in the same trial.
        was_accepted_for_long = now > limit.next_trial + LONGEST
        limit.pause = FIRST if was_accepted_for_long else min(2 * limit.pause, LONGEST)
        limit.next_trial = now + limit.pause

    def accept(self, topic: str, size: int, now: float) -> None:
        """Try larger batches, if it is time: one that filled most of its limit was accepted."""
        limit = self._limits.get(topic)
        if limit is None:
            return
        limit.accepted = max(limit.accepted, min(size, limit.size))
        if now >= limit.next_trial and 2 * size > limit.size:
            limit.size = min(2 * limit.size, self._most)

    def forget(self, topic: str) -> None:
        """Drop what another topic of this name has refused."""
        self._limits.pop(topic, None)

    def __repr__(self) -> str:
        return f"BatchLimits({self._limits})"
