"""What befalls the members of a group, drawn by lot: the same seed, the same troubles.

Thread: any; no state.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from tests.soak.schedule import Trouble, troubles

SLOTS: Final = 5
"""Members of a group, when all are there."""

SESSION: Final = 6.0
"""Seconds of silence after which a group does without a member."""

POLL_INTERVAL: Final = 10.0
"""Seconds without a poll after which a member does without its group."""

WEIGHTS: Final = {"kill": 3, "leave": 3, "stun": 3, "freeze": 2}
"""How often each trouble comes, beside the others."""

LENGTHS: Final = {
    "kill": (0.0, 8.0),
    "leave": (0.0, 5.0),
    "stun": (0.2, 4.0),
    "freeze": (SESSION + 1.0, POLL_INTERVAL + 4.0),
}
"""Seconds until the place is taken again, or the member goes on."""

REST: Final = 15.0
"""Seconds without any blow after each `BEATING` of them: all members join, and read."""
BEATING: Final = 10

CALM: Final = 12.0
"""Seconds more between two troubles of the cluster than a soak has: groups shall settle."""


@dataclass(frozen=True)
class Blow:
    """One trouble of a member.

    Attributes:
        calm: Seconds without any before it.
        kind: Which; a key of `WEIGHTS`.
        slot: The place that it hits; none, if its member is away or frozen already.
        length: Seconds until it is undone.
    """

    calm: float
    kind: str
    slot: int
    length: float


def blows(seed: int, group: str) -> Iterator[Blow]:
    """What befalls a group's members, one after another, without an end."""
    lot = random.Random(f"{seed} {group}")  # noqa: S311 - a lot that can be drawn again
    for nth in count(1):
        (kind,) = lot.choices(list(WEIGHTS), list(WEIGHTS.values()))
        calm = lot.choice([lot.uniform(0.0, 0.3), lot.uniform(0.5, 7.0)])
        yield Blow(
            calm=calm + (0.0 if nth % BEATING else REST),
            kind=kind,
            slot=lot.randrange(SLOTS),
            length=lot.uniform(*LENGTHS[kind]),
        )


def disasters(seed: int) -> Iterator[Trouble]:
    """What befalls the cluster meanwhile: a soak's troubles, and time to settle."""
    for trouble in troubles(seed):
        yield replace(trouble, calm=trouble.calm + CALM)
