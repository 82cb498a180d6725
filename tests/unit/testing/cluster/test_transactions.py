"""Transactions in virtual time: timeouts, failovers, and faults between every two steps.

Answers to single requests are held against real brokers (`tests/conformance/transacting.py`).
"""

import math
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.testing.cluster import TransactionSettings
from prokurist.testing.cluster.batches import CONTROL
from prokurist.testing.cluster.transactions import LAST_EPOCH, java_hash
from prokurist.types import TopicPartition
from tests.unit.testing.cluster.producing import batch, produce, producing
from tests.unit.testing.cluster.transacting import ORDERS, Ended, Writer

if TYPE_CHECKING:
    from tests.unit.testing.cluster.conftest import Lab

ELSEWHERE = TopicPartition("orders", 1)
NOT_COORDINATOR, LOADING, NOT_ENOUGH_REPLICAS = 16, 14, 19
INVALID_TXN_STATE, INVALID_PRODUCER_EPOCH, CONCURRENT = 48, 47, 51
PRODUCER_FENCED, UNKNOWN_MAPPING = 90, 49
VERSIONS = pytest.mark.parametrize("version", [1, 2])


def ready(lab: "Lab", version: int = 2, **more: Any) -> Writer:
    """A producer with its first epoch, of a cluster with that version of transactions."""
    lab.control.configure_transactions(TransactionSettings(version))
    writer = Writer(lab, version=version, **more)
    assert writer.init() == 0
    return writer


def stable_end(lab: "Lab", tp: TopicPartition = ORDERS) -> int:
    """The last stable offset of a partition."""
    partition = lab.cluster.state.topics[tp.topic].partitions[tp.partition]
    return partition.log.stable_end(partition.copy_of(partition.leader).watermark)


def markers(lab: "Lab", tp: TopicPartition = ORDERS) -> list[tuple[int, int, int]]:
    """Offset, producer id and epoch of each marker in a partition."""
    log = lab.cluster.state.topics[tp.topic].partitions[tp.partition].log
    return [
        (each.base_offset, each.producer_id, each.producer_epoch)
        for each in log.batches
        if each.attributes & CONTROL
    ]


# --- timeouts -------------------------------------------------------------------------------


@VERSIONS
def test_a_transaction_that_is_open_too_long_is_aborted(lab: "Lab", version: int) -> None:
    """By the coordinator, once its time is over; the last stable offset moves on then."""
    writer = ready(lab, version, timeout=10.0)
    writer.open()
    lab.pass_by(9.9)
    assert (writer.state(), stable_end(lab)) == ("Ongoing", 0)
    lab.pass_by(0.2)
    assert (writer.state(), stable_end(lab)) == ("CompleteAbort", 2)
    assert markers(lab) == [(1, writer.numbers[0], writer.numbers[1] + 1)]
    assert writer.write()[0] == INVALID_PRODUCER_EPOCH
    if version == 1:
        assert writer.end(commit=False) == Ended(PRODUCER_FENCED)
        assert writer.init(own=True) == PRODUCER_FENCED
    else:
        assert writer.end(numbers=writer.numbers).code == INVALID_TXN_STATE
        assert writer.end(commit=False) == Ended(0, writer.numbers[0], 1)
        writer.open()
        assert writer.end().code == 0


def test_the_time_counts_from_the_first_partition_of_each_transaction(lab: "Lab") -> None:
    """An entry that an earlier transaction left does not abort a later one."""
    writer = ready(lab, timeout=10.0)
    writer.open()
    lab.pass_by(8.0)
    assert writer.end().code == 0
    writer.open()
    lab.pass_by(8.0)
    assert writer.state() == "Ongoing"
    lab.pass_by(2.1)
    assert writer.state() == "CompleteAbort"


