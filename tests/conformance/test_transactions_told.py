"""Facts about transactions that the design rests on, and the scenario that holds each.

The scenarios are played to real brokers and to the model, and compared field by field
(`test_scenarios`). Here the model alone plays them, and the table says where each fact is.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any, Final

import pytest

from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster import TransactionSettings
from tests.conformance import catalogue, transacting, transacting_offsets
from tests.conformance import transacting_elsewhere as elsewhere
from tests.conformance import transacting_partitions as partitions
from tests.conformance.comparing import Step
from tests.conformance.conftest import settings
from tests.conformance.model_side import ModelSide
from tests.conformance.stage import Pair, Play, Scenario, Stage

FACTS: Final[dict[str, tuple[Scenario, tuple[str, ...]]]] = {
    "InitProducerId without numbers, twice: the next epoch": (
        transacting.transactional_ids,
        ("InitProducerId 5 of -1: none, 0", "InitProducerId 5 of -1: none, 1"),
    ),
    "InitProducerId with its own epoch: the next one, and the same when repeated": (
        transacting.transactional_ids,
        ("InitProducerId 5 of 1: none, 2", "InitProducerId 5 of 1: none, 2"),
    ),
    "InitProducerId two epochs behind, or ahead: fenced": (
        transacting.transactional_ids,
        ("InitProducerId 5 of 0: producer_fenced", "InitProducerId 5 of 7: producer_fenced"),
    ),
    "InitProducerId with another id's producer id: fenced": (
        transacting.transactional_ids,
        ("InitProducerId 5 of -1: none, 0", "InitProducerId 5 of 0: producer_fenced"),
    ),
    "a producer id that is not the transactional id's: no mapping": (
        partitions.partitions_added,
        (
            "AddPartitionsToTxn 3: invalid_producer_id_mapping",
            "AddOffsetsToTxn 3: invalid_producer_id_mapping",
        ),
    ),
    "EndTxn of an unknown transactional id: no mapping": (
        transacting.ends_of_transactions,
        ("EndTxn 4 commit of 0: invalid_producer_id_mapping",),
    ),
    "a timeout above the brokers' maximum: refused": (
        transacting.transaction_timeouts_refused,
        (
            "InitProducerId 5 of -1: none, 0",
            "InitProducerId 5 of -1: invalid_transaction_timeout",
        ),
    ),
    "ends of nothing, by version 1: refused": (
        transacting.ends_of_transactions,
        (
            "InitProducerId 5 of -1: none, 0",
            "EndTxn 4 commit of 0: invalid_txn_state",
            "EndTxn 4 abort of 0: invalid_txn_state",
        ),
    ),
    "ends of nothing, by version 2: only an abort, with the next epoch": (
        transacting.ends_of_transactions,
        ("EndTxn 5 commit of 0: invalid_txn_state", "EndTxn 5 abort of 0: none, 1"),
    ),
    "a commit, by version 1, and again": (
        transacting.ends_of_transactions,
        ("EndTxn 4 commit of 1: none", "EndTxn 4 commit of 1: none"),
    ),
    "a commit, by version 2: the next epoch, and the same when repeated": (
        transacting.ends_of_transactions,
        ("EndTxn 5 commit of 2: none, 3", "EndTxn 5 commit of 2: none, 3"),
    ),
    "the opposite end afterwards: refused": (
        transacting.ends_of_transactions,
        (
            "EndTxn 4 abort of 1: invalid_txn_state",
            "EndTxn 4 commit of 2: invalid_txn_state",
            "EndTxn 5 abort of 2: invalid_txn_state",
            "EndTxn 5 commit of 4: invalid_txn_state",
        ),
    ),
    "the same end while markers are written: concurrent": (
        elsewhere.markers_that_wait,
        (
            "EndTxn 4 commit of 0: concurrent_transactions",
            "EndTxn 5 commit of 0: concurrent_transactions",
        ),
    ),
    "version 2, the new epoch and nothing sent: only an abort": (
        transacting.ends_of_transactions,
        ("EndTxn 5 commit of 3: invalid_txn_state", "EndTxn 5 abort of 5: none, 6"),
    ),
    "EndTxn 4 where there is version 2: the epoch stays, and a batch may come too early": (
        elsewhere.markers_that_wait,
        (
            "EndTxn 4 commit of 0: none",
            "Produce 13: concurrent_transactions",
            "Produce 13: none",
            "EndTxn 5 commit of 0: none, 1",
        ),
    ),
    "InitProducerId over an open transaction: concurrent, then two epochs on": (
        transacting.fenced_producers,
        ("InitProducerId 5 of -1: concurrent_transactions", "InitProducerId 5 of -1: none, 2"),
    ),
    "a fenced producer, by version 1; the new one commits": (
        transacting.fenced_producers,
        (
            "Produce 11: invalid_producer_epoch",
            "AddPartitionsToTxn 3: producer_fenced",
            "AddOffsetsToTxn 3: producer_fenced",
            "TxnOffsetCommit 3 in -1: invalid_producer_epoch",
            "EndTxn 4 commit of 0: producer_fenced",
            "EndTxn 4 abort of 0: producer_fenced",
            "InitProducerId 5 of 0: producer_fenced",
            "EndTxn 4 commit of 2: none",
        ),
    ),
    "a fenced producer, by version 2; the new one commits": (
        transacting.fenced_producers,
        (
            "Produce 13: invalid_producer_epoch",
            "TxnOffsetCommit 5 in -1: invalid_producer_epoch",
            "EndTxn 5 commit of 0: producer_fenced",
            "EndTxn 5 abort of 0: producer_fenced",
            "InitProducerId 5 of 0: producer_fenced",
            "EndTxn 5 commit of 2: none, 3",
        ),
    ),
    "a batch of a partition that was not added, by version of Produce": (
        partitions.partitions_not_added,
        (
            "Produce 9: invalid_txn_state",
            "Produce 10: invalid_txn_state",
            "Produce 11: transaction_abortable",
            "Produce 12: none",
            "Produce 13: none",
        ),
    ),
    "version 2, a first batch out of sequence: its partition was added, and a commit ends it": (
        partitions.partitions_not_added,
        ("Produce 13: out_of_order_sequence_number", "EndTxn 5 commit of 12: none, 13"),
    ),
    "offsets of a group that was not added, by version of TxnOffsetCommit": (
        transacting_offsets.offsets_refused_in_transactions,
        (
            "TxnOffsetCommit 3 in -1: invalid_txn_state",
            "TxnOffsetCommit 4 in -1: transaction_abortable",
            "TxnOffsetCommit 5 in -1: none",
        ),
    ),
    "offsets of a classic member: its generation, others, strangers, nobody; then an abort": (
        transacting_offsets.offsets_of_classic_members,
        (
            "TxnOffsetCommit 3 in 1: none",
            "TxnOffsetCommit 3 in 0: illegal_generation",
            "TxnOffsetCommit 3 in 2: illegal_generation",
            "TxnOffsetCommit 3 in 1: unknown_member_id",
            "TxnOffsetCommit 3 in -1: none",
            "EndTxn 4 abort of 0: none",
        ),
    ),
    "offsets of a member of the consumer protocol: alike": (
        transacting_offsets.offsets_of_consumer_members,
        (
            "TxnOffsetCommit 5 in 2: none",
            "TxnOffsetCommit 5 in 1: illegal_generation",
            "TxnOffsetCommit 5 in 3: illegal_generation",
            "TxnOffsetCommit 5 in 2: unknown_member_id",
            "TxnOffsetCommit 5 in -1: none",
            "EndTxn 5 abort of 5: none, 6",
        ),
    ),
    "pending offsets: unstable until the end": (
        transacting_offsets.offsets_of_classic_members,
        (
            "OffsetFetch 10: none, unstable_offset_commit",
            "EndTxn 5 commit of 14: none, 15",
            "OffsetFetch 10: none",
        ),
    ),
    "after transaction.timeout.ms, by version 1: the producer is fenced": (
        partitions.transactions_out_of_time,
        (
            "Produce 11: invalid_producer_epoch",
            "AddPartitionsToTxn 3: producer_fenced",
            "AddOffsetsToTxn 3: producer_fenced",
            "TxnOffsetCommit 3 in -1: invalid_producer_epoch",
            "EndTxn 4 commit of 0: producer_fenced",
            "EndTxn 4 abort of 0: producer_fenced",
        ),
    ),
    "after transaction.timeout.ms, by version 2: an abort has it go on": (
        partitions.transactions_out_of_time,
        (
            "Produce 13: invalid_producer_epoch",
            "TxnOffsetCommit 5 in -1: invalid_producer_epoch",
            "EndTxn 5 commit of 0: invalid_txn_state",
            "EndTxn 5 abort of 0: none, 1",
            "EndTxn 5 commit of 1: none, 2",
        ),
    ),
    "after transaction.timeout.ms: epochs that InitProducerId grants": (
        partitions.transactions_out_of_time,
        (
            "InitProducerId 5 of 0: none, 1",
            "InitProducerId 5 of 1: none, 2",
            "InitProducerId 5 of -1: none, 2",
            "EndTxn 5 abort of 0: producer_fenced",
        ),
    ),
}
"""By the fact: the scenario, and lines of its account that come in this order."""


def codes_in(tree: Any) -> Iterator[str]:
    """The error codes of an answer."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            if name.endswith("error_code"):
                yield str(value).partition(" ")[0]
            else:
                yield from codes_in(value)
    elif isinstance(tree, (list, tuple)):
        for each in tree:
            yield from codes_in(each)


