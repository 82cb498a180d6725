"""Faults of a wire, and their combined effect.

Thread: any; the proxy knows the faults in effect.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from types import TracebackType
from typing import Self

from prokurist.testing.proxy_links import Direction, Effect, unchanged


class FaultKind(StrEnum):
    """Kinds of faults."""

    DELAY = "delay"
    SWALLOW = "swallow"
    THROTTLE = "throttle"
    CHANGE = "change"
    CUT = "cut"
    RESET = "reset"
    REFUSE = "refuse"


class Fault:
    """A fault in effect until healed; a context manager heals on leaving."""

    def __init__(
        self,
        end: "Callable[[Fault], None]",
        kind: FaultKind,
        directions: Iterable[Direction],
        *,
        amount: float = 0.0,
        change: Callable[[bytes], bytes] = unchanged,
        since: int = 0,
        kept: bool = False,
    ) -> None:
        self._end = end
        self.kind = kind
        self.directions: frozenset[Direction] = frozenset(directions)
        self.amount = amount
        self.change = change
        self.since = since
        self.kept = kept

    def __repr__(self) -> str:
        to = ",".join(sorted(self.directions)) if self.directions else "-"
        return f"Fault({self.kind}, {to}, amount={self.amount}, since={self.since})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.heal()

    def heal(self) -> None:
        """End this fault, and no other; may be called twice."""
        self._end(self)


def with_fault(effect: Effect, fault: Fault) -> Effect:
    """An effect, and one more fault on top of it."""
    match fault.kind:
        case FaultKind.DELAY:
            return effect._replace(delay=effect.delay + fault.amount)
        case FaultKind.THROTTLE:
            return effect._replace(rate=min(effect.rate, fault.amount))
        case FaultKind.SWALLOW:
            return effect._replace(swallow=True)
        case FaultKind.CHANGE:
            before, then = effect.change, fault.change
            return effect._replace(change=lambda data: then(before(data)))
        case _:
            return effect


def directions_of(direction: str | None) -> tuple[Direction, ...]:
    """The directions that a user named.

    Raises:
        ValueError: There is no such direction.
    """
    if direction is None:
        return tuple(Direction)
    try:
        return (Direction(direction),)
    except ValueError:
        raise ValueError(
            f"direction is 'to_broker' or 'to_client', or None for both: {direction!r}"
        ) from None