def test_a_coordinator_that_is_frozen_aborts_when_it_is_back(lab: "Lab") -> None:
    """Until then the last stable offset stays."""
    writer = ready(lab, timeout=1.0)
    for tp in (TopicPartition("orders", index) for index in range(3)):
        if lab.control.leader(tp)[0] != writer.node:
            break
    writer.open(tp)
    with lab.control.freeze(writer.node):
        lab.pass_by(20.0)
        assert stable_end(lab, tp) == 0
    lab.pass_by(0.2)
    assert stable_end(lab, tp) == 2


def test_a_timeout_beyond_the_maximum_is_refused(lab: "Lab") -> None:
    """INVALID_TRANSACTION_TIMEOUT."""
    lab.control.configure_transactions(TransactionSettings(max_timeout=30.0))
    assert Writer(lab, timeout=30.1).init() == 50
    assert Writer(lab, timeout=30.0).init() == 0


def test_an_id_is_forgotten_a_week_after_its_last_change(lab: "Lab") -> None:
    """`transactional.id.expiration.ms`; the producer is unknown then, and may begin again."""
    writer = ready(lab)
    writer.open()
    assert writer.end().code == 0
    before = writer.numbers[0]
    lab.pass_by(604_799.0)
    assert writer.state() == "CompleteCommit"
    lab.pass_by(2.0)
    assert writer.state() == ""
    assert writer.end().code == UNKNOWN_MAPPING
    assert writer.init(own=True) == 0
    assert writer.numbers[0] != before
    assert writer.numbers[1] == 0


def test_an_open_transaction_does_not_expire(lab: "Lab") -> None:
    """Only its own time ends it."""
    lab.control.configure_transactions(TransactionSettings(id_expiration=5.0))
    writer = Writer(lab, timeout=60.0)
    writer.init()
    writer.open()
    lab.pass_by(30.0)
    assert writer.state() == "Ongoing"
    lab.control.forget_transaction(writer.name)
    assert writer.state() == ""
    assert writer.end().code == UNKNOWN_MAPPING


# --- markers --------------------------------------------------------------------------------


@VERSIONS
def test_until_the_markers_are_written_all_else_waits(lab: "Lab", version: int) -> None:
    """EndTxn again, InitProducerId and the next batch are CONCURRENT_TRANSACTIONS meanwhile."""
    writer = ready(lab, version)
    writer.open()
    before = writer.numbers
    with lab.control.hold_markers():
        assert writer.end().code == 0
        assert writer.state() == "PrepareCommit"
        for commit in (True, False):
            assert writer.end(commit=commit, numbers=before).code == CONCURRENT
        assert Writer(lab, version=version).init() == CONCURRENT
        if version == 1:
            assert writer.add() == CONCURRENT
        assert stable_end(lab) == 0
    assert (writer.state(), stable_end(lab)) == ("CompleteCommit", 2)
    assert writer.end(numbers=before).code == 0
    assert writer.numbers == (before[0], before[1] + version - 1)


def test_a_batch_waits_a_tenth_of_a_second_for_the_markers(lab: "Lab") -> None:
    """It is taken once they are written; after that time it is CONCURRENT_TRANSACTIONS."""
    lab.control.configure_transactions(TransactionSettings(marker_delay=0.07))
    writer = Writer(lab)
    writer.init()
    for code, at, wait in ((0, 0.07, 0.07), (CONCURRENT, 0.1, 0.2)):
        lab.control.configure_transactions(TransactionSettings(marker_delay=wait))
        writer.open()
        assert writer.end().code == 0
        row = writer.row()
        session = lab.connect(row.pop("node"))
        begun = lab.time.at
        lab.send(session, "Produce", 12, **producing(writer.batch(), **row))
        [(moment, delivery)] = lab.pass_by(1.0)
        told = lab.read(delivery).body.responses[0].partition_responses[0]
        assert told.error_code == code
        assert moment - begun == pytest.approx(at)
        session.close(lab.time.at)
        writer.sequences = {} if code else {ORDERS: 1}


