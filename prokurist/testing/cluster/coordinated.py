"""The seat of a coordinator: the broker that a group or a transactional id belongs to.

Thread: the one that drives the model.
"""

import math

from prokurist.lazy_dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Coordinated:
    """Something that one broker coordinates at a time.

    Attributes:
        coordinator: The broker a test moved it to; None where its name decides.
        loading_until: Until then the coordinator still reads its log.
        loading_times: For so many requests it still does.
    """

    coordinator: int | None = None
    loading_until: float = -math.inf
    loading_times: int = 0

    def loading(self, now: float) -> bool:
        """True while the coordinator loads; each call counts down a loading by number."""
        if now < self.loading_until:
            return True
        if self.loading_times > 0:
            self.loading_times -= 1
            return True
        return False

    def begin_loading(self, now: float, seconds: float | None, times: int | None) -> None:
        """Have the coordinator load: for a time, so many requests, or until `end_loading`."""
        if times is not None:
            self.loading_times = times
        if seconds is not None or times is None:
            self.loading_until = now + (math.inf if seconds is None else seconds)

    def end_loading(self) -> None:
        """Have the coordinator be done with its log."""
        self.loading_until = -math.inf
        self.loading_times = 0
