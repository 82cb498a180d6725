"""Transactions in trouble: errors, coordinators that move, faults between every two steps."""

import pytest

from prokurist import OffsetAndMetadata, errors
from prokurist.events.transaction_state import TransactionState
from prokurist.testing.cluster.apis import ApiName
from prokurist.types import ConsumerGroupMetadata
from tests.simulation.producing import failure
from tests.simulation.transacting import (
    VERSIONS,
    A,
    asked,
    committed,
    state,
    state_of,
    transactional,
    world_of,
    write,
)

versions = pytest.mark.parametrize("version", VERSIONS)
GROUP = ConsumerGroupMetadata("g")


# --- errors ---------------------------------------------------------------------------------


@versions
def test_a_record_that_fails_rules_the_commit_out(version: int) -> None:
    """B542: P57: the commit raises it, the abort recovers, and the next transaction commits."""
    world = world_of(version)
    with transactional(world) as producer:
        producer.begin_transaction()
        write(producer, b"1")
        producer.flush(5.0)
        world.control.fail("Produce", 29, partition=1)
        refused = producer.send("orders", b"2", partition=1)
        producer.flush(5.0)
        assert isinstance(failure(refused), errors.TopicAuthorizationException)
        for call in (
            lambda: producer.commit_transaction(5.0),
            lambda: producer.send("orders", b"3"),
            lambda: producer.send_offsets_to_transaction({A: OffsetAndMetadata(1)}, GROUP),
        ):
            with pytest.raises(errors.TopicAuthorizationException) as raised:
                call()
            assert (raised.value.abortable, raised.value.fatal) == (True, False)
        with pytest.raises(errors.IllegalStateException, match="abort_transaction ends it"):
            producer.begin_transaction()
        producer.abort_transaction(5.0)
        for value in (b"4", b"5"):
            with producer.transaction(5.0):
                write(producer, value)
                write(producer, value, partition=1)
    assert committed(world) == [b"4", b"5", b"4", b"5"]


@versions
def test_a_record_in_no_batch_rules_the_commit_out(version: int) -> None:
    """B542: a transaction without one of its records is never committed."""
    world = world_of(version)
    with transactional(world, max_block_ms=500) as producer:
        producer.begin_transaction()
        write(producer, b"1")
        lost = producer.send("no-such-topic", b"2")
        assert isinstance(failure(lost), errors.TimeoutException)
        with pytest.raises(errors.TransactionAbortableException, match="no-such-topic"):
            producer.commit_transaction(5.0)
        producer.abort_transaction(5.0)
        with producer.transaction(5.0):
            write(producer, b"3")
    assert committed(world) == [b"3"]


@versions
def test_an_abort_fails_what_is_not_on_the_wire(version: int) -> None:
    """B550: its records fail with TransactionAbortedException, and were not written."""
    world = world_of(version)
    with transactional(world, linger_ms=60_000) as producer:
        producer.begin_transaction()
        write(producer, b"1")
        unsent = producer.send("orders", b"2", partition=1)
        producer.abort_transaction(5.0)
        error = failure(unsent)
        assert isinstance(error, errors.TransactionAbortedException)
        assert not error.may_have_happened
        assert asked(world) == []
        with producer.transaction(5.0):
            write(producer, b"3", partition=1)
    assert committed(world) == [b"3"]


@versions
def test_purged_records_rule_the_commit_out(version: int) -> None:
    """B542: what `purge` has taken back is missing."""
    world = world_of(version)
    with transactional(world, linger_ms=60_000) as producer:
        producer.begin_transaction()
        write(producer, b"1")
        assert producer.purge(1.0) == 1
        with pytest.raises(errors.DeliveryAbortedException):
            producer.commit_transaction(5.0)
        producer.abort_transaction(5.0)
        with producer.transaction(5.0):
            write(producer, b"2")
    assert committed(world) == [b"2"]


