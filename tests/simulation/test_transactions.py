"""Transactions of a producer in virtual time, by both protocols."""

import itertools
import re

import pytest

from prokurist import KafkaProducer, OffsetAndMetadata, errors
from prokurist.events.transaction_state import TransactionState
from prokurist.types import ConsumerGroupMetadata
from tests.simulation.producing import in_callback
from tests.simulation.transacting import (
    VERSIONS,
    A,
    B,
    asked,
    committed,
    epoch_of,
    state,
    transactional,
    world_of,
    write,
)
from tests.simulation.world import World

versions = pytest.mark.parametrize("version", VERSIONS)
GROUP = ConsumerGroupMetadata("g")


def fail_in_block(producer: KafkaProducer) -> None:
    """Raise inside a transaction of which something was written."""
    with producer.transaction(5.0) as transaction:
        write(producer, b"lost")
        producer.flush(5.0)
        transaction.send_offsets({A: OffsetAndMetadata(4)}, GROUP)
        raise ZeroDivisionError


# --- the usual way ------------------------------------------------------------------------


@versions
def test_what_is_committed_is_seen_and_what_is_aborted_is_not(version: int) -> None:
    """B544: all records of a transaction, in all partitions, or none."""
    world = world_of(version)
    with transactional(world) as producer:
        for number, ends in enumerate(("commit", "abort", "commit")):
            producer.begin_transaction()
            write(producer, b"a%d" % number)
            write(producer, b"b%d" % number, partition=1)
            producer.flush(5.0)
            assert committed(world) == ([b"a0", b"b0"] if number else [])
            if ends == "commit":
                producer.commit_transaction(5.0)
            else:
                producer.abort_transaction(5.0)
    assert committed(world) == [b"a0", b"a2", b"b0", b"b2"]


@versions
def test_numbers_of_an_idle_topic_stay_within_a_transaction(version: int) -> None:
    """B533: no other epoch begins before its end, and what comes later follows on."""
    world = world_of(version)
    keys = {"metadata_max_age_ms": 1000, "metadata_max_idle_ms": 5000}
    with transactional(world, **keys) as producer:
        for first, second in ((b"a", b"b"), (b"c", b"d")):
            producer.begin_transaction()
            write(producer, first)
            producer.flush(5.0)
            world.clock.sleep(20.0)
            assert not list(producer._accumulator.queues())
            write(producer, second)
            producer.commit_transaction(5.0)
    assert committed(world) == [b"a", b"b", b"c", b"d"]


