"""A call about several items, which ends item by item.

Thread: the caller's and the network thread, as for `Call`.

- Each item has an outcome of its own: a value, or an error. Outcomes that there are when the
  call ends stand, however it ends.
- An attempt knows which items it is about, and for which the broker has said that it did
  nothing. So each item has a ledger, and `may_have_happened` of its own.
"""

import copy
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

from prokurist.errors import KafkaException, TimeoutException
from prokurist.events.call import Call, Stand, Try
from prokurist.events.clock import Deadline
from prokurist.events.trace import Trace


class Outcome(NamedTuple):
    """The end of one item: a value, or an error."""

    value: Any = None
    error: KafkaException | None = None


class ItemsCall(Call):
    """An administrative call, with an outcome for each item.

    Args:
        operation: The public name, as the user called it.
        began: The clock when it was called.
        deadline: When it has to have ended.
        items: The items; of a question to all brokers they become known later.
        trace: Receives the log events of the call; None where they are not read.
    """

    __slots__ = ("_ended_at", "_outcomes")

    def __init__(
        self,
        operation: str,
        began: float,
        deadline: Deadline,
        items: Iterable[Hashable],
        *,
        trace: Trace | None = None,
    ) -> None:
        super().__init__(operation, began, deadline, trace=trace)
        self._outcomes: dict[Hashable, Outcome | None] = dict.fromkeys(items)
        self._ended_at = deadline.at

    # --- the network thread ----------------------------------------------------------------

    def add(self, item: Hashable) -> None:
        """Add an item that was not known when the call began."""
        with self._lock:
            if self._stand is Stand.OPEN:
                self._outcomes.setdefault(item, None)

    def drop(self, item: Hashable) -> None:
        """Take an item back that has no outcome, as of a broker that has left."""
        with self._lock:
            if self._stand is Stand.OPEN and self._outcomes.get(item) is None:
                self._outcomes.pop(item, None)

    def settle(self, item: Hashable, value: Any) -> None:
        """Note the value of an item; nothing changes once the call has ended."""
        with self._lock:
            if self._stand is Stand.OPEN:
                self._outcomes[item] = Outcome(value)

    def refuse(self, item: Hashable, error: KafkaException) -> None:
        """Note the error of an item; nothing changes once the call has ended."""
        with self._lock:
            if self._stand is Stand.OPEN:
                error.may_have_happened = error.may_have_happened or self._may_have(item)
                self._outcomes[item] = Outcome(error=error)

    def is_settled(self, item: Hashable) -> bool:
        """True if an item has its outcome."""
        with self._lock:
            return self._outcomes.get(item) is not None

    def values(self) -> dict[Any, Any]:
        """The values of the items that have one."""
        with self._lock:
            return {
                item: outcome.value
                for item, outcome in self._outcomes.items()
                if outcome is not None and outcome.error is None
            }

    def about(self, items: Iterable[Hashable]) -> "ItemsAttempt":
        """Claim requests for some of the items."""
        return ItemsAttempt(self, frozenset(items))

    def claim_for(self, attempt: Try) -> Try | None:
        """Claim an attempt about some items; see `claim`."""
        return self._enter(attempt)

    def note_undone(self, attempt: Try | None, item: Hashable) -> None:
        """Note the broker's word that an attempt did nothing for an item."""
        if attempt is not None:
            with self._lock:
                attempt.undone |= {item}

    def disprove(self, item: Hashable) -> None:
        """Note that no attempt has done anything for an item."""
        with self._lock:
            for each in self._tries:
                if item in each.about:
                    each.undone |= {item}

    def may_have_happened_to(self, item: Hashable) -> bool:
        """True if an attempt for this item may have changed something on a broker."""
        with self._lock:
            return self._may_have(item)

    def was_asked_before(self, item: Hashable) -> bool:
        """True if an attempt before the present one may have changed something for an item."""
        with self._lock:
            return (
                sum(
                    each.effect and item in each.about and item not in each.undone
                    for each in self._tries
                )
                > 1
            )

    def _may_have(self, item: Hashable) -> bool:
        return any(
            each.effect and item in each.about and item not in each.undone
            for each in self._tries
        )

    # --- the caller --------------------------------------------------------------------------

    def outcomes(self, error: BaseException | None) -> dict[Any, Outcome]:
        """The outcome of each item, once the call has ended.

        Args:
            error: The error that the call has ended with; None for its deadline, or its end.
        """
        with self._lock:
            if self._stand is Stand.OPEN:
                raise AssertionError(f"{self!r} has no outcomes yet")
            return {
                item: found if found is not None else Outcome(error=self._missing(item, error))
                for item, found in self._outcomes.items()
            }

    def _missing(self, item: Hashable, error: BaseException | None) -> KafkaException:
        """The error of an item without an outcome; the lock must be held."""
        happened = self._may_have(item)
        if isinstance(error, KafkaException) and not isinstance(error, TimeoutException):
            own = copy.copy(error)
            own.may_have_happened = happened
            return own
        tries = [each for each in self._tries if item in each.about or not each.about]
        return self._report(
            self._ended_at, tries, happened=happened, item=str(item) if item != "" else None
        )

    def _out_of_time(self, now: float) -> TimeoutException:
        self._ended_at = now
        return super()._out_of_time(now)

    def __repr__(self) -> str:
        return f"ItemsCall({self.operation}, {self._stand.value}, {len(self._outcomes)} items)"


class ItemsAttempt:
    """Claims requests about some items of a call; see `Claimant`.

    Attributes:
        trace: The client's trace; None where it is not read.
        number: The call's number there.
    """

    __slots__ = ("_call", "_items", "number", "trace")

    def __init__(self, call: ItemsCall, items: frozenset[Hashable]) -> None:
        self._call = call
        self._items = items
        self.trace: Trace | None = call.trace
        self.number: int = call.number

    def claim(self, request: str, node: str, now: float, *, effect: bool) -> Try | None:
        """Claim the request before it is written; see `Call.claim`."""
        return self._call.claim_for(Try(request, node, effect, now, about=self._items))

    def ended(
        self,
        attempt: Try,
        now: float,
        outcome: str,
        error: BaseException | None = None,
        *,
        undone: bool = False,
    ) -> None:
        """Note the end of an attempt; see `Call.ended`."""
        self._call.ended(attempt, now, outcome, error, undone=undone)

    def __repr__(self) -> str:
        return f"ItemsAttempt({self._call}, {len(self._items)} items)"
