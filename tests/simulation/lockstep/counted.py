"""Calls that know how they ended, and how often."""

from typing import Any, ClassVar

from prokurist.events.call import Call


class Counted(Call):
    """What public calls are made of on a stage.

    Attributes:
        made: All of the present run.
        ends: Who has ended it, as often as he heard that he had.
        tries: How many attempts it had when its caller left.
    """

    made: ClassVar[list["Counted"]] = []

    def __init__(self, *args: Any, **keys: Any) -> None:
        super().__init__(*args, **keys)
        self.ends: list[str] = []
        self.tries: int | None = None
        self.made.append(self)

    def _noted(self, who: str, *, ended: bool) -> bool:
        if ended:
            self.ends.append(who)
        return ended

    def finish(self, answer: Any = None) -> bool:
        """See `Call`."""
        return self._noted("finish", ended=super().finish(answer))

    def fail(self, error: BaseException) -> bool:
        """See `Call`."""
        return self._noted("fail", ended=super().fail(error))

    def expire(self, now: float) -> bool:
        """See `Call`."""
        return self._noted("expire", ended=super().expire(now))

    def leave(self, now: float, why: BaseException | None = None) -> bool:
        """See `Call`."""
        left = super().leave(now, why)
        if left:
            self.tries = len(self._tries)
        return self._noted("leave", ended=left)

    def judge(self) -> None:
        """Each ends once at most; and what it says fits to who ended it."""
        assert len(self.ends) <= 1, f"{self!r} was ended by {' and '.join(self.ends)}"
        if self.tries is not None:
            assert len(self._tries) == self.tries, f"{self!r} was claimed when he had left"
        if self.ends:
            assert (self._error is None) == (self.ends == ["finish"]), f"{self!r}: {self.ends}"