@versions
def test_a_second_producer_fences_the_first(version: int) -> None:
    """B543: P56: the first hears so from its next end, and only `close` is left."""
    world = world_of(version)
    first = transactional(world)
    first.begin_transaction()
    write(first, b"first")
    first.flush(5.0)
    with transactional(world) as second:
        with pytest.raises(errors.ProducerFencedException, match="another producer") as raised:
            first.commit_transaction(5.0)
        assert (raised.value.fatal, raised.value.abortable) == (True, False)
        for call in (
            lambda: first.abort_transaction(5.0),
            first.begin_transaction,
            lambda: first.send("orders", b"v"),
        ):
            with pytest.raises(errors.ProducerFencedException):
                call()
        with second.transaction(5.0):
            write(second, b"second")
        assert first.close(5.0) == 0
        with second.transaction(5.0):
            write(second, b"again")
    assert committed(world) == [b"second", b"again"]


@versions
def test_a_fenced_producer_that_writes(version: int) -> None:
    """B543: the leader's word makes the transaction abortable, and the abort tells the rest."""
    world = world_of(version)
    first = transactional(world)
    with transactional(world) as second, first:
        first.begin_transaction()
        delivery = first.send("orders", b"first", partition=0)
        first.flush(5.0)
        assert delivery.exception(0) is not None
        with pytest.raises(errors.KafkaException):
            first.commit_transaction(5.0)
        if state(first) is TransactionState.ABORTABLE:
            with pytest.raises(errors.ProducerFencedException):
                first.abort_transaction(5.0)
        assert state(first) is TransactionState.FATAL
        with second.transaction(5.0):
            write(second, b"second")
    assert committed(world) == [b"second"]


@pytest.mark.parametrize("by", ["commit", "send"])
def test_open_for_too_long_with_version_2(by: str) -> None:
    """B551: P58: nothing of it is visible; an abort brings the next epoch, and all goes on."""
    world = world_of(2)
    with transactional(world, transaction_timeout_ms=10_000) as producer:
        producer.begin_transaction()
        write(producer, b"1")
        producer.flush(5.0)
        world.clock.sleep(30.0)
        if by == "send":
            write(producer, b"2", partition=1)
            producer.flush(5.0)
        with pytest.raises(errors.TransactionTimedOutException) as raised:
            producer.commit_transaction(5.0)
        assert (raised.value.abortable, raised.value.fatal) == (True, False)
        assert raised.value.timeout == 10.0
        assert raised.value.open_for == pytest.approx(30.0, abs=1.0)
        assert "transaction.timeout.ms=10000" in str(raised.value)
        producer.abort_transaction(5.0)
        with producer.transaction(5.0):
            write(producer, b"3")
    assert committed(world) == [b"3"]


@pytest.mark.parametrize("by", ["commit", "send"])
def test_open_for_too_long_with_version_1(by: str) -> None:
    """B551: P58: the producer is over with it; another one of the id goes on."""
    world = world_of(1)
    with transactional(world, transaction_timeout_ms=10_000) as producer:
        producer.begin_transaction()
        write(producer, b"1")
        producer.flush(5.0)
        world.clock.sleep(30.0)
        if by == "send":
            write(producer, b"2", partition=1)
            producer.flush(5.0)
        with pytest.raises(errors.TransactionTimedOutException) as raised:
            producer.commit_transaction(5.0)
        assert (raised.value.abortable, raised.value.fatal) == (False, True)
        with pytest.raises(errors.TransactionTimedOutException):
            producer.abort_transaction(5.0)
    with transactional(world) as another, another.transaction(5.0):
        write(another, b"3")
    assert committed(world) == [b"3"]


