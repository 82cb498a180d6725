"""Brokers that contradict themselves, by lot. A seed that fails says how to live it again."""

import os
from collections.abc import Sequence

import pytest

from tests.simulation.contradicted_life import ContradictedLife
from tests.simulation.replaying import replay
from tests.simulation.world import BUILT

USUAL = range(1, 25)
TOGETHER = 8
WHERE = "tests/simulation/test_contradictions.py"


def seeds() -> Sequence[Sequence[int]]:
    """Those of `PROKURIST_SEEDS`, one or `first-last`; or else the usual ones; in handfuls."""
    first, _, last = os.environ.get("PROKURIST_SEEDS", "").partition("-")
    wanted = range(int(first), int(last or first) + 1) if first else USUAL
    return [wanted[at : at + TOGETHER] for at in range(0, len(wanted), TOGETHER)]


def live(seed: int) -> None:
    """One life; one that fails tells what happened, and how it is lived again."""
    life = ContradictedLife(seed)
    try:
        life.live()
    except BaseException as error:
        error.add_note("\n".join(life.log + life.wrong.log[-40:]))
        error.add_note(replay(seed, WHERE))
        raise
    finally:
        BUILT.clear()


@pytest.mark.parametrize("some", seeds(), ids=lambda some: f"{some[0]}-{some[-1]}")
def test_a_broker_that_contradicts_itself_costs_little(some: Sequence[int]) -> None:
    """B478: back-offs and a line a minute; within a minute of good answers all is well."""
    for seed in some:
        live(seed)
