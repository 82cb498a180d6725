"""Look-ups of committed offsets: two equal ones share one request.

Thread: the network thread alone.

- Only one that is not written yet can be joined: no answer is older than its
  question. For the same reason a caller does not join one that began before a commit did: it
  may be written before that.
- Each caller keeps its own deadline and its own ledger, with entries for the look-up. It ends
  with the last of them.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeAlias

from prokurist.events.call import Call
from prokurist.events.clock import NEVER
from prokurist.network_thread.operations.operation import Promise, begin
from prokurist.network_thread.operations.shared_call import SharedCall
from prokurist.network_thread.operations.timer import Timer
from prokurist.types import OffsetAndMetadata, TopicPartition

Committed: TypeAlias = dict[TopicPartition, OffsetAndMetadata | None]

Taker: TypeAlias = Callable[[Committed], None]
"""Takes one partial answer."""


class Asking(Protocol):
    """Asks the coordinator for offsets, as often as it takes."""

    def __call__(
        self, call: Call, partitions: frozenset[TopicPartition], told: Taker, /, *, stable: bool
    ) -> Coroutine[Any, Any, Committed]:
        """Begin; with `stable`, wait for open transactions."""


class LookUp:
    """One look-up that callers share."""

    def __init__(self, now: float) -> None:
        self.call: SharedCall = SharedCall("committed", now, NEVER)
        self.answer: Promise[Committed] | None = None
        self.takers: list[Taker] = []

    def told(self, found: Committed) -> None:
        """Pass an answer on to all callers."""
        for take in tuple(self.takers):
            take(found)

    def __repr__(self) -> str:
        return f"LookUp({self.call})"


class CommittedLookups:
    """Look-ups of committed offsets that are under way, for callers to join.

    Args:
        ask: Asks the coordinator.
        timer: The Timer.
    """

    def __init__(self, ask: Asking, timer: Timer) -> None:
        self._ask = ask
        self._timer = timer
        self._joinable: dict[tuple[frozenset[TopicPartition], bool], LookUp] = {}

    async def look_up(
        self,
        call: Call,
        partitions: tuple[TopicPartition, ...],
        taker: Taker | None = None,
        *,
        stable: bool = True,
    ) -> Committed:
        """Look up committed offsets, joining an equal look-up if there is one.

        Args:
            call: For whom.
            partitions: The partitions.
            taker: Takes each answer as it comes.
            stable: True to wait for open transactions that commit some of them.

        Raises:
            KafkaException: The error of the look-up, for all callers that share it.
        """
        wanted = frozenset(partitions), stable
        mine = self._joinable.get(wanted)
        if mine is None or mine.call.was_written:
            mine = self._joinable[wanted] = LookUp(self._timer.now)
        mine.call.follow(call, self._timer.now)
        if taker is not None:
            mine.takers.append(taker)
        try:
            if mine.answer is None:
                # Followed first: the ledger hears of its first steps, too.
                mine.answer = begin(
                    self._ask(mine.call, wanted[0], mine.told, stable=stable),
                    "a look-up of offsets",
                )
            found = await mine.answer
        finally:
            mine.call.leave_alone(call)
            if taker is not None:
                mine.takers.remove(taker)
            if not mine.call.is_followed and self._joinable.get(wanted) is mine:
                del self._joinable[wanted]
        return {tp: found[tp] for tp in partitions}

    def part(self) -> None:
        """Let no later caller join a look-up that began before: a commit begins."""
        self._joinable.clear()

    def __len__(self) -> int:
        return len(self._joinable)

    def __repr__(self) -> str:
        return f"CommittedLookups({len(self._joinable)} can be joined)"