@versions
def test_a_member_that_has_lost_its_partitions(version: int) -> None:
    """B552: P59: CommitFailedException, abortable; the next transaction commits."""
    world = world_of(version)
    with transactional(world) as producer:
        for code in (22, 25, 82):
            producer.begin_transaction()
            write(producer, b"lost")
            world.control.fail("TxnOffsetCommit", code)
            with pytest.raises(errors.CommitFailedException) as raised:
                producer.send_offsets_to_transaction({A: OffsetAndMetadata(3)}, GROUP, 5.0)
            assert raised.value.abortable
            with pytest.raises(errors.CommitFailedException):
                producer.commit_transaction(5.0)
            producer.abort_transaction(5.0)
        with producer.transaction(5.0):
            write(producer, b"kept")
    assert committed(world) == [b"kept"]


def test_offsets_come_with_their_member() -> None:
    """B552: without the metadata of a group nothing would be fenced, so they are required."""
    with transactional(world_of(2)) as producer, producer.transaction(5.0):
        for arguments in (
            ({A: OffsetAndMetadata(1)}, "g"),
            ({A: OffsetAndMetadata(1)}, None),
            ({A: 1}, GROUP),
            ([(A, OffsetAndMetadata(1))], GROUP),
        ):
            with pytest.raises(TypeError):
                producer.send_offsets_to_transaction(*arguments)


# --- coordinators, in trouble -----------------------------------------------------------------


@versions
def test_a_transaction_before_that_is_still_completed(version: int) -> None:
    """B553: P61: CONCURRENT_TRANSACTIONS is retried within 20 ms, and is no error."""
    world = world_of(version)
    with transactional(world) as producer:
        api: ApiName = "Produce" if version == 2 else "AddPartitionsToTxn"
        with producer.transaction(5.0):
            write(producer, b"1")
        world.control.fail(api, 51, times=3)
        began = world.clock.time
        with producer.transaction(5.0):
            write(producer, b"2")
        if version == 1:
            assert world.clock.time - began < 0.2
    assert committed(world) == [b"1", b"2"]


@versions
@pytest.mark.parametrize("at", ["init", "send", "offsets", "commit", "abort"])
def test_a_coordinator_that_moves(version: int, at: str) -> None:
    """B554: it is looked up again, and each end has one outcome."""
    world = world_of(version, nodes=3)
    home = world.control.transaction_coordinator("t") or 1
    other = home % 3 + 1
    producer = world.producer(None, transactional_id="t")

    def step(name: str) -> None:
        if name == at:
            world.control.move_transaction_coordinator("t", other)
            world.control.move_coordinator("g", other)

    with producer:
        step("init")
        producer.init_transactions(10.0)
        for end in (producer.commit_transaction, producer.abort_transaction):
            producer.begin_transaction()
            step("send")
            write(producer, b"a")
            write(producer, b"b", partition=1)
            step("offsets")
            producer.send_offsets_to_transaction({A: OffsetAndMetadata(3)}, GROUP, 10.0)
            step("commit" if end == producer.commit_transaction else "abort")
            end(10.0)
    assert committed(world) == [b"a", b"b"]
    assert world.control.committed("g")[A].offset == 3


STEPS: tuple[ApiName, ...] = (
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "TxnOffsetCommit",
    "Produce",
    "EndTxn",
)


@versions
@pytest.mark.parametrize("api", STEPS)
@pytest.mark.parametrize(
    "fault", ["cut", "cut, applied", "loading", "moved", "moves", "a leader's code"]
)
def test_a_fault_at_each_step(version: int, api: ApiName, fault: str) -> None:
    """B554: the transaction is committed once, with all of its records and offsets."""
    world = world_of(version)
    with transactional(world, request_timeout_ms=2000) as producer:
        with producer.transaction(30.0):
            write(producer, b"0")
        match fault:
            case "cut" | "cut, applied":
                world.control.cut(api, applied="applied" in fault)
            case "loading" if api != "Produce":
                world.control.fail(api, 14)
            case "moved" if api != "Produce":
                world.control.fail(api, 16)
            case "a leader's code":
                # None of a coordinator's, but its class says that another attempt may succeed.
                world.control.fail(api, 6)
            case "moves" if api != "Produce":
                world.control.fail(api, 15)
            case _:
                world.control.fail(api, 19)
        with producer.transaction(30.0) as transaction:
            write(producer, b"1")
            write(producer, b"2", partition=1)
            transaction.send_offsets({A: OffsetAndMetadata(3)}, GROUP, 30.0)
        with producer.transaction(30.0):
            write(producer, b"3")
    assert committed(world) == [b"0", b"1", b"3", b"2"]
    assert world.control.committed("g")[A].offset == 3