@pytest.mark.parametrize("ill", ["leaderless", "frozen"])
def test_a_partition_without_a_leader_holds_the_end_up(lab: "Lab", ill: str) -> None:
    """The others have their markers; its own comes when it has a leader again."""
    writer = ready(lab)
    away = next(
        tp
        for tp in (TopicPartition("orders", index) for index in range(3))
        if lab.control.leader(tp)[0] != writer.node
    )
    near = next(TopicPartition("orders", n) for n in range(3) if n != away.partition)
    node = lab.control.leader(away)[0]
    if lab.control.leader(near)[0] == node:
        lab.control.move_leader(near)
    writer.open(away)
    writer.open(near)
    with lab.control.shrink_isr(away, 1):
        fault = lab.control.kill(node) if ill == "leaderless" else lab.control.freeze(node)
        assert writer.end().code == 0
        lab.pass_by(5.0)
        assert writer.state() == "PrepareCommit"
        assert lab.control.transactions()[writer.name].partitions == {away}
        assert (len(markers(lab, near)), len(markers(lab, away))) == (1, 0)
        fault.undo()
    lab.pass_by(0.1)
    assert writer.state() == "CompleteCommit"
    assert len(markers(lab, away)) == 1


def test_a_moved_leader_knows_the_transaction(lab: "Lab") -> None:
    """It takes what follows in sequence, and the marker."""
    writer = ready(lab)
    writer.open()
    lab.control.move_leader(ORDERS)
    assert writer.write() == (0, 1)
    assert writer.end().code == 0
    assert stable_end(lab) == 3


def test_a_log_that_is_cut_back_knows_its_transactions(lab: "Lab") -> None:
    """What lost its marker is open again, what lost its records is not."""
    first, second = Writer(lab, "a"), Writer(lab, "b")
    for each in (first, second):
        each.init()
    first.open()
    first.end()
    second.open()
    assert stable_end(lab) == 2
    lab.control.truncate(ORDERS, 1)
    assert (stable_end(lab), lab.control.offsets(ORDERS)) == (0, (0, 1))
    assert lab.control.producers(ORDERS)[first.numbers[0]].epoch == 0


# --- coordinators ---------------------------------------------------------------------------


@VERSIONS
@pytest.mark.parametrize("step", range(4))
def test_a_coordinator_that_moves_between_two_steps(
    lab: "Lab", version: int, step: int
) -> None:
    """The old one is NOT_COORDINATOR, and the new one goes on where it was."""
    writer = ready(lab, version)

    def move_before(turn: int) -> None:
        if turn == step:
            old = writer.node
            lab.control.move_transaction_coordinator(writer.name, old % 3 + 1)
            assert writer.init(node=old) == NOT_COORDINATOR
            assert writer.end(node=old).code == NOT_COORDINATOR

    move_before(0)
    writer.open()
    move_before(1)
    writer.open(ELSEWHERE)
    assert writer.commit_offsets("billing", 5) == 0
    move_before(2)
    before = writer.numbers
    assert writer.end().code == 0
    move_before(3)
    assert writer.end(numbers=before).code == 0
    assert lab.control.committed("billing")[ORDERS].offset == 5
    assert (stable_end(lab), stable_end(lab, ELSEWHERE)) == (2, 2)
    assert len(markers(lab)) == 1


def test_a_failover_in_a_prepared_end_writes_every_marker_again(lab: "Lab") -> None:
    """The coordinator's log does not say which were written; a second one changes nothing."""
    writer = ready(lab)
    writer.open()
    writer.open(ELSEWHERE)
    leader = lab.control.leader(ELSEWHERE)[0]
    with lab.control.freeze(leader):
        if writer.node == leader:
            lab.control.move_transaction_coordinator(writer.name, leader % 3 + 1)
        if lab.control.leader(ORDERS)[0] == leader:
            lab.control.move_leader(ORDERS)
        assert writer.end().code == 0
        lab.pass_by(1.0)
        assert (len(markers(lab)), len(markers(lab, ELSEWHERE))) == (1, 0)
        other = next(node for node in (1, 2, 3) if node not in (writer.node, leader))
        lab.control.move_transaction_coordinator(writer.name, other)
    lab.pass_by(1.0)
    assert writer.state() == "CompleteCommit"
    assert (len(markers(lab)), len(markers(lab, ELSEWHERE))) == (2, 1)
    writer.open()
    assert writer.end().code == 0


