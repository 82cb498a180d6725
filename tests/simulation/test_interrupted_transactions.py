"""Ctrl-C at each place of a transaction's calls: each end has one outcome all the same."""

import re
import threading
from collections.abc import Callable
from itertools import count

import pytest

from prokurist import KafkaProducer, OffsetAndMetadata, errors
from prokurist.events.transaction_state import TransactionState
from prokurist.types import ConsumerGroupMetadata
from tests.simulation.interrupting import interrupted_at
from tests.simulation.transacting import A, committed, state, transactional, world_of, write
from tests.simulation.world import BUILT

EACH = 5
"""Every so many places are tried; a prime, so that no pattern is passed by."""


def commit(producer: KafkaProducer) -> None:
    """Commit what was written."""
    producer.commit_transaction(20.0)


def abort(producer: KafkaProducer) -> None:
    """Abort what was written."""
    producer.abort_transaction(20.0)


def send_offsets(producer: KafkaProducer) -> None:
    """Add offsets."""
    producer.send_offsets_to_transaction(
        {A: OffsetAndMetadata(3)}, ConsumerGroupMetadata("g"), 20.0
    )


def in_another_thread(call: Callable[[], None]) -> None:
    """Run a call in a thread of its own."""
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def end(producer: KafkaProducer) -> bool:
    """End the transaction as its state allows; return True if it was committed."""
    match state(producer):
        case TransactionState.READY:
            return False
        case TransactionState.UNSURE | TransactionState.ABORTING:
            producer.abort_transaction(30.0)
            return False
        case _:
            producer.commit_transaction(30.0)
            return True


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("work", [commit, abort, send_offsets])
def test_an_interrupt_anywhere_leaves_a_state_to_go_on_from(
    work: Callable[[KafkaProducer], None], version: int
) -> None:
    """B556: a commit is open as before or in doubt, and an abort goes on."""
    for nth in count(version, EACH):
        world = world_of(version)
        producer = transactional(world)
        producer.begin_transaction()
        write(producer, b"1")
        went_on = interrupted_at(nth, work, producer)
        is_ended = state(producer) is TransactionState.READY
        is_committed = end(producer) or (is_ended and work is commit)
        with producer.transaction(30.0):
            write(producer, b"2")
        producer.close(5.0)
        assert committed(world, A) == ([b"1", b"2"] if is_committed else [b"2"]), nth
        BUILT.clear()
        if not went_on:
            break
    assert nth > 10 * EACH


@pytest.mark.parametrize(
    ("run", "rule"),
    [
        (
            lambda call: call(),
            "of the same thread: .* and a signal handler makes none meanwhile",
        ),
        (in_another_thread, "of another thread is inside: .* any may send, flush and close"),
    ],
)
def test_a_second_call_inside_a_call_of_a_transaction(
    run: Callable[[Callable[[], None]], None], rule: str
) -> None:
    """B556: it is refused, by a rule of producers, and the first one goes on."""
    world = world_of(2)
    producer = transactional(world)
    refused: list[Exception] = []

    def call_again() -> None:
        try:
            producer.abort_transaction(1.0)
        except errors.KafkaException as error:
            refused.append(error)

    producer.begin_transaction()
    write(producer, b"1")
    transactions = producer._transactions
    assert transactions is not None
    with transactions._guard.inside("commit_transaction"):
        run(call_again)
    producer.commit_transaction(5.0)
    producer.close(5.0)
    assert isinstance(refused[0], errors.IllegalStateException)
    assert re.search(rule, str(refused[0]))
    assert committed(world, A) == [b"1"]
