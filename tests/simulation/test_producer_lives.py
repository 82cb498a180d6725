"""Producers by lot beside an oracle of what they write. A seed that fails is named."""

import os
from collections.abc import Sequence

import pytest

from tests.simulation.producer_life import ProducerLife
from tests.simulation.replaying import replay
from tests.simulation.world import BUILT

USUAL = range(1, 201)
TOGETHER = 20
WHERE = "tests/simulation/test_producer_lives.py"


def seeds() -> Sequence[Sequence[int]]:
    """Those of `PROKURIST_SEEDS`, one or `first-last`; or else the usual ones; in handfuls."""
    first, _, last = os.environ.get("PROKURIST_SEEDS", "").partition("-")
    wanted = range(int(first), int(last or first) + 1) if first else USUAL
    return [wanted[at : at + TOGETHER] for at in range(0, len(wanted), TOGETHER)]


def live(seed: int) -> None:
    """One life; one that fails tells what happened, and how it is lived again."""
    life = ProducerLife(seed)
    try:
        life.live()
    except BaseException as error:
        error.add_note("\n".join(life.log))
        error.add_note(replay(seed, WHERE))
        life.producer._ended = True
        raise
    finally:
        BUILT.clear()


@pytest.mark.parametrize("some", seeds(), ids=lambda some: f"{some[0]}-{some[-1]}")
def test_producers_by_lot(some: Sequence[int]) -> None:
    """B430, B431, B432: each record once, in order, and there if its delivery says so."""
    for seed in some:
        live(seed)
