"""The loop: input after input, each out of the seed and its own number."""

import faulthandler
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from random import Random
from typing import Any, Final

from tests.fuzz.costs import SMALL, within
from tests.fuzz.targets import (
    Pairs,
    fetch_answers,
    records,
    swollen_answers,
    swollen_batches,
)

SHARE: Final = 20
"""Of so many inputs one is a stream, and some are answers."""
SWOLLEN: Final = 500
"""Of so many inputs one is few bytes that ask for much: it takes a thousand times as long."""


def throw(numbers: Iterable[int], seed: int, told: Callable[[int], None]) -> None:
    """Throw inputs at their targets.

    Args:
        numbers: Which inputs.
        seed: Of which lot.
        told: Told of each number before its turn: after a crash it is the last.
    """
    with closing(Pairs()) as pairs:
        for number in numbers:
            told(number)
            lot = Random(seed << 40 | number)  # noqa: S311 - it can be drawn again
            kind = number % SHARE
            try:
                if number % SWOLLEN == SWOLLEN - 1:
                    lot.choice((swollen_batches, swollen_answers, pairs.swollen_streams))(lot)
                elif kind == 0:
                    within(SMALL, partial(pairs.streams, lot))
                elif kind < 6:
                    within(SMALL, partial(fetch_answers, lot))
                else:
                    within(SMALL, partial(records, lot))
            except BaseException as error:
                error.add_note(f"replay: python -m tests.fuzz --seed {seed} --only {number}")
                raise


def throw_share(first: int, count: int, step: int, seed: int, at: Any) -> None:
    """One process's share; `at` is shared memory, in which its present number stands."""
    faulthandler.enable()

    def told(number: int) -> None:
        at.value = number

    throw(range(first, count, step), seed, told)
    at.value = count