def test_a_dead_coordinator_is_replaced_with_all_it_knew(lab: "Lab") -> None:
    """And a transaction that it had prepared is ended by the next one."""
    writer = ready(lab)
    writer.open()
    old = writer.node
    with lab.control.hold_markers():
        assert writer.end().code == 0
        lab.control.kill(old)
        assert writer.node != old
    lab.pass_by(0.2)
    assert writer.state() == "CompleteCommit"
    assert stable_end(lab) == 2 + len(markers(lab)) - 1
    writer.open()
    assert writer.end().code == 0


@VERSIONS
def test_a_coordinator_that_loads(lab: "Lab", version: int) -> None:
    """It says so itself; a leader that cannot ask it says NOT_ENOUGH_REPLICAS."""
    writer = ready(lab, version)
    with lab.control.transaction_coordinator_loading(writer.name):
        assert writer.init() == LOADING
        assert writer.end().code == LOADING
        assert writer.add() == LOADING
        assert writer.write()[0] == NOT_ENOUGH_REPLICAS
        assert writer.commit_offsets("billing", 5) == LOADING
    writer.open()
    with lab.control.transaction_coordinator_loading(writer.name, times=1):
        assert writer.end().code == LOADING
        assert writer.end().code == 0


def test_a_leader_waits_for_a_frozen_coordinator(lab: "Lab") -> None:
    """For `request.timeout.ms`, and is asked again by the producer then."""
    writer = ready(lab)
    for tp in (TopicPartition("orders", index) for index in range(3)):
        if lab.control.leader(tp)[0] != writer.node:
            break
    for thawed, code in ((5.0, 0), (math.inf, NOT_ENOUGH_REPLICAS)):
        fault = lab.control.freeze(writer.node)
        row = writer.row(tp)
        session = lab.connect(row.pop("node"))
        sequence = writer.sequences.get(tp, 0)
        lab.send(session, "Produce", 12, **producing(writer.batch(sequence), **row))
        arrived = lab.pass_by(min(thawed, 40.0))
        fault.undo()
        [(_, delivery)] = arrived or lab.pass_by(1.0)
        told = lab.read(delivery).body.responses[0].partition_responses[0]
        assert told.error_code == code
        session.close(lab.time.at)
        assert writer.end(commit=False).code == 0


# --- lost answers ---------------------------------------------------------------------------


def lost(lab: "Lab", node: int, api: Any, version: int, **values: Any) -> None:
    """Send a request that takes effect, and lose the connection with its answer."""
    with lab.control.cut(api, applied=True) as fault:
        session = lab.connect(node)
        lab.send(session, api, version, **values)
        [(_, delivery)] = lab.pass_by(0.0)
        assert delivery.end is not None
        assert fault.used == 1


@pytest.mark.parametrize("own", [False, True])
def test_a_lost_answer_to_init_producer_id(lab: "Lab", *, own: bool) -> None:
    """With the old numbers the same epoch comes again; without numbers, one more."""
    writer = ready(lab)
    producer_id, epoch = writer.numbers
    asked = writer.numbers if own else (-1, -1)
    values: dict[str, Any] = {
        "transactional_id": writer.name,
        "transaction_timeout": timedelta(seconds=60),
        "producer_id": asked[0],
        "producer_epoch": asked[1],
    }
    lost(lab, writer.node, "InitProducerId", 5, **values)
    assert writer.init(own=own) == 0
    assert writer.numbers == (producer_id, epoch + (1 if own else 2))