@versions
@pytest.mark.parametrize("api", STEPS)
@pytest.mark.parametrize("code", [47, 48, 49, 53, 90, 120])
def test_a_refusal_at_each_step(version: int, api: ApiName, code: int) -> None:
    """B542, B543: abort the transaction, or end the producer; no reader sees it."""
    world = world_of(version)
    with transactional(world) as producer:
        rule = world.control.fail(api, code)
        producer.begin_transaction()
        failed: errors.KafkaException | None = None
        try:
            write(producer, b"lost")
            producer.flush(5.0)
            producer.send_offsets_to_transaction({A: OffsetAndMetadata(3)}, GROUP, 5.0)
            producer.commit_transaction(5.0)
        except errors.KafkaException as error:
            failed = error
        rule.undo()
        meets = version == 1 or api not in ("AddPartitionsToTxn", "AddOffsetsToTxn")
        assert (failed is not None) == meets
        if failed is not None:
            assert failed.fatal != failed.abortable
            if failed.abortable:
                producer.abort_transaction(5.0)
                with producer.transaction(5.0):
                    write(producer, b"next")
                assert committed(world) == [b"next"]
            else:
                with pytest.raises(type(failed)):
                    producer.begin_transaction()


# --- ends of the producer --------------------------------------------------------------------


@versions
def test_close_aborts_an_open_transaction(version: int) -> None:
    """B555: readers are not held up, and what was not sent is given up."""
    world = world_of(version)
    producer = transactional(world, linger_ms=60_000)
    producer.begin_transaction()
    write(producer, b"1")
    producer.flush(5.0)
    unsent = producer.send("orders", b"2", partition=1)
    assert producer.close(5.0) == 1
    assert isinstance(failure(unsent), errors.TransactionAbortedException)
    assert state_of(world) == "CompleteAbort"
    assert committed(world) == []


@versions
def test_close_while_the_coordinator_is_silent(version: int) -> None:
    """B555: P64: within its time; the coordinator aborts later by itself."""
    world = world_of(version)
    producer = transactional(world, transaction_timeout_ms=10_000)
    producer.begin_transaction()
    write(producer, b"1")
    producer.flush(5.0)
    with world.control.freeze():
        began = world.clock.time
        producer.close(2.0)
        assert world.clock.time - began <= 2.1
    world.clock.sleep(30.0)
    assert committed(world) == []


@versions
def test_close_leaves_a_commit_in_doubt_as_it_is(version: int) -> None:
    """B555: nothing is asked that could change its outcome."""
    world = world_of(version)
    producer = transactional(world)
    producer.begin_transaction()
    write(producer, b"v")
    with world.control.drop("EndTxn", applied=True), pytest.raises(errors.TimeoutException):
        producer.commit_transaction(1.0)
    world.control.forget_requests()
    assert producer.close(5.0) == 0
    assert asked(world) == []
    assert committed(world) == [b"v"]


def test_a_closed_producer_refuses_transactions() -> None:
    """B540: as every call of a closed producer."""
    producer = transactional(world_of(2))
    producer.close(5.0)
    with pytest.raises(errors.IllegalStateException, match="closed"):
        producer.begin_transaction()
    with pytest.raises(errors.IllegalStateException, match="closed"):
        producer.send("orders", b"v")


