"""Transactions as the admin client lists, describes, fences and aborts them, on the model."""

from typing import Any

import pytest

from prokurist import KafkaProducer, TopicPartition
from prokurist.admin import HangingTransaction, KafkaAdmin, TransactionState
from prokurist.errors import (
    IllegalStateException,
    IncompleteListingException,
    KafkaException,
    UnsupportedVersionException,
)
from prokurist.errors.transactions import TransactionalIdNotFoundException
from tests.simulation.test_admin_engine import error_of
from tests.simulation.world import World

pytestmark = pytest.mark.usefixtures("closed_at_the_end")

ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def world() -> World:
    """Three brokers."""
    return World(nodes=3)


@pytest.fixture
def admin(world: World) -> KafkaAdmin:
    """An admin client that knows them."""
    admin = world.admin()
    admin.describe_cluster()
    world.control.forget_requests()
    return admin


def began(world: World, name: str) -> KafkaProducer:
    """A producer within a transaction, with a record in the log."""
    producer = world.producer(transactional_id=name, linger_ms=0)
    producer.init_transactions(10.0)
    producer.begin_transaction()
    producer.send("orders", b"1", partition=0)
    producer.flush(10.0)
    return producer


def hanging_in(world: World, admin: KafkaAdmin, name: str) -> HangingTransaction:
    """A transaction that its coordinator has forgotten."""
    began(world, name)
    world.control.forget_transaction(name)
    (found,) = admin.find_hanging(["orders"])
    return found


def test_transactions_are_listed_and_described(world: World, admin: KafkaAdmin) -> None:
    """B633: with state, producer and partitions; filtered by each of them."""
    began(world, "a-1")
    began(world, "b-1").commit_transaction(10.0)
    found = {each.transactional_id: each for each in admin.list_transactions()}
    assert found["a-1"].state == TransactionState.ONGOING
    assert found["b-1"].state == TransactionState.COMPLETE_COMMIT
    assert found["a-1"].coordinator == world.control.transaction_coordinator("a-1")
    number = found["a-1"].producer_id
    for filters in (
        {"states": ["Ongoing"]},
        {"producer_ids": [number]},
        {"pattern": "a-.*"},
    ):
        listed = admin.list_transactions(**filters)
        assert [each.transactional_id for each in listed] == ["a-1"]
    assert not admin.list_transactions(running_for=3600, states=["Ongoing"])
    described = admin.describe_transactions(["a-1", "nope"])
    assert described["a-1"].partitions == {ORDERS}
    assert described["a-1"].started is not None
    assert described["a-1"].producer_id == number
    assert isinstance(described.errors["nope"], TransactionalIdNotFoundException)


def test_filters_of_transactions_that_brokers_lack(world: World, admin: KafkaAdmin) -> None:
    """B620: a pattern is applied here; a duration is an error."""
    began(world, "a-1")
    began(world, "b-1")
    world.control.offer("ListTransactions", 0, 0)
    world.control.disconnect()
    assert [each.transactional_id for each in admin.list_transactions(pattern="b.*")] == ["b-1"]
    error = error_of(lambda: admin.list_transactions(running_for=1))
    assert isinstance(error, IncompleteListingException | UnsupportedVersionException)
    assert "duration" in str(error)


def test_a_look_begins_no_log_of_transactions(world: World, admin: KafkaAdmin) -> None:
    """B622: in a cluster without transactions nothing is looked up."""
    world.control.lose_coordinators()
    errors = admin.describe_transactions(["a", "b"]).errors
    assert all(isinstance(each, TransactionalIdNotFoundException) for each in errors.values())
    assert len(errors) == 2
    assert not world.control.requests("FindCoordinator")


def test_producers_are_fenced(world: World, admin: KafkaAdmin) -> None:
    """B634: the open transaction is aborted, and the producer can write no more."""
    producer = began(world, "a-1")
    fenced = admin.fence_producers(["a-1"], timeout=10)["a-1"]
    assert fenced.epoch > 0
    with pytest.raises(KafkaException):
        producer.commit_transaction(10.0)
    assert admin.describe_transactions(["a-1"])["a-1"].state != TransactionState.ONGOING


def test_fencing_is_not_repeated(world: World, admin: KafkaAdmin) -> None:
    """B634: its answer is lost: no second request, and it may have happened."""
    began(world, "a-1").commit_transaction(10.0)
    admin.describe_transactions(["a-1"])
    world.control.forget_requests()
    world.control.cut("InitProducerId", times=1, applied=True)
    error = admin.fence_producers(["a-1"], timeout=5).errors["a-1"]
    assert error.may_have_happened
    assert len(world.control.requests("InitProducerId")) == 1


def test_a_hanging_transaction_is_found_and_aborted(world: World, admin: KafkaAdmin) -> None:
    """B635, B657: open in a partition, and unknown to its coordinator."""
    began(world, "alive")
    found = hanging_in(world, admin, "gone")
    assert found.partition == ORDERS
    assert found.transactional_id is None
    assert found.producer.transaction_start == 1
    admin.abort_transaction(found)
    assert admin.find_hanging(["orders"]) == ()
    error = error_of(lambda: admin.abort_transaction(found))
    assert isinstance(error, IllegalStateException)
    assert "is over by now" in str(error)
    assert len(world.control.requests("WriteTxnMarkers")) == 1


def test_a_transaction_that_goes_on_is_not_aborted(world: World, admin: KafkaAdmin) -> None:
    """B635: its partition is looked at again before the marker is written."""
    began(world, "alive")
    (producer,) = admin.describe_producers([ORDERS])[ORDERS]
    assert producer.transaction_start is not None
    earlier = HangingTransaction(
        ORDERS,
        type(producer)(producer.producer_id, producer.epoch, 0, producer.last_at, None, 7),
        "alive",
    )
    error = error_of(lambda: admin.abort_transaction(earlier))
    assert isinstance(error, IllegalStateException)
    assert "has gone on" in str(error)
    assert not world.control.requests("WriteTxnMarkers")
    assert admin.find_hanging(broker=1, older=0) == ()


def test_an_abort_is_not_repeated(world: World, admin: KafkaAdmin) -> None:
    """B635: its answer is lost: one marker, and it may have happened."""
    found = hanging_in(world, admin, "gone")
    world.control.cut("WriteTxnMarkers", times=1, applied=True)
    error = error_of(lambda: admin.abort_transaction(found, timeout=5))
    assert error.may_have_happened
    assert len(world.control.requests("WriteTxnMarkers")) == 1


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda admin: admin.list_transactions(states=["Open"]), "PrepareCommit"),
        (lambda admin: admin.list_transactions(pattern="("), "regular expression"),
        (lambda admin: admin.list_transactions(producer_ids=["1"]), "a producer id"),
        (lambda admin: admin.find_hanging(), "by topic or broker"),
        (lambda admin: admin.abort_transaction("a"), "a HangingTransaction"),
        (lambda admin: admin.fence_producers("a"), "given as a collection"),
    ],
)
def test_bad_input_about_transactions_is_refused(world: World, call: Any, text: str) -> None:
    """B610: before anything is asked."""
    admin = world.admin()
    with pytest.raises((TypeError, ValueError), match=text):
        call(admin)
    assert not world.control.requests()