def line_of(step: Step) -> str:
    """A request and its answer: of which epoch, or in which generation, and the new epoch."""
    asked, answered = step.asked, step.answered
    words = f"{step.api} {step.version}"
    if step.api == "EndTxn":
        words += " commit" if asked["committed"] else " abort"
    if step.api in ("EndTxn", "InitProducerId"):
        words += f" of {asked['producer_epoch']}"
    if step.api == "TxnOffsetCommit":
        words += f" in {asked['generation_id']}"
    words += ": " + ", ".join(sorted(set(codes_in(answered))))
    epoch = answered.get("producer_epoch", -1) if isinstance(answered, dict) else -1
    return words if epoch < 0 else f"{words}, {epoch}"


@cache
def account_of(scenario: Scenario) -> tuple[str, ...]:
    """Answers of the model to a scenario, in the newest versions."""
    nodes = 3 if scenario is elsewhere.markers_that_wait else 1
    with ExitStack() as stack:
        made = TransactionSettings(version=2)
        sides = [
            ModelSide(
                stack.enter_context(
                    EmbeddedBroker(nodes, groups=settings("4.3.1"), transactions=made)
                )
            )
            for _ in range(2)
        ]
        pair = Pair(*sides)
        name = scenario.__name__.replace("_", "-")
        played = Stage(pair.model, Play(name, 0, pair.versions, pair, []), None)
        stack.callback(played.close)
        scenario(played)
        return tuple(line_of(each) for each in played.steps)


@pytest.mark.parametrize("fact", FACTS)
def test_a_scenario_holds_a_fact(fact: str) -> None:
    """Its account has these lines, in this order."""
    scenario, lines = FACTS[fact]
    account = account_of(scenario)
    rest = iter(account)
    missing = next((each for each in lines if each not in rest), None)
    assert missing is None, f"{missing} is not there, or comes earlier, in\n" + "\n".join(
        account
    )


def test_real_brokers_play_each_of_them() -> None:
    """Each scenario is in the catalogue."""
    played = {
        scenario
        for part in vars(catalogue).values()
        if isinstance(part, list)
        for scenario, _ in part
    }
    assert {scenario for scenario, _ in FACTS.values()} <= played
