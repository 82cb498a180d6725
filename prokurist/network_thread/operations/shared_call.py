"""A background call that several callers' calls may follow.

Thread: the network thread alone; what it tells the calls that follow it goes
through their own locks.

A look-up in the background has a Call like any other work, with its deadline and its ledger. A
caller that waits for it has a call with a deadline of its own, and its timeout report has to
include the look-up. So that call follows this one, and its ledger gets a copy of every entry of
this one.

Nothing is written for it when all calls that followed it have ended, even if that was
not noticed yet. A detached call goes on without followers.
"""

from prokurist.events.call import Call, Try
from prokurist.events.clock import Deadline


class SharedCall(Call):
    """A call of the background that other calls follow.

    Attributes:
        detached: True if it goes on without followers.
    """

    __slots__ = ("_copies", "_followers", "detached")

    def __init__(
        self, operation: str, began: float, deadline: Deadline, *, detached: bool = False
    ) -> None:
        super().__init__(operation, began, deadline)
        self.detached: bool = detached
        self._followers: list[Call] = []
        self._copies: dict[int, list[tuple[Call, Try]]] = {}

    def follow(self, call: Call, now: float) -> None:
        """Copy this call's ledger entries to another call's ledger from now on."""
        self._followers.append(call)
        if self._last_error is not None:
            call.met(self._last_error)
        if self._wait is not None:
            call.wait_begins(self._wait[0], now)
        for attempt in self._tries:
            if attempt.ended is None:
                self._copy(attempt, call, now)

    def leave_alone(self, call: Call) -> None:
        """Remove a follower after its caller has left."""
        self._followers.remove(call)

    @property
    def is_followed(self) -> bool:
        """True if a call follows it."""
        return bool(self._followers)

    @property
    def was_written(self) -> bool:
        """True if an attempt of it was written, regardless of the outcome."""
        return bool(self._tries)

    def claim(self, request: str, node: str, now: float, *, effect: bool) -> Try | None:
        """See `Call`."""
        if not self.detached and not any(each.is_open for each in self._followers):
            return None
        attempt = super().claim(request, node, now, effect=effect)
        if attempt is not None:
            for each in self._followers:
                self._copy(attempt, each, now)
        return attempt

    def _copy(self, attempt: Try, call: Call, now: float) -> None:
        copy = call.claim(attempt.request, attempt.node, now, effect=attempt.effect)
        if copy is not None:
            self._copies.setdefault(id(attempt), []).append((call, copy))

    def ended(
        self,
        attempt: Try,
        now: float,
        outcome: str,
        error: BaseException | None = None,
        *,
        undone: bool = False,
    ) -> None:
        """See `Call`."""
        super().ended(attempt, now, outcome, error, undone=undone)
        # Twice for one attempt: when its answer came, and when that was judged.
        for call, copy in self._copies.get(id(attempt), ()):
            call.ended(copy, now, outcome, error, undone=undone)

    def met(self, error: BaseException) -> None:
        """See `Call`."""
        super().met(error)
        for each in self._followers:
            each.met(error)

    def wait_begins(self, reason: str, now: float) -> None:
        """See `Call`."""
        super().wait_begins(reason, now)
        for each in self._followers:
            each.wait_begins(reason, now)

    def wait_ends(self, now: float) -> None:
        """See `Call`."""
        super().wait_ends(now)
        for each in self._followers:
            each.wait_ends(now)
