"""Faults that the client once had, planted again: the oracles find each in some lives."""

import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pytest

from prokurist.events.accumulator.batch_limits import BatchLimits
from prokurist.events.assigned import Assigned
from prokurist.network_thread.fetch import fetch_requests, manager, plan, sources
from prokurist.network_thread.fetch.response_handler import FetchOutcome, FetchResponseHandler
from prokurist.network_thread.offsets.position_outcomes import Outcomes
from prokurist.network_thread.produce.partition_sending import PartitionSending
from prokurist.network_thread.produce.response_handler import ProduceResponseHandler
from prokurist.network_thread.wire import fetch
from tests.simulation.test_producer_lives import live as produce
from tests.simulation.test_workloads import live


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        what: In words.
        plant: Puts it into the client.
        finds: The words of the oracle that finds it.
        lives: Within how many lives.
        first: The seed to begin with, which finds it as things are: so that the others need
            not be played. Should that change, the others are.
        live: Plays a life.
    """

    what: str
    plant: Callable[[pytest.MonkeyPatch], None]
    finds: str
    lives: int = 100
    first: int = 1
    live: Callable[[int], None] = live

    def __str__(self) -> str:
        return self.what.replace(" ", "-")


def edit(patch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str) -> None:
    """Put other words into a method; a change after which they are not there fails."""
    source = textwrap.dedent(inspect.getsource(getattr(owner, name)))
    assert old in source, f"{owner}.{name} has no {old!r} any more"
    found: dict[str, Any] = {}
    exec(source.replace(old, new), vars(sys.modules[owner.__module__]), found)  # noqa: S102
    patch.setattr(owner, name, found[name])


def says_the_last_epoch(patch: pytest.MonkeyPatch) -> None:
    """Each fetch says the epoch of its position, which a reset takes from ListOffsets."""
    edit(
        patch,
        Outcomes,
        "settle_listed",
        "Position(row.offset)",
        "Position(row.offset, row.leader_epoch)",
    )
    ask, body = fetch_requests.FetchRequests._question, fetch.partition_body
    epochs: dict[fetch.FetchQuestion, int] = {}

    def question(self: fetch_requests.FetchRequests, wish: Any) -> fetch.FetchQuestion:
        asked = ask(self, wish)
        if wish.position.epoch is not None:
            epochs[asked] = wish.position.epoch
        return asked

    def with_epoch(partition: int, asked: fetch.FetchQuestion) -> dict[str, Any]:
        return {**body(partition, asked), "last_fetched_epoch": epochs.get(asked, -1)}

    patch.setattr(fetch_requests.FetchRequests, "_question", question)
    patch.setattr(fetch, "partition_body", with_epoch)


def asks_again_at_once(patch: pytest.MonkeyPatch) -> None:
    """And an answer without records, such as a diverging epoch, is followed by the next."""
    says_the_last_epoch(patch)
    judge = FetchResponseHandler.judge

    def moved(self: FetchResponseHandler, *given: Any) -> FetchOutcome:
        outcome = judge(self, *given)
        outcome.moved = True
        return outcome

    patch.setattr(FetchResponseHandler, "judge", moved)


def redirects_without_a_pause(patch: pytest.MonkeyPatch) -> None:
    """A replica that is named is asked, or the leader again, regardless of earlier outcomes."""
    patch.setattr(sources.PartitionBackoff, "pass_on", lambda *_: None)
    patch.setattr(manager.FetchManager, "_redirected", lambda *_: None)


def goes_to_and_fro(patch: pytest.MonkeyPatch) -> None:
    """A follower without the position's epoch refuses, and the leader names it again."""
    says_the_last_epoch(patch)
    redirects_without_a_pause(patch)


def asks_no_metadata(patch: pytest.MonkeyPatch) -> None:
    """A partition without a known leader waits until metadata are of age."""
    edit(
        patch,
        plan.FetchPlan,
        "_begin_again",
        "self._metadata.request_update()",
        "pass",
    )


def forgets_what_was_sought_early(patch: pytest.MonkeyPatch) -> None:
    """The position of a partition is looked up again when its callback is due."""
    edit(
        patch,
        Assigned,
        "hears",
        "state.told = True",
        "state.told, state.standing, state.position = True, type(state.standing).NEW, None",
    )


def remembers_the_former_topic(patch: pytest.MonkeyPatch) -> None:
    """An acknowledgement counts for the leader of a topic that was created again."""
    edit(patch, PartitionSending, "address", "self._acknowledged = None", "pass")


def splits_what_may_be_there(patch: pytest.MonkeyPatch) -> None:
    """A batch that an earlier attempt may have appended goes on in parts."""
    edit(patch, ProduceResponseHandler, "_split", "may_have_happened(batch)", "False")


def keeps_a_lowered_limit(patch: pytest.MonkeyPatch) -> None:
    """Nothing larger is tried again."""
    patch.setattr(BatchLimits, "accept", lambda *_: None)


FAULTS: Final = (
    Fault(
        "an epoch without records stops a partition", says_the_last_epoch, "liveness", first=92
    ),
    Fault(
        "an epoch without records is asked for without end",
        asks_again_at_once,
        "thrift",
        first=92,
    ),
    Fault("a follower and its leader send on in turns", goes_to_and_fro, "thrift"),
    Fault("a replica that metadata lack is named again", redirects_without_a_pause, "thrift"),
    Fault(
        "a partition without a leader asks for no metadata",
        asks_no_metadata,
        "liveness",
        first=12,
    ),
    Fault(
        "a seek before the callback is forgotten",
        forgets_what_was_sought_early,
        "a record is at",
        first=165577,
    ),
    Fault(
        "several batches at once for a topic that was created again",
        remembers_the_former_topic,
        "writing",
        first=137,
        live=produce,
    ),
    Fault(
        "a batch that may be there is written in parts",
        splits_what_may_be_there,
        "writing",
        first=56,
        live=produce,
    ),
    Fault("a lowered limit stays", keeps_a_lowered_limit, "thrift", first=3, live=produce),
)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_planted_fault_is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the oracles are for: no other check of these lives finds them."""
    fault.plant(monkeypatch)
    for seed in (fault.first, *range(1, fault.lives)):
        try:
            fault.live(seed)
        except AssertionError as error:
            if str(error).startswith(fault.finds) and "replay: " in error.__notes__[-1]:
                return
    pytest.fail(f"{fault.what}: not found within {fault.lives} lives")
