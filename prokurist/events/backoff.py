"""Pauses that grow with each failure in a row.

Thread: whichever owns the counter; the random source is injected, so that a
simulation replays to the digit.
"""

from collections.abc import Callable
from random import Random

from prokurist.lazy_dataclasses import dataclass

JITTER = 0.2
"""A pause is spread this far to both sides, so that clients do not come back in step."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential back-off: `base` doubled with each failure, with jitter, up to `most`.

    Attributes:
        base: The first pause, in seconds; zero means none at all.
        most: The cap, which comes last: no pause is longer, jitter included.
        random: A number from 0 up to 1.
    """

    base: float
    most: float
    random: Callable[[], float]

    @classmethod
    def of_milliseconds(cls, base_ms: int, most_ms: int, source: Random) -> "Backoff":
        """From a pair of configuration keys.

        With a base above the cap every pause is the cap, spread, as in Java.
        """
        return cls(base_ms / 1000, most_ms / 1000, source.random)

    def pause(self, failures: int) -> float:
        """Return the pause after a number of failures in a row (the first is 1)."""
        # 2.0 ** 1024 overflows; far below that the cap rules anyway.
        doubled = min(self.base * 2.0 ** min(max(failures, 1) - 1, 64), self.most)
        # Spread after the doubling is capped, so that clients at the cap do not
        # come back in step either; capped again, because no pause is longer.
        spread = 1 - JITTER + 2 * JITTER * self.random()
        return min(doubled * spread, self.most)
