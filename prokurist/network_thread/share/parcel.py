"""Acknowledgements on their way to one broker.

Thread: the network thread alone.
"""

from collections.abc import Iterable
from itertools import groupby

from prokurist.events.call import Call
from prokurist.events.lent.batch import MarkedRun
from prokurist.events.lent.outcome import AcknowledgeOutcome
from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.wire.share_fetch import (
    Acknowledged,
    OffsetTypes,
    SharePartition,
)
from prokurist.types import Acknowledge


class Parcel:
    """Acknowledgements for one broker, which end together.

    Attributes:
        runs: The acknowledgements to be sent.
        outcome: Takes the outcome of each.
        call: The call whose deadline it has; None in the background.
        is_awaited: True if a call tells its outcome; else the next call does.
        is_last: True to close the session with it.
        ended: Kept when nothing is left to be sent.
    """

    def __init__(
        self,
        runs: Iterable[MarkedRun],
        outcome: AcknowledgeOutcome,
        call: Call | None = None,
        *,
        is_awaited: bool = False,
        is_last: bool = False,
    ) -> None:
        self.runs: list[MarkedRun] = list(runs)
        self.outcome: AcknowledgeOutcome = outcome
        self.call: Call | None = call
        self.is_awaited: bool = is_awaited
        self.is_last: bool = is_last
        self.ended: Promise[None] = Promise()

    def __repr__(self) -> str:
        return f"Parcel({sum(len(each.marks) for each in self.runs)} records)"


def by_partition(runs: Iterable[MarkedRun]) -> dict[SharePartition, list[MarkedRun]]:
    """Group runs by partition, ascending in each, as the protocol wants them."""
    rows: dict[SharePartition, list[MarkedRun]] = {}
    for run in runs:
        batch = run.batch
        key = SharePartition(batch.topic_id, batch.partition.partition)
        rows.setdefault(key, []).append(run)
    return {key: sorted(each, key=lambda run: run.first) for key, each in rows.items()}


def on_the_wire(runs: Iterable[MarkedRun]) -> Acknowledged:
    """The acknowledgements of a request."""
    return tuple(
        (
            key,
            tuple(
                OffsetTypes(run.first, run.first + len(run.marks) - 1, run.types) for run in its
            ),
        )
        for key, its in by_partition(runs).items()
    )


def renewals(runs: Iterable[MarkedRun]) -> tuple[list[MarkedRun], list[MarkedRun]]:
    """Split runs into renewals and other acknowledgements."""
    renewed: list[MarkedRun] = []
    others: list[MarkedRun] = []
    for run in runs:
        at = 0
        for is_renewal, group in groupby(run.marks, lambda mark: mark == Acknowledge.RENEW):
            size = len(list(group))
            part = MarkedRun(run.batch, run.start + at, run.marks[at : at + size])
            (renewed if is_renewal else others).append(part)
            at += size
    return renewed, others


def by_delivery(runs: Iterable[MarkedRun]) -> list[list[MarkedRun]]:
    """Group runs by the delivery that they belong to."""
    groups: dict[int, list[MarkedRun]] = {}
    for run in runs:
        groups.setdefault(id(run.batch), []).append(run)
    return list(groups.values())
