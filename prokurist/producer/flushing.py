"""Waiting until what was sent is delivered or has failed.

Thread: any application thread.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from prokurist.application.driving import Steps, Until
from prokurist.errors import Attempt, KafkaException, TimeoutException, Wait
from prokurist.errors.timeout import seconds
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.batch import Batch
from prokurist.events.clock import Deadline
from prokurist.types import TopicPartition, counted, named

MOST_SHOWN = 10
"""Partitions that the text of a TimeoutException names."""
KEY = "delivery.timeout.ms"


def flush(accumulator: RecordAccumulator, deadline: Deadline) -> Steps[list[Batch]]:
    """Wait until all that was sent before has ended, callbacks included.

    Returns:
        What has not, when the deadline has come.
    """
    flushing = object()
    try:
        batches = accumulator.flush_begins(flushing)
        for number, batch in enumerate(batches):
            if not (yield from settled(accumulator, batch, deadline)):
                return [each for each in batches[number:] if not each.is_over]
        return []
    finally:
        accumulator.flushing.discard(flushing)


def settled(accumulator: RecordAccumulator, batch: Batch, deadline: Deadline) -> Steps[bool]:
    """Wait for one batch, and for all that it is split into: whether it is over."""
    while True:
        left = leaves(batch)
        if not left:
            return True
        part = left[0]
        waiter = part.watch(accumulator.new_waiter(), settled=True)
        try:
            opened = yield Until(waiter, deadline.at)
            if not opened and accumulator.now() >= deadline.at:
                return batch.is_over
        finally:
            part.unwatch(waiter)


def leaves(batch: Batch) -> list[Batch]:
    """A batch, or what it was split into, as far as it is not over."""
    if batch.parts:
        return [leaf for _, part in batch.parts for leaf in leaves(part)]
    return [] if batch.settled else [batch]


def out_of_time(
    accumulator: RecordAccumulator,
    batches: Iterable[Batch],
    began: float,
    deadline: Deadline,
    now: float,
) -> TimeoutException:
    """Return the error of `flush`: its unfinished records, and the attempts made.

    Args:
        accumulator: What is not delivered yet.
        batches: Those that are not over.
        began: When it was called.
        deadline: Its deadline.
        now: The instant.
    """
    left = [leaf for batch in batches for leaf in leaves(batch)]
    last_error = last_error_of(accumulator, left, began)
    partitions: dict[TopicPartition, None] = dict.fromkeys(each.tp for each in left)
    # A request carries batches of many partitions, and is in the ledger of each. A batch whose
    # callbacks run has ended: nothing of it is in doubt.
    unsure = [batch for batch in left if not batch.ended]
    found = {(each.began, each.node): each for batch in unsure for each in batch.attempts}
    attempts = [found[key] for key in sorted(found)]
    error = TimeoutException(
        operation="flush",
        timeout=deadline.at - began,
        elapsed=now - began,
        partitions=tuple(partitions)[:MOST_SHOWN],
        attempts=[
            Attempt(
                each.request,
                each.node,
                max(0.0, each.began - began),
                None if each.ended is None else max(0.0, each.ended - began),
                each.outcome,
            )
            for each in attempts
            if each.effect or each.ended is None or each.ended >= began
        ],
        waits=accumulator.held_up(began, now),
        last_error=last_error,
        config_key=KEY,
        may_have_happened=any(attempt.effect for attempt in attempts),
    )
    called = sum(each.count for each in left if each.ended)
    left_over = f"{counted(called, 'record')} wait{'s' if called == 1 else ''} for callbacks"
    if unsure or not called:
        left_over = f"{on_the_way(unsure)}, and {left_over}" if called else on_the_way(unsure)
    error.args = (
        f"{error.args[0]} {left_over}; flush withdraws nothing, and can be called again.",
    )
    return error


def on_the_way(batches: Collection[Batch]) -> str:
    """Count the records of batches that have not ended."""
    records, size = sum(each.count for each in batches), sum(each.payload for each in batches)
    return (
        f"{counted(records, 'record')} ({counted(size, 'byte')}) in "
        f"{counted(len({each.tp for each in batches}), 'partition')} "
        f"{'is' if records == 1 else 'are'} on the way"
    )


def last_error_of(
    accumulator: RecordAccumulator, batches: Iterable[Batch], began: float
) -> KafkaException | None:
    """What connections meet, where brokers do not answer; else what an attempt has met."""
    met = (accumulator.last_errors.get(each) for each in batches)
    return accumulator.obstacle(began) or next(filter(None, met), None)


class Undelivered(NamedTuple):
    """Records that the end of a transaction has waited for.

    Attributes:
        partitions: Their partitions.
        last_error: The last error that their delivery has met.
        waits: What holds them up.
        text: They, and what their delivery has met, in words.
    """

    partitions: tuple[TopicPartition, ...]
    last_error: KafkaException | None
    waits: Sequence[Wait]
    text: str


def undelivered(accumulator: RecordAccumulator, began: float, now: float) -> Undelivered | None:
    """Return the records that are not delivered; None if all are.

    Args:
        accumulator: What is not delivered yet.
        began: When the wait for them began.
        now: The instant.
    """
    left = [each for each in accumulator.snapshot() if not each.ended]
    if not left:
        return None
    partitions = tuple(sorted({each.tp for each in left}))
    last_error = last_error_of(accumulator, left, began)
    open_ones = {
        (each.request, each.node): each.began
        for batch in left
        for each in batch.attempts
        if each.ended is None
    }
    sentences = [f"{on_the_way(left)}: {named(partitions)}."]
    sentences += [
        f"{request} to {node} is unanswered for {seconds(now - since)}."
        for (request, node), since in sorted(open_ones.items())[:MOST_SHOWN]
    ]
    waits = accumulator.held_up(began, now)
    sentences += [f"They wait for {each.reason}." for each in waits]
    if last_error is not None:
        said = str(last_error).rstrip(".")
        sentences.append(f"Their last error was {type(last_error).__name__}: {said}.")
    return Undelivered(partitions[:MOST_SHOWN], last_error, waits, " ".join(sentences))
