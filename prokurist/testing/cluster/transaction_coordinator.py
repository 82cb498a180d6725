"""The work of transaction coordinators: ends of transactions, their markers, their timeouts.

A transaction is over when each of its partitions has its marker. A partition without a leader
that runs, or a group whose coordinator does not, holds that up, as does a coordinator that is
itself down or frozen: it is tried again after `RETRY` seconds.

Thread: the one that drives the model.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.batches import make_marker
from prokurist.testing.cluster.groups import Group
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.transactions import (
    FEATURE,
    OFFSETS_TOPIC,
    ONGOING,
    PREPARING,
    ProducerNumbers,
    Transaction,
)
from prokurist.types import TopicPartition

RETRY: Final = 0.05
"""Seconds until a marker that could not be written is tried again."""


# --- partitions -----------------------------------------------------------------------------


def add(
    state: State,
    name: str,
    asked: ProducerNumbers,
    partitions: Iterable[TopicPartition],
    now: float,
) -> ErrorCode:
    """Add partitions to the transaction of a producer."""
    if not name:
        return ErrorCode.invalid_request
    transaction = state.transactions.find(name, now)
    if transaction is None:
        return ErrorCode.invalid_producer_id_mapping
    # Kafka before 4.0 looks at the numbers first.
    code = transaction.refusal_of(asked, ends_first=FEATURE in state.features)
    if not code and transaction.add(frozenset(partitions), now):
        plan_timeout(state, transaction)
    return code


def verify(
    state: State,
    name: str,
    asked: ProducerNumbers,
    partitions: Iterable[TopicPartition],
    now: float,
) -> Mapping[TopicPartition, ErrorCode]:
    """Look up partitions in the transaction of a producer."""
    transaction = state.transactions.find(name, now)
    if not name:
        code = ErrorCode.invalid_request
    elif transaction is None:
        code = ErrorCode.invalid_producer_id_mapping
    elif not (code := transaction.refusal_of(asked)):
        return {
            each: ErrorCode.none
            if each in transaction.partitions
            else ErrorCode.transaction_abortable
            for each in partitions
        }
    return dict.fromkeys(partitions, code)


def plan_timeout(state: State, transaction: Transaction) -> None:
    """Have an open transaction aborted when its time is over."""
    begun = transaction.started_at
    if begun is None:
        raise AssertionError(f"{transaction} is not open")

    def over(now: float) -> None:
        if transaction.phase is not ONGOING or transaction.started_at != begun:
            return
        if state.transactions.find(transaction.name, now) is not transaction:
            return
        if is_up(state, state.transaction_coordinator(transaction.name)):
            abort(state, transaction, now)
        else:
            state.agenda.plan(now + RETRY, over)

    state.agenda.plan(begun + transaction.timeout, over)


# --- ends -----------------------------------------------------------------------------------


def abort(state: State, transaction: Transaction, now: float) -> None:
    """Abort an open transaction on the coordinator's own account."""
    transaction.fence(now, epochs_grow=state.epochs_grow)
    begin_markers(state, transaction, now)


def begin_markers(state: State, transaction: Transaction, now: float) -> None:
    """Have the markers of a prepared end be written."""
    if state.transactions.settings.marker_delay:
        plan_markers(state, transaction, now + state.transactions.settings.marker_delay)
    else:
        write_markers(state, transaction, now)
    state.changed(now)


def plan_markers(state: State, transaction: Transaction, at: float) -> None:
    """Plan an attempt to write the markers, unless there is one."""
    if transaction.attempt_planned:
        return

    def attempt(now: float) -> None:
        transaction.attempt_planned = False
        write_markers(state, transaction, now)

    transaction.attempt_planned = True
    state.agenda.plan(at, attempt)


def write_markers(state: State, transaction: Transaction, now: float) -> None:
    """Write the markers that can be written; the last one ends the transaction."""
    if transaction.phase not in PREPARING or state.transactions.held:
        return
    if is_up(state, state.transaction_coordinator(transaction.name)):
        for tp in sorted(transaction.unmarked):
            if write_marker(state, transaction, tp, now):
                transaction.unmarked.discard(tp)
        if not transaction.unmarked:
            transaction.complete(now)
        state.changed(now)
    if transaction.phase in PREPARING:
        plan_markers(state, transaction, now + RETRY)


def write_marker(
    state: State, transaction: Transaction, tp: TopicPartition, now: float
) -> bool:
    """Write the marker of a partition; False if no leader can take it now."""
    marker = make_marker(
        transaction.producer_id,
        committed=transaction.commits,
        timestamp=state.wall_clock(now),
        producer_epoch=transaction.epoch,
        coordinator_epoch=transaction.coordinator_epoch,
    )
    if tp.topic == OFFSETS_TOPIC:
        concerned = groups_of(state, transaction.producer_id, tp)
        if not all(is_up(state, state.coordinator(each.name)) for each in concerned):
            return False
        for group in concerned:
            group.settle(transaction.producer_id, committed=transaction.commits)
        offsets = state.transactions.offsets_partition(tp.partition)
        offsets.producers.end(marker, now, transaction.coordinator_epoch)
        offsets.open.discard(transaction.producer_id)
        return True
    topic = state.topics.get(tp.topic)
    partition = topic.partition(tp.partition) if topic else None
    if partition is None:
        # A topic that is deleted takes its part of the transaction along.
        return True
    if not is_up(state, partition.leader):
        return False
    partition.end_transaction(
        marker,
        now,
        committed=transaction.commits,
        coordinator_epoch=transaction.coordinator_epoch,
    )
    state.follow(partition)
    return True


def groups_of(state: State, producer_id: int, tp: TopicPartition) -> list[Group]:
    """The groups in a partition with offsets in a producer's open transaction."""
    return [
        each
        for each in state.groups.values()
        if producer_id in each.pending and state.offsets_partition_of(each.name) == tp
    ]


def is_up(state: State, node: int | None) -> bool:
    """True if a broker is there and does its work."""
    broker = None if node is None else state.brokers.get(node)
    return broker is not None and broker.running and not broker.frozen