@VERSIONS
def test_a_lost_answer_to_end_txn(lab: "Lab", version: int) -> None:
    """The same with the old epoch again is NONE, with the same next epoch; the other is not."""
    writer = ready(lab, version)
    writer.open()
    before = writer.numbers
    values = {
        "transactional_id": writer.name,
        "producer_id": before[0],
        "producer_epoch": before[1],
        "committed": True,
    }
    lost(lab, writer.node, "EndTxn", 4 if version == 1 else 5, **values)
    assert writer.end(commit=False, numbers=before).code == INVALID_TXN_STATE
    for _ in range(2):
        assert writer.end(numbers=before).code == 0
    assert writer.numbers == (before[0], before[1] + version - 1)
    assert len(markers(lab)) == 1


def test_a_lost_answer_to_a_batch(lab: "Lab") -> None:
    """It is answered again with its offset, and adds nothing twice."""
    writer = ready(lab)
    row = writer.row()
    node = row.pop("node")
    lost(lab, node, "Produce", 12, **producing(writer.batch(), **row))
    assert writer.write() == (0, 0)
    assert lab.control.offsets(ORDERS) == (0, 1)


# --- faults by rule -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api", "act"),
    [
        ("InitProducerId", lambda writer: writer.init()),
        ("AddPartitionsToTxn", lambda writer: writer.add()),
        ("EndTxn", lambda writer: writer.end().code),
        ("TxnOffsetCommit", lambda writer: writer.commit_offsets("billing", 5)),
        ("Produce", lambda writer: writer.write()[0]),
    ],
)
def test_a_request_that_a_test_has_refused(
    lab: "Lab", api: Any, act: Callable[[Writer], int]
) -> None:
    """It has no effect, and the next one has."""
    writer = ready(lab)
    if api == "EndTxn":
        writer.open()
    with lab.control.fail(api, 123) as fault:
        assert act(writer) == 123
        assert fault.used == 1
    known = lab.control.transactions()[writer.name].state
    assert known == ("Ongoing" if api == "EndTxn" else "Empty")
    assert act(writer) == 0


def test_who_may_not_use_a_transactional_id(lab: "Lab") -> None:
    """TRANSACTIONAL_ID_AUTHORIZATION_FAILED everywhere, and on looking for its coordinator."""
    writer = ready(lab)
    writer.open()
    with lab.control.deny(transaction=writer.name):
        assert writer.init() == 53
        assert writer.add() == 53
        assert writer.write() == (53, -1)
        assert writer.commit_offsets("billing", 5) == 53
        assert writer.end().code == 53
        told = lab.ask("FindCoordinator", 4, key_type=1, coordinator_keys=[writer.name])
        assert told.coordinators[0].error_code == 53
        told = lab.ask("DescribeTransactions", 0, transactional_ids=[writer.name])
        assert told.transaction_states[0].error_code == 53
        assert lab.ask("ListTransactions", 0, node=writer.node).transaction_states == ()
    assert writer.end().code == 0


def test_coordinators_of_several_transactional_ids(lab: "Lab") -> None:
    """A moved one is named, whatever a group of its name has."""
    lab.control.move_transaction_coordinator("a", 3)
    lab.control.move_coordinator("a", 1)
    told = lab.ask("FindCoordinator", 4, key_type=1, coordinator_keys=["a", "b", "c"])
    named = {each.key: each.node_id for each in told.coordinators}
    assert named == {each: lab.control.transaction_coordinator(each) for each in "abc"}
    assert named["a"] == 3
    groups = lab.ask("FindCoordinator", 4, key_type=0, coordinator_keys=["a"])
    assert groups.coordinators[0].node_id == 1


# --- epochs that run out --------------------------------------------------------------------


@VERSIONS
def test_the_last_epoch_is_followed_by_another_producer_id(lab: "Lab", version: int) -> None:
    """Epoch 32767 is for fencing: InitProducerId, and the end of version 2, give another id."""
    writer = ready(lab, version)
    known = lab.cluster.state.transactions.find(writer.name, lab.time.at)
    assert known is not None
    known.epoch = LAST_EPOCH - 1
    before = writer.numbers = (writer.numbers[0], LAST_EPOCH - 1)
    if version == 2:
        writer.open()
        assert writer.end().code == 0
        assert markers(lab) == [(1, before[0], LAST_EPOCH)]
        after = writer.numbers
        assert writer.end(numbers=before) == Ended(0, *after)
    else:
        assert writer.init(own=True) == 0
        after = writer.numbers
        writer.numbers = before
        assert writer.init(own=True) == 0
    assert after == writer.numbers
    assert after[0] != before[0]
    assert after[1] == 0


