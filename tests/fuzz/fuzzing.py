"""The loop: input after input, each out of the seed and its own number."""

import faulthandler
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from random import Random
from typing import Any, Final

from tests.fuzz import exchanges
from tests.fuzz.costs import BLOCK, SMALL, Costly, within
from tests.fuzz.endpoints import endpoints, swollen_endpoints
from tests.fuzz.held import live
from tests.fuzz.misuse import misuse
from tests.fuzz.stores import stores
from tests.fuzz.tables import swollen_tables, tables
from tests.fuzz.targets import (
    Pairs,
    fetch_answers,
    records,
    swollen_answers,
    swollen_batches,
)

SHARE: Final = 20
"""Of so many inputs one is a stream, and some are answers."""
AUTHENTICATIONS: Final = 800
"""Of so many inputs one is what a broker says of a password: its hash takes milliseconds."""
STORES: Final = 200
"""Of so many inputs one is of certificates and keys in files."""
SWOLLEN: Final = 2000
"""Of so many inputs one is few bytes that ask for much: it takes a thousand times as long."""


def throw(numbers: Iterable[int], seed: int, told: Callable[[int], None]) -> None:
    """Throw inputs at their targets, and measure small ones in blocks.

    A block may cost as much as one of its inputs may. Where it costs more, each of its
    inputs is thrown once more and measured alone.

    Args:
        numbers: Which inputs.
        seed: Of which lot.
        told: Told of each number before its turn: after a crash it is the last.
    """
    for number in range(20):
        for each in (fetch_answers, exchanges.answers, tables, endpoints, stores):
            each(drawn(0, number))  # What is loaded once is not an input's cost.
    left = iter(numbers)
    with closing(Pairs()) as pairs:
        while block := list(islice(left, BLOCK)):
            swollen = [each for each in block if is_swollen(each)]
            small = [each for each in block if not is_swollen(each)]
            try:
                within(SMALL, partial(throw_small, small, seed, pairs, told))
            except Costly:
                for number in small:
                    try:
                        within(SMALL, partial(throw_small, [number], seed, pairs, told))
                    except Costly as error:
                        error.add_note(replay(seed, number))
                        raise
            throw_swollen(swollen, seed, pairs, told)


def is_swollen(number: int) -> bool:
    """Tell whether an input is few bytes that ask for much."""
    return number % SWOLLEN == SWOLLEN - 1


def throw_small(
    numbers: Sequence[int], seed: int, pairs: Pairs, told: Callable[[int], None]
) -> None:
    """Throw inputs that cost little, without a look at what they cost."""
    for number in numbers:
        told(number)
        try:
            target_of(number, pairs)(drawn(seed, number))
        except BaseException as error:
            error.add_note(replay(seed, number))
            raise


def target_of(number: int, pairs: Pairs) -> Callable[[Random], None]:
    """What a small input is thrown at."""
    match number % SHARE:
        case 0:
            return pairs.streams
        case 1 | 2:
            return fetch_answers
        case 3 | 4:
            return exchanges.answers
        case 5:
            return misuse
        case 6 if number % AUTHENTICATIONS == 6:
            return exchanges.authentications
        case 7:
            return tables
        case 8:
            return endpoints
        case 9 if number % STORES == 9:
            return stores
    return records


def throw_swollen(
    numbers: Sequence[int], seed: int, pairs: Pairs, told: Callable[[int], None]
) -> None:
    """Throw inputs that ask for much; each is measured by its target."""
    for number in numbers:
        told(number)
        lot = drawn(seed, number)
        try:
            swollen = (
                swollen_batches,
                swollen_answers,
                pairs.swollen_streams,
                swollen_tables,
                swollen_endpoints,
            )
            lot.choice(swollen)(lot)
        except BaseException as error:
            error.add_note(replay(seed, number))
            raise


def drawn(seed: int, number: int) -> Random:
    """The source of all choices of one input."""
    return Random(seed << 40 | number)  # noqa: S311 - it can be drawn again


def replay(seed: int, number: int) -> str:
    """How to throw the same input again."""
    return f"replay: python -m tests.fuzz --seed {seed} --only {number}"


def throw_share(first: int, count: int, step: int, seed: int, at: Any, has: Any) -> None:
    """One process's share.

    Args:
        first: Its first input.
        count: Where it ends.
        step: How many share the inputs.
        seed: Of which lot.
        at: Shared memory, in which its present number stands.
        has: Likewise what is `live` in it.
    """
    faulthandler.enable()

    def told(number: int) -> None:
        at.value = number
        has.value = live()

    throw(range(first, count, step), seed, told)
    at.value = count
