"""Readers by lot beside an oracle. A seed that fails says how to live it again."""

import os

import pytest

from tests.simulation.oracle import ReaderByLot
from tests.simulation.replaying import replay

WHERE = "tests/simulation/test_oracle.py"
FIRST, _, LAST = os.environ.get("PROKURIST_SEEDS", "1-100").partition("-")


@pytest.mark.parametrize("seed", range(int(FIRST), int(LAST or FIRST) + 1))
def test_a_reader_by_lot(seed: int) -> None:
    """B34, B80, B81, B96, B98, B99, B101, B104 to B109, B117: every record once, in order.

    During writes, seeks, pauses, assignments, commits and faults: what
    comes is what a plain list says is due, what is paused or given up does not come, no
    poll is late, no commit covers what was not returned, and when all is mended the
    rest comes.
    """
    life = ReaderByLot(seed)
    try:
        life.live()
    except BaseException as error:
        error.add_note("\n".join(life.log))
        error.add_note(replay(seed, WHERE))
        raise
