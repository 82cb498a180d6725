"""Many lives by lot. A seed that fails says how to live it again."""

import os
from collections.abc import Sequence

import pytest

from tests.simulation.chance import ByLot
from tests.simulation.world import BUILT

USUAL = range(200)
WHERE = "tests/simulation/test_seeds.py"


def seeds() -> Sequence[int]:
    """Those of `PROKURIST_SEEDS`, one or `first-last`; or else the usual ones."""
    first, _, last = os.environ.get("PROKURIST_SEEDS", "").partition("-")
    return range(int(first), int(last or first) + 1) if first else USUAL


@pytest.mark.parametrize("seed", seeds())
def test_a_life_by_lot(seed: int) -> None:
    """B1 to B8, B20 to B24, B32, B265: whatever happens, and whenever.

    Each call ends by its deadline and never later, nothing is written for it after
    that nor twice at once, `may_have_happened` is no lie, what succeeded is on the
    broker, no bare retriable error comes out, the loop does not spin, and at the
    end nothing is left of anything.
    """
    life = ByLot(seed)
    try:
        life.live()
        life.witness.judge()
    except BaseException as error:
        error.add_note("\n".join(life.log))
        error.add_note(f"replay: PROKURIST_SEEDS={seed} .venv/bin/python -m pytest {WHERE}")
        raise
    finally:
        BUILT.clear()  # At rest it is already.
