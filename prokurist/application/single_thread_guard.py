"""The way in: one call of a client is inside at a time.

Thread: any may come; the one that is inside is the application's. Nothing is waited for.

- A call goes in by one step that nothing can come between: `dict.setdefault` writes it
  down if the place is free, and returns the present holder otherwise. A second thread is
  refused, and the first is unaffected. The same thread finds a holder only in a signal
  handler: it is told to use `wakeup`.
- Ctrl-C may throw a call out between any two steps, so also after it has gone in and
  before anything sees to it that it goes out. So each call records its stack frame. A frame
  that runs refuses to be cleared; if it does not, an interrupt has ended the call, and the next
  caller may take over: in the next place, so that of several at once one gets it. Only they
  pay for this.
- The user's code inside a call has a scope of its own, and its calls there are one at a time
  likewise. The scope belongs to that thread, and ends with the surrounding call.

Invariants: a place that a call was thrown out of is never used again.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, NamedTuple
from weakref import WeakSet

from prokurist.errors import (
    ConcurrentModificationException,
    ForkedClientError,
    IllegalStateException,
)
from prokurist.events.hand import Steady, make_steady

frame_of: Final = sys._getframe  # noqa: SLF001 - public but for its name

Occupant = tuple[str, FrameType]
"""The call in progress: its name, and the frame that enters and leaves."""

Place = dict[str, Any]
"""The call that holds it, as `HERE`; the place to try if that was interrupted, as `NEXT`."""

HERE: Final = "here"
NEXT: Final = "next"


class Process:
    """The id of this process, kept up to date over forks without a system call."""

    def __init__(self) -> None:
        self.id: int = os.getpid()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        self.id = os.getpid()
        for each in STEADY:
            each.steady.off()


STEADY: Final = WeakSet["SingleThreadGuard"]()
"""Clients with an iteration on the fast path, so that a fork can end it."""

PROCESS: Final = Process()


class GuardScope:
    """A scope with one call at a time: the client, or user code inside a call.

    Args:
        outer: The scope of the call that runs the user's code.

    Attributes:
        place: Where the next call goes in.
        thread: The only one that may come, for the user's code.
    """

    __slots__ = ("_around", "outer", "place", "thread")

    def __init__(self, outer: "GuardScope | None" = None) -> None:
        self.place: Place = {}
        self.outer: GuardScope | None = outer
        self.thread: int | None = None if outer is None else threading.get_ident()
        self._around = None if outer is None else outer.standing

    @property
    def standing(self) -> Occupant | None:
        """The call that is inside; None if there is none."""
        place: Place | None = self.place
        standing: Occupant | None = None
        while place is not None:
            standing, place = place.get(HERE), place.get(NEXT)
        return standing

    @property
    def is_open(self) -> bool:
        """True while the surrounding call is in progress."""
        if self.outer is None:
            return True
        around = self._around
        return around is not None and around is self.outer.standing and not is_over(around[1])

    def take(self, mine: Occupant) -> Place | None:
        """Take the place, and return it; None while another call is inside."""
        place = self.place
        while (standing := place.setdefault(HERE, mine)) is not mine:
            if not is_over(standing[1]):
                return None
            # Over, and by now perhaps gone as it should be. If not, it never will be.
            if place.get(HERE) is standing:
                place = place.setdefault(NEXT, {})
        self.place = place
        return place


class GuardedCall:
    """The one call that is inside; a reusable context manager.

    An iteration goes in and out for each record, so this is written for speed. It has to be
    entered in the function that is the call, for as long as that runs.

    Args:
        guard: The guard to enter.
        operation: The name of the call.

    Raises:
        IllegalStateException: The client is closed, or the same thread is inside
            already.
        ConcurrentModificationException: Another thread is inside.
        ForkedClientError: This process is a copy of the one that built it.
    """

    __slots__ = ("_guard", "_operation", "_place")

    def __init__(self, guard: "SingleThreadGuard", operation: str) -> None:
        self._guard = guard
        self._operation = operation

    def enter(self) -> None:
        """Enter the client; `leave` has to follow, also after an exception."""
        guard = self._guard
        guard.steady.off()
        if guard.closed or PROCESS.id != guard.process:
            guard.check_usable(self._operation)
        room = guard.room
        place = room.place
        mine = self._operation, frame_of(1)
        if room.outer is not None or place.setdefault(HERE, mine) is not mine:
            place = guard.find_place(mine)
        self._place = place

    def leave(self) -> None:
        """Leave the client: the call is over."""
        self._place.clear()

    __enter__ = enter

    def __exit__(self, *_: object) -> None:
        self._place.clear()


class GuardRules(NamedTuple):
    """Rules that a refusal names.

    Attributes:
        in_handlers: What a signal handler inside a call may do.
        in_threads: What other threads may do.
    """

    in_handlers: str
    in_threads: str


CLIENT_RULES: Final = GuardRules(
    "in a signal handler only wakeup() may be called",
    "a client is used by one thread at a time; only wakeup(), health(), metrics() and repr() "
    "may come from others",
)


class SingleThreadGuard:
    """Allows one call of a client at a time.

    Args:
        rules: The rules that a refusal names.

    Attributes:
        room: Where calls go in at present.
        process: The process that built the client.
        closed: True once it is closed.
        steady: Flag of an iteration's fast path, in place of an entry; a call clears it.
    """

    def __init__(self, rules: GuardRules = CLIENT_RULES) -> None:
        self._rules = rules
        self.steady: Steady = make_steady()
        self.room: GuardScope = GuardScope()
        self.process: int = PROCESS.id
        self.closed = False

    def inside(self, operation: str) -> GuardedCall:
        """Hold the client for one call while the `with` block runs; see `GuardedCall`."""
        return GuardedCall(self, operation)

    @contextmanager
    def callback(self) -> Iterator[None]:
        """Let a callback inside a call make calls of its own."""
        outer = self._open_room()
        self.room = GuardScope(outer)
        try:
            yield
        finally:
            self.room = outer

    def find_place(self, mine: Occupant) -> Place:
        """Enter where that is not plain: in a callback, or after an interrupt.

        Raises:
            IllegalStateException: The same thread is inside.
            ConcurrentModificationException: Another one is.
        """
        room = self._open_room()
        place = room.take(mine) if room.thread in (None, threading.get_ident()) else None
        if place is None:
            around = None if room.outer is None else room.outer.standing
            raise refusal(mine[0], room.standing or around, self._rules)
        self.room = room
        return place

    def _open_room(self) -> GuardScope:
        """The scope of the present callback; one that an interrupt has left is passed over."""
        room = self.room
        while room.outer is not None and not room.is_open:
            room = room.outer
        return room

    def check_usable(self, operation: str) -> None:
        """Raise if the client is closed, or was copied by a fork.

        Raises:
            IllegalStateException: It is closed.
            ForkedClientError: It is a copy.
        """
        if PROCESS.id != self.process:
            raise ForkedClientError(
                f"{operation} of a client that process {self.process} built, in process "
                f"{PROCESS.id}: its thread and connections stayed there; build a client "
                f"after the fork"
            )
        if self.closed:
            raise IllegalStateException(
                f"{operation} of a client that is closed: build another"
            )

    @property
    def is_taken(self) -> bool:
        """True while a call is inside, here or in a callback."""
        standing = self.room.standing
        return standing is not None and not is_over(standing[1])

    @property
    def present(self) -> str | None:
        """The call that is inside; the outermost one."""
        room = self.room
        while room.outer is not None:
            room = room.outer
        standing = room.standing
        return None if standing is None else standing[0]


SUSPENDS: Final = 0x80 | 0x200
"""Flags of the code of coroutines and asynchronous generators."""


def is_over(frame: FrameType) -> bool:
    """True if a frame no longer runs, on any thread.

    A coroutine that is suspended is inside until it leaves. Up to CPython 3.12 `clear` would
    close it.
    """
    if frame.f_code.co_flags & SUSPENDS:
        return False
    try:
        frame.clear()
    except RuntimeError:
        return False
    return True


def is_below(frame: FrameType) -> bool:
    """True if a frame is on this thread's stack, below the caller."""
    each: FrameType | None = frame_of(1)
    while each is not None:
        if each is frame:
            return True
        each = each.f_back
    return False


def refusal(
    operation: str, standing: Occupant | None, rules: GuardRules
) -> IllegalStateException:
    """The error for a call that cannot enter."""
    if standing is not None and is_below(standing[1]):
        return IllegalStateException(
            f"{operation} inside {standing[0]} of the same thread: {rules.in_handlers}"
        )
    inside = f"{standing[0]} of another thread" if standing else "a call of another thread"
    return ConcurrentModificationException(
        f"{operation} while {inside} is inside: {rules.in_threads}"
    )
