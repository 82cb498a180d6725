"""Workloads by lot beside both oracles. A seed that fails says how to live it again."""

import os
from collections.abc import Sequence

import pytest

from tests.simulation.replaying import replay
from tests.simulation.workload_life import WorkloadLife
from tests.simulation.world import BUILT

USUAL = (*range(1, 201), 9025, 24872, 32639, 47639, 70524, 110286, 110318, 165577, 180091)
"""Also a life that has no topic for a while; one in which hints are true, metadata lag, and the
next leader's fetch is parked; and three in which metadata go back to a former topic after the
group has given the new one, once so that nothing else would have asked for them again, and once
told by two brokers in turn; one in which a replica knows a topic that was made again before
metadata do; one in which a place is sought just before; one that seeks in a partition after it
is assigned and before it is told; and one with a broker that leads on in a new epoch and has
not learned of it."""

TOGETHER = 20
WHERE = "tests/simulation/test_workloads.py"


def seeds() -> Sequence[Sequence[int]]:
    """Those of `PROKURIST_SEEDS`, one or `first-last`; or else the usual ones; in handfuls."""
    first, _, last = os.environ.get("PROKURIST_SEEDS", "").partition("-")
    wanted: Sequence[int] = range(int(first), int(last or first) + 1) if first else USUAL
    return [wanted[at : at + TOGETHER] for at in range(0, len(wanted), TOGETHER)]


def live(seed: int) -> None:
    """One life; one that fails tells what happened, and how it is lived again."""
    life = WorkloadLife(seed)
    try:
        life.live()
        assert not life.world.cluster.failures, "the client sent what a broker cannot read"
    except BaseException as error:
        error.add_note("\n".join(life.log))
        error.add_note(replay(seed, WHERE))
        life.reader.consumer._caller.closed = True
        raise
    finally:
        BUILT.clear()


@pytest.mark.parametrize("some", seeds(), ids=lambda some: f"{some[0]}-{some[-1]}")
def test_workloads_by_lot(some: Sequence[int]) -> None:
    """Each readable record is returned within its bound, and an idle client asks for little."""
    for seed in some:
        live(seed)