# --- offsets --------------------------------------------------------------------------------


@VERSIONS
def test_pending_offsets_count_when_the_transaction_is_committed(
    lab: "Lab", version: int
) -> None:
    """And never when it is aborted, or out of time."""
    writer = ready(lab, version, timeout=10.0)
    for offset, commit in ((5, True), (6, False)):
        assert writer.commit_offsets("billing", offset) == 0
        before = lab.control.committed("billing")
        assert ORDERS not in before or before[ORDERS].offset == 5
        assert writer.end(commit=commit).code == 0
        assert lab.control.committed("billing")[ORDERS].offset == 5
    assert writer.commit_offsets("billing", 7) == 0
    lab.pass_by(11.0)
    assert lab.control.committed("billing")[ORDERS].offset == 5
    assert lab.cluster.state.groups["billing"].unsettled() == set()


def test_a_group_whose_coordinator_is_down_holds_the_end_up(lab: "Lab") -> None:
    """Its offsets become committed with the marker, once it has a coordinator."""
    writer = ready(lab)
    node = next(each for each in (1, 2, 3) if each != writer.node)
    lab.control.move_coordinator("billing", node)
    assert writer.commit_offsets("billing", 5) == 0
    with lab.control.freeze(node):
        assert writer.end().code == 0
        lab.pass_by(3.0)
        assert writer.state() == "PrepareCommit"
        assert lab.control.committed("billing") == {}
    lab.pass_by(0.1)
    assert writer.state() == "CompleteCommit"
    assert lab.control.committed("billing")[ORDERS].offset == 5


def test_groups_are_in_the_partition_of_javas_hash() -> None:
    """Also one whose hash is the smallest integer there is."""
    assert java_hash("") == 0
    assert java_hash("billing") == 109829509
    assert java_hash("polygenelubricants") == 0
    assert java_hash("\U0001f600") == 1772899


# --- what is offered ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "newest", "finalized"),
    [(0, (11, 4, 4), None), (1, (13, 5, 5), 1), (2, (13, 5, 5), 2)],
)
def test_versions_and_features_of_a_cluster(
    make_lab: "Callable[..., Lab]",
    version: int,
    newest: tuple[int, int, int],
    finalized: int | None,
) -> None:
    """Kafka before 4.0 has neither the feature nor the versions that need it."""
    lab = make_lab(1, {"orders": 1}, transactions=TransactionSettings(version))
    told = lab.ask("ApiVersions", 4, client_software_name="lab", client_software_version="1")
    offered = {each.api_key: each.max_version for each in told.api_keys}
    assert tuple(offered[key] for key in (0, 26, 28)) == newest
    levels = {each.name: each.max_version_level for each in told.finalized_features}
    assert levels.get("transaction.version") == finalized


def test_a_feature_that_is_finalized_later(make_lab: "Callable[..., Lab]") -> None:
    """What the coordinator ends by itself follows it from then on."""
    lab = make_lab(1, {"orders": 1}, transactions=TransactionSettings(1))
    for level, code in ((1, PRODUCER_FENCED), (2, 0)):
        lab.control.finalize("transaction.version", level)
        writer = Writer(lab, f"t{level}", timeout=1.0)
        writer.init()
        writer.open()
        lab.pass_by(2.0)
        assert writer.init(own=True) == code


def test_batches_without_a_transaction_are_as_before(lab: "Lab") -> None:
    """A transactional id beside them changes nothing."""
    assert produce(lab, batch(2), transactional_id="t") == (0, 0)
    assert produce(lab, batch(1, producer=(7, 0, 0)), transactional_id="t") == (0, 2)
    assert lab.control.transactions() == {}