def test_a_feature_raised_between_two_transactions() -> None:
    """B545: P62: each transaction keeps its protocol, and the next one goes by the new."""
    world = world_of(1)
    with transactional(world) as producer:
        with producer.transaction(5.0):
            write(producer, b"1")
        world.control.finalize("transaction.version", 2)
        world.control.disconnect()
        with producer.transaction(10.0):
            write(producer, b"2")
        world.control.forget_requests()
        with producer.transaction(10.0):
            write(producer, b"3")
        assert "AddPartitionsToTxn" not in asked(world)
    assert committed(world) == [b"1", b"2", b"3"]


@versions
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (50, errors.InvalidTxnTimeoutException),
        (53, errors.TransactionalIdAuthorizationException),
    ],
)
def test_a_refused_initialisation(
    version: int, code: int, kind: type[errors.KafkaException]
) -> None:
    """B262: it is raised, nothing is begun, and the same call may succeed later."""
    world = world_of(version)
    with world.producer(None, transactional_id="t") as producer:
        with world.control.fail("InitProducerId", code), pytest.raises(kind):
            producer.init_transactions(5.0)
        with pytest.raises(errors.IllegalStateException, match="init_transactions again"):
            producer.begin_transaction()
        producer.init_transactions(5.0)
        with producer.transaction(5.0):
            write(producer, b"v")
    assert committed(world) == [b"v"]


@versions
def test_a_coordinator_that_knows_of_no_transaction(version: int) -> None:
    """B576: long before its timeout nobody is told of that; an abort goes on by version 2."""
    world = world_of(version)
    with transactional(world) as producer:
        producer.begin_transaction()
        write(producer, b"lost")
        producer.flush(5.0)
        with (
            world.control.fail("EndTxn", 48),
            pytest.raises(errors.InvalidTxnStateException, match="knows of no open") as raised,
        ):
            producer.commit_transaction(5.0)
        assert raised.value.fatal is (version == 1)
        assert raised.value.abortable is (version == 2)
        if version == 2:
            producer.abort_transaction(5.0)
            with producer.transaction(5.0):
                write(producer, b"next")
            assert committed(world, A) == [b"next"]


@versions
def test_the_right_to_the_transactional_id_is_missing(version: int) -> None:
    """B574: each error names the id; granted, the call succeeds; lost later, it is fatal."""
    world = world_of(version)
    missing = "transactional.id=t: the right to write to it is missing"
    kind = errors.TransactionalIdAuthorizationException
    with world.producer(None, transactional_id="t") as producer:
        with world.control.deny(transaction="t"), pytest.raises(kind, match=missing) as raised:
            producer.init_transactions(5.0)
        assert not raised.value.fatal
        producer.init_transactions(5.0)
        producer.begin_transaction()
        write(producer, b"1")
        producer.flush(5.0)
        with world.control.deny(transaction="t"):
            write(producer, b"2")
            with pytest.raises(kind, match=missing) as raised:
                producer.commit_transaction(5.0)
            assert raised.value.fatal
            with pytest.raises(kind, match=missing):
                producer.abort_transaction(5.0)
    with transactional(world) as producer, producer.transaction(60.0):
        write(producer, b"3")
    assert committed(world, A) == [b"3"]


@versions
def test_a_failed_transaction_is_told_once(
    version: int, caplog: pytest.LogCaptureFixture
) -> None:
    """One line with the id, the error and the way out; none for an abort that is wanted."""
    world = world_of(version)
    with transactional(world, linger_ms=60_000) as producer:
        producer.begin_transaction()
        write(producer, b"unsent")
        producer.abort_transaction(5.0)
        assert not caplog.records
        producer.begin_transaction()
        world.control.fail("Produce", 29)
        write(producer, b"1")
        producer.flush(5.0)
        producer.abort_transaction(5.0)
    told = [each.getMessage() for each in caplog.records]
    [line] = [each for each in told if "cannot be committed" in each]
    assert "a transaction of t cannot be committed, abort the transaction: not allowed" in line
