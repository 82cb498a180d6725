"""Every hand-over between the two threads, in every order, and bugs planted in them."""

import pytest

from tests.simulation.lockstep import (
    accumulating,
    awaiting,
    clients,
    hand_overs,
    polls,
    transactions,
)
from tests.simulation.lockstep.exploring import Scene, explore
from tests.simulation.lockstep.planted import BUGS, Bug

SCENES = (
    *hand_overs.SCENES,
    *polls.SCENES,
    *clients.SCENES,
    *accumulating.SCENES,
    *awaiting.SCENES,
    *transactions.SCENES,
)
LONG = (
    pytest.param(each, marks=[pytest.mark.minutes, pytest.mark.timeout(600)])
    for each in accumulating.LONG_SCENES
)


@pytest.mark.parametrize("scene", [*SCENES, *LONG], ids=lambda scene: scene.__name__)
@pytest.mark.mortal
@pytest.mark.slow
def test_hand_over(scene: Scene) -> None:
    """B3, B24, B90, B167 to B175, B573: an interrupt of any thread at any point.

    Each call ends once and by its deadline, both sides say the same of it, nothing is
    written for a caller that has left, and no thread waits for what has happened already.
    """
    assert explore(scene, bound=1, seeds=range(40))


@pytest.mark.parametrize("bug", BUGS, ids=str)
@pytest.mark.mortal
def test_a_planted_bug_is_found(bug: Bug) -> None:
    """What the scenes are for: each of these would come out once in a year."""
    edits = {bug.module: bug.edits}
    with pytest.raises(AssertionError) as caught:
        explore(bug.found_by, bound=1, seeds=range(4000), edits=edits)
    assert any("PROKURIST_SCHEDULE=" in note for note in caught.value.__notes__)
