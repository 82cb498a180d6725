"""What befalls a cluster in a soak, drawn by lot: the same seed, the same troubles.

Thread: any; no state.
Invariants: at most one node is dead or frozen by itself at a time, so that what was
acknowledged stays; the one trouble that takes all nodes freezes them, and loses nothing.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

NODES: Final = 3

WEIGHTS: Final = {
    "kill": 3,
    "freeze": 4,
    "restart": 1,
    "move": 5,
    "reset": 2,
    "swallow": 2,
    "delay": 1,
    "throttle": 1,
    "freeze all": 1,
}
"""How often each trouble comes, beside the others."""
FEWEST: Final = 5
"""Troubles of a run at the least, however long a busy machine takes for each."""


@dataclass(frozen=True)
class Trouble:
    """One trouble.

    Attributes:
        calm: Seconds without any before it.
        kind: Which; a key of `WEIGHTS`.
        node: Whom it meets.
        length: Seconds until it is undone, where it lasts.
    """

    calm: float
    kind: str
    node: int
    length: float

    def __str__(self) -> str:
        return f"{self.kind} {self.node} for {self.length:.1f} s"


def troubles(seed: int, weights: Mapping[str, int] = WEIGHTS) -> Iterator[Trouble]:
    """One trouble after another, without an end.

    Args:
        seed: Seed of the lots.
        weights: How often each comes, beside the others.
    """
    lot = random.Random(f"{seed} troubles")  # noqa: S311 - a lot that can be drawn again
    while True:
        (kind,) = lot.choices(list(weights), list(weights.values()))
        # Short ones without an effect, and long ones in which a node loses its session.
        longest = 4.0 if kind == "freeze all" else lot.choice([0.5, 2.0, 12.0])
        yield Trouble(
            calm=lot.uniform(0.5, 8.0),
            kind=kind,
            node=lot.randrange(NODES),
            length=lot.uniform(0.1, longest),
        )
