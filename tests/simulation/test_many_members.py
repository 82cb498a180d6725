"""Groups of many members by lot. A seed that fails says how to live it again."""

import os
from collections.abc import Sequence
from typing import Any

import pytest

from prokurist.events.application_events import StepDone
from prokurist.events.assigned import Assigned
from prokurist.events.background_events import Step, StepKind
from prokurist.events.call import Call
from prokurist.events.clock import NEVER
from prokurist.network_thread.membership.application_steps import ApplicationSteps
from prokurist.network_thread.membership.committing_transitions import CommittingTransitions
from prokurist.network_thread.membership.heartbeating import REASON as HEARTBEAT
from prokurist.network_thread.operations.timer import Timer
from tests.simulation.random_groups import Many
from tests.simulation.replaying import replay
from tests.simulation.world import BUILT

PROTOCOLS = ("consumer", "classic")
USUAL = (*range(1, 24), 34, 65256, 65739, 66053)
STRIDE = 21
"""Of the seeds that one asks for each so-manieth: a life takes as long as so many of one
client alone. It is odd, for every other seed is a calm life's."""

TOGETHER = 2
WHERE = "tests/simulation/test_many_members.py"


def seeds() -> Sequence[Sequence[int]]:
    """Those of `PROKURIST_SEEDS`, one or `first-last`; or else the usual ones; in handfuls."""
    first, _, last = os.environ.get("PROKURIST_SEEDS", "").partition("-")
    wanted = range(int(first), int(last or first) + 1, STRIDE) if first else USUAL
    return [wanted[at : at + TOGETHER] for at in range(0, len(wanted), TOGETHER)]


def live(seed: int, protocol: str) -> None:
    """One life; one that fails tells what happened, and how it is lived again."""
    life = Many(seed, protocol)
    try:
        life.live()
    except BaseException as error:
        error.add_note("\n".join(life.log))
        error.add_note(replay(seed, WHERE))
        for each in life.members:
            each.consumer._caller.closed = True
        if isinstance(error.__cause__, AssertionError):
            raise error.__cause__ from None  # What a listener has found, a poll has wrapped.
        raise
    finally:
        BUILT.clear()


def live_all(some: Sequence[int], protocol: str) -> None:
    """Several lives."""
    for seed in some:
        live(seed, protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("some", seeds(), ids=lambda some: f"{some[0]}-{some[-1]}")
def test_groups_by_lot(some: Sequence[int], protocol: str) -> None:
    """B100, B120, B121, B123, B128, B146, B150, B160, B161, B178: at every instant.

    One owner at most of each partition, no record skipped, every poll on time, callbacks
    in order, all members at rest in the end, and heartbeats by the interval.
    """
    live_all(some, protocol)


# --- bugs that have to be found -----------------------------------------------------------


async def tell_and_go_on(self: ApplicationSteps, step: Step) -> StepDone:
    """Revoked is told some day; nothing waits for it."""
    if step.kind is not StepKind.REVOKED:
        return await MADE(self, step)
    self._background.post_step(step)
    return StepDone(Call("step", 0.0, NEVER), step)


async def no_last_commit(_self: CommittingTransitions) -> None:
    """Nothing is committed before it is given up."""


def keep(_self: object, _term: int, _partitions: Any) -> bool:
    """It is returned all the same."""
    return True


def late(self: Timer, moment: float, reason: str, action: Any) -> Any:
    """Every heartbeat by the consumer protocol comes three times as late."""
    if reason == HEARTBEAT:
        moment += 2 * (moment - self.now)
    return AT(self, moment, reason, action)


AT, MADE = Timer.at, ApplicationSteps.made

LIKELY = (9, 2, 12, 17, 22)
"""Seeds in which members compute while others come."""

PLANTED: dict[str, tuple[type, dict[str, Any], str]] = {
    "the revocation does not wait": (
        ApplicationSteps,
        {"made": tell_and_go_on},
        "was not told before",
    ),
    "records after the revocation": (
        Assigned,
        {"give_up": keep, "drop": keep, "heard": lambda *_: None},
        "of which it was told nothing|'s and ",
    ),
    "no commit before the revocation": (
        CommittingTransitions,
        {"_commit_owned": no_last_commit},
        "not committed",
    ),
    "heartbeats too late": (Timer, {"at": late}, "put out|was late|no rest"),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lives are able to fail, within a few seeds, and for the right reason."""
    owner, wrong, says = PLANTED[bug]
    for name, instead in wrong.items():
        monkeypatch.setattr(owner, name, instead)
    with pytest.raises(AssertionError, match=says):
        live_all(LIKELY, "consumer")
