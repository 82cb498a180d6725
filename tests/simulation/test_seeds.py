"""Many lives by lot. A seed that fails says how to live it again."""

import os
from collections.abc import Sequence

import pytest

from tests.simulation.random_run import ByLot
from tests.simulation.replaying import replay
from tests.simulation.world import BUILT

USUAL = range(1, 401)
TOGETHER = 20
"""Lives in one test: what pytest does around each would cost more than the life."""

WHERE = "tests/simulation/test_seeds.py"


def seeds() -> Sequence[Sequence[int]]:
    """Those of `PROKURIST_SEEDS`, one or `first-last`; or else the usual ones; in handfuls."""
    first, _, last = os.environ.get("PROKURIST_SEEDS", "").partition("-")
    wanted = range(int(first), int(last or first) + 1) if first else USUAL
    return [wanted[at : at + TOGETHER] for at in range(0, len(wanted), TOGETHER)]


@pytest.mark.parametrize("some", seeds(), ids=lambda some: f"{some[0]}-{some[-1]}")
def test_lives_by_lot(some: Sequence[int]) -> None:
    """B1 to B8, B20 to B24, B27, B32, B90, B93, B265, B269: under all faults, at any time.

    Each call ends by its deadline and never later, not by a microsecond; nothing is
    written for it after that nor twice at once, `may_have_happened` is no lie, what
    succeeded is on the broker, no bare retriable error comes out, `poll` raises no
    TimeoutException, a seek stands, callbacks run in order and once, the loop does not
    spin, and at the end nothing is left of anything.
    """
    for seed in some:
        live(seed)


def live(seed: int) -> None:
    """One life; one that fails tells what happened, and how it is lived again."""
    life = ByLot(seed)
    try:
        life.live()
        life.witness.judge()
    except BaseException as error:
        error.add_note("\n".join(life.log))
        error.add_note(replay(seed, WHERE))
        raise
    finally:
        BUILT.clear()  # At rest it is already.