@versions
def test_requests_of_each_protocol(version: int) -> None:
    """B545: with transaction.version 2 brokers add partitions and groups, and raise epochs."""
    world = world_of(version)
    with transactional(world) as producer:
        before = epoch_of(world)
        for _ in range(2):
            producer.begin_transaction()
            write(producer, b"v")
            producer.flush(5.0)
            producer.send_offsets_to_transaction({A: OffsetAndMetadata(7)}, GROUP, 5.0)
            producer.commit_transaction(5.0)
        adds = ["AddPartitionsToTxn", "Produce", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"]
        implicit = ["Produce", "TxnOffsetCommit", "EndTxn"]
        assert asked(world) == 2 * (implicit if version == 2 else adds)
        assert epoch_of(world) - before == (2 if version == 2 else 0)
        assert world.control.committed("g")[A].offset == 7
    by_version = {str(each.api): each.version for each in world.control.requests()}
    assert (by_version["Produce"] >= 12, by_version["EndTxn"] >= 5) == (
        version == 2,
        version == 2,
    )


@versions
def test_an_end_of_nothing_asks_nobody(version: int) -> None:
    """B546: neither a commit nor an abort writes anything where nothing was sent."""
    world = world_of(version)
    with transactional(world) as producer:
        for _ in range(2):
            producer.begin_transaction()
            producer.commit_transaction(5.0)
            producer.begin_transaction()
            producer.abort_transaction(5.0)
        assert asked(world) == []


@versions
def test_records_are_taken_in_an_open_transaction_alone(version: int) -> None:
    """B540: `send`, `send_many` and calls out of turn raise, and say what comes first."""
    world = world_of(version)
    producer = world.producer(None, transactional_id="t")
    with producer:
        for call in (
            lambda: producer.send("orders", b"v"),
            lambda: producer.send_many("orders", [b"v"]),
            producer.begin_transaction,
            lambda: producer.commit_transaction(1.0),
        ):
            with pytest.raises(errors.IllegalStateException, match="init_transactions"):
                call()
        producer.init_transactions(5.0)
        with pytest.raises(errors.IllegalStateException, match="call begin_transaction"):
            producer.send("orders", b"v")
        with pytest.raises(errors.IllegalStateException, match="no transaction is open"):
            producer.abort_transaction(5.0)
        producer.begin_transaction()
        with pytest.raises(errors.IllegalStateException, match="a transaction is open"):
            producer.begin_transaction()
        write(producer, b"v", partition=1)
        producer.commit_transaction(5.0)
        with pytest.raises(errors.IllegalStateException, match="call begin_transaction"):
            producer.send("orders", b"v")
    assert committed(world) == [b"v"]


def test_without_a_transactional_id_there_are_no_transactions() -> None:
    """B540: each call says which key is missing."""
    with World().producer(None) as producer:
        for call in (
            lambda: producer.init_transactions(1.0),
            producer.begin_transaction,
            lambda: producer.commit_transaction(1.0),
            lambda: producer.abort_transaction(1.0),
            producer.transaction,
            lambda: producer.send_offsets_to_transaction({}, GROUP),
        ):
            with pytest.raises(errors.IllegalStateException, match=r"transactional\.id"):
                call()
        assert producer.send("orders", b"v").result(5.0).offset == 0


def test_calls_of_transactions_in_a_callback(monkeypatch: pytest.MonkeyPatch) -> None:
    """B540: they would wait for their own thread."""
    producer = transactional(world_of(2))
    with producer:
        producer.begin_transaction()
        with monkeypatch.context() as patched:
            in_callback(producer, patched)
            for call in (producer.commit_transaction, producer.abort_transaction):
                with pytest.raises(errors.IllegalStateException, match="delivery callback"):
                    call(1.0)


@versions
def test_a_block_commits_or_aborts(version: int) -> None:
    """B547: it commits at its end, and aborts after an exception, which goes on."""
    world = world_of(version)
    with transactional(world) as producer:
        with producer.transaction(5.0) as transaction:
            write(producer, b"kept")
            transaction.send_offsets({A: OffsetAndMetadata(3)}, GROUP)
        with pytest.raises(ZeroDivisionError):
            fail_in_block(producer)
        with producer.transaction(5.0):
            write(producer, b"kept, too")
    assert committed(world) == [b"kept", b"kept, too"]
    assert world.control.committed("g")[A].offset == 3


# --- time that is over ----------------------------------------------------------------------


@versions
def test_a_commit_out_of_time_before_its_request(version: int) -> None:
    """B541: P53: the transaction is open as before, and takes more records."""
    world = world_of(version, nodes=2)
    with transactional(world) as producer:
        producer.begin_transaction()
        write(producer, b"1")
        producer.flush(5.0)
        with world.control.kill(world.control.leader(A)[0], missed=False):
            write(producer, b"2")
            with pytest.raises(errors.TimeoutException, match="open as before") as raised:
                producer.commit_transaction(1.0)
        assert not raised.value.may_have_happened
        assert raised.value.elapsed == pytest.approx(1.0, abs=0.01)
        assert "EndTxn" not in asked(world)
        write(producer, b"3")
        producer.commit_transaction(30.0)
    assert committed(world, A) == [b"1", b"2", b"3"]


@versions
@pytest.mark.parametrize("end", ["commit_transaction", "abort_transaction"])
def test_an_end_that_waits_for_records_names_them(version: int, end: str) -> None:
    """B572: how many, in which partitions, and which requests have no answer."""
    world = world_of(version, nodes=2)
    with transactional(world) as producer:
        producer.begin_transaction()
        write(producer, b"1", b"2")
        write(producer, b"3", partition=1)
        leader, other = (world.control.leader(tp)[0] for tp in (A, B))
        with world.control.drop("Produce", node=leader, times=None):
            world.clock.sleep(0.1)
            with pytest.raises(errors.TimeoutException) as raised:
                getattr(producer, end)(2.0)
        assert leader != other
        assert raised.value.partitions == (A,)
        assert raised.value.elapsed == pytest.approx(2.0, abs=0.01)
        text = str(raised.value)
        assert "2 records (16 bytes) in 1 partition are on the way: orders-0. " in text
        assert f"Produce to broker {leader} (" in text
        assert re.search(r"is unanswered for 2\.\d+ s\.", text)
        getattr(producer, end)(60.0)


@versions
def test_a_commit_out_of_time_has_the_last_error_of_its_records(version: int) -> None:
    """B572: that of an attempt; it is the cause of the error, too."""
    world = world_of(version)
    with transactional(world) as producer:
        producer.begin_transaction()
        write(producer, b"1")
        with (
            world.control.fail("Produce", 19, times=None),
            pytest.raises(errors.TimeoutException) as raised,
        ):
            producer.commit_transaction(2.0)
        assert isinstance(raised.value.last_error, errors.NotEnoughReplicasException)
        text = str(raised.value)
        assert "1 record (8 bytes) in 1 partition is on the way: orders-0. " in text
        assert "Their last error was NotEnoughReplicasException: Fewer replicas" in text
        assert "No end was written, so the transaction is open as before" in text
        assert not raised.value.may_have_happened
        producer.commit_transaction(30.0)
    assert committed(world, A) == [b"1"]


@versions
def test_a_commit_that_a_quota_holds_up_names_it(version: int) -> None:
    """B572: the broker that has asked for silence, since the records are behind it."""
    world = world_of(version)
    with transactional(world) as producer:
        producer.begin_transaction()
        with world.control.throttle("Produce", 20.0, times=1):
            write(producer, b"1")
            producer.flush(5.0)
            write(producer, b"2")
            with pytest.raises(errors.TimeoutException) as raised:
                producer.commit_transaction(2.0)
        assert "They wait for broker 1 " in str(raised.value)
        assert "which throttles this client, as it is over a quota" in str(raised.value)
        assert any("throttles" in each.reason for each in raised.value.waits)
        producer.commit_transaction(60.0)
    assert committed(world, A) == [b"1", b"2"]


@versions
@pytest.mark.parametrize("applied", [True, False])
def test_a_commit_in_doubt(version: int, *, applied: bool) -> None:
    """B541: P54: nothing but another commit is left, and that is done once."""
    world = world_of(version)
    with transactional(world) as producer:
        producer.begin_transaction()
        write(producer, b"v")
        with world.control.drop("EndTxn", applied=applied):
            with pytest.raises(errors.TimeoutException, match="commit_transaction") as raised:
                producer.commit_transaction(1.0)
            assert raised.value.may_have_happened
        for call in (
            lambda: producer.abort_transaction(1.0),
            producer.begin_transaction,
            lambda: producer.send("orders", b"v"),
            lambda: producer.send_offsets_to_transaction({A: OffsetAndMetadata(1)}, GROUP),
        ):
            with pytest.raises(errors.ProducerInDoubtException, match="commit_transaction"):
                call()
        producer.commit_transaction(60.0)
        producer.begin_transaction()
        write(producer, b"next")
        producer.commit_transaction(5.0)
    assert committed(world) == [b"v", b"next"]


@versions
def test_a_commit_in_doubt_ends_with_its_answer(version: int) -> None:
    """B548: CONCURRENT_TRANSACTIONS, while markers are written, does not end the doubt."""
    world = world_of(version)
    with transactional(world) as producer:
        producer.begin_transaction()
        write(producer, b"v")
        with world.control.hold_markers():
            with (
                world.control.drop("EndTxn", applied=True),
                pytest.raises(errors.TimeoutException),
            ):
                producer.commit_transaction(1.0)
            world.control.disconnect()
            with pytest.raises(errors.TimeoutException) as raised:
                producer.commit_transaction(2.0)
            assert isinstance(raised.value.last_error, errors.ConcurrentTransactionsException)
            assert state(producer) is TransactionState.IN_DOUBT
        producer.commit_transaction(5.0)
    assert committed(world) == [b"v"]


@versions
def test_a_commit_in_doubt_that_is_not_written_again(version: int) -> None:
    """B571: what stands is the request of the call before, so it may have happened."""
    world = world_of(version)
    with transactional(world) as producer:
        producer.begin_transaction()
        write(producer, b"v")
        with (
            world.control.drop("EndTxn", applied=True),
            pytest.raises(errors.TimeoutException),
        ):
            producer.commit_transaction(1.0)
        with world.control.kill(1, missed=False):
            world.clock.sleep(1.0)
            with pytest.raises(
                errors.TimeoutException, match="commit_transaction again"
            ) as raised:
                producer.commit_transaction(1.0)
            assert not [each for each in raised.value.attempts if each.request == "EndTxn"]
            assert raised.value.may_have_happened
            assert state(producer) is TransactionState.IN_DOUBT
        producer.commit_transaction(30.0)
    assert committed(world) == [b"v"]


@versions
@pytest.mark.parametrize("applied", [True, False])
def test_an_abort_out_of_time_goes_on(version: int, *, applied: bool) -> None:
    """B549: only another abort is left until one has succeeded."""
    world = world_of(version)
    with transactional(world) as producer:
        producer.begin_transaction()
        write(producer, b"lost")
        producer.flush(5.0)
        with (
            world.control.drop("EndTxn", applied=applied),
            pytest.raises(errors.TimeoutException, match="abort_transaction again"),
        ):
            producer.abort_transaction(1.0)
        for call in (producer.begin_transaction, lambda: producer.commit_transaction(1.0)):
            with pytest.raises(errors.IllegalStateException, match="abort_transaction again"):
                call()
        producer.abort_transaction(60.0)
        with producer.transaction(5.0):
            write(producer, b"kept")
    assert committed(world) == [b"kept"]


@versions
def test_an_initialisation_out_of_time_goes_on(version: int) -> None:
    """B549: the same call goes on, and nothing else is possible until then."""
    world = world_of(version)
    with world.producer(None, transactional_id="t") as producer:
        with (
            world.control.drop("InitProducerId", applied=True),
            pytest.raises(errors.TimeoutException),
        ):
            producer.init_transactions(1.0)
        with pytest.raises(errors.IllegalStateException, match="init_transactions again"):
            producer.begin_transaction()
        producer.init_transactions(60.0)
        with producer.transaction(5.0):
            write(producer, b"kept")
    assert committed(world) == [b"kept"]


@versions
def test_offsets_in_doubt(version: int) -> None:
    """B541: the same offsets again, or an abort; a commit might leave them out."""
    world = world_of(version)
    with transactional(world) as producer:
        producer.begin_transaction()
        write(producer, b"v")
        offsets = {A: OffsetAndMetadata(3)}
        with (
            world.control.drop("TxnOffsetCommit"),
            pytest.raises(
                errors.TimeoutException, match="offsets are in the transaction or not"
            ) as raised,
        ):
            producer.send_offsets_to_transaction(offsets, GROUP, 1.0)
        assert raised.value.may_have_happened
        with pytest.raises(errors.IllegalStateException, match="same offsets"):
            producer.commit_transaction(5.0)
        for other in ({B: OffsetAndMetadata(3)}, {A: OffsetAndMetadata(4)}):
            with pytest.raises(errors.IllegalStateException, match="are in doubt"):
                producer.send_offsets_to_transaction(other, GROUP, 5.0)
        producer.send_offsets_to_transaction({**offsets, B: OffsetAndMetadata(1)}, GROUP, 60.0)
        producer.commit_transaction(5.0)
    assert {tp: each.offset for tp, each in world.control.committed("g").items()} == {
        A: 3,
        B: 1,
    }


@versions
def test_offsets_out_of_time_before_their_request(version: int) -> None:
    """B541: P60: as if never called; an abort works meanwhile, and so does a commit."""
    world = world_of(version, nodes=3)
    group = next(
        ConsumerGroupMetadata(f"g{number}")
        for number in itertools.count()
        if world.control.coordinator(f"g{number}") != world.control.leader(A)[0]
        and world.control.coordinator(f"g{number}")
        != (world.control.transaction_coordinator("t") or 0)
    )
    node = world.control.coordinator(group.group_id)
    assert node is not None
    with transactional(world) as producer:
        for end in (producer.abort_transaction, producer.commit_transaction):
            producer.begin_transaction()
            write(producer, b"v")
            with world.control.kill(node, missed=False):
                with pytest.raises(errors.TimeoutException, match="open as before") as raised:
                    producer.send_offsets_to_transaction({A: OffsetAndMetadata(3)}, group, 1.0)
                assert not raised.value.may_have_happened
                end(5.0)
    assert committed(world, A) == [b"v"]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_id_that_is_taken_behind_a_commit(version: int) -> None:
    """B591: the commit had its effect, and the coordinator cannot say so any more."""
    world = world_of(version)
    producer = transactional(world, request_timeout_ms=2000)
    producer.begin_transaction()
    write(producer, b"v")
    with world.control.drop("EndTxn", applied=True), pytest.raises(errors.TimeoutException):
        producer.commit_transaction(1.0)
    transactional(world).close(5.0)
    with pytest.raises(errors.ProducerFencedException) as raised:
        producer.commit_transaction(5.0)
    assert raised.value.may_have_happened
    assert committed(world, A) == [b"v"]
    producer.close(5.0)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_id_that_is_taken_before_a_commit(version: int) -> None:
    """B591: nothing of the transaction is visible, and the error says so."""
    world = world_of(version)
    producer = transactional(world)
    producer.begin_transaction()
    write(producer, b"v")
    producer.flush(5.0)
    transactional(world).close(5.0)
    with pytest.raises(errors.ProducerFencedException) as raised:
        producer.commit_transaction(5.0)
    assert not raised.value.may_have_happened
    assert committed(world, A) == []
    producer.close(5.0)
