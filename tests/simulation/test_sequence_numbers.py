"""Sequence numbers of an idempotent producer: P37 to P41."""

import logging

import pytest

from prokurist import KafkaProducer, TopicPartition, errors
from prokurist.network_thread.produce.producer_ids import LAST_EPOCH, ProducerId
from tests.simulation.producing import (
    TP,
    failure,
    failure_of,
    made,
    produced,
    sequences,
    values_of,
)
from tests.simulation.world import Sender, World


def test_a_batch_that_expires_unsent() -> None:
    """P37, B227, B315: nothing has happened, and there is no gap and no new epoch."""
    world = World()
    producer, _ = made(world, request_timeout_ms=900, delivery_timeout_ms=1000)
    with producer, world.control.kill(1):
        world.clock.sleep(0.1)
        delivery = producer.send("orders", b"lost", partition=0)
        world.clock.sleep(2.0)
        error = failure(delivery)
        assert isinstance(error, errors.TimeoutException)
        assert not error.may_have_happened
        assert not error.attempts
        assert error.last_error is not None
    with producer:
        pass
    assert sequences(world) == [(0, 0)]


def test_after_one_that_expired_unsent_the_numbers_go_on() -> None:
    """P37: the next batch has the next number."""
    world = World()
    producer, _ = made(world, request_timeout_ms=900, delivery_timeout_ms=1000)
    with producer:
        with world.control.kill(1):
            world.clock.sleep(0.1)
            lost = producer.send("orders", b"lost", partition=0)
            world.clock.sleep(2.0)
            failure(lost)
        assert producer.send("orders", b"kept", partition=0).result().offset == 1
    assert sequences(world) == [(0, 0), (0, 1)]


def test_expired_with_unknown_fate() -> None:
    """P38, B243: no new numbers until its flight has ended, then a new epoch from 0."""
    world = World()
    producer, _ = made(world, request_timeout_ms=2000, delivery_timeout_ms=2500)
    with producer:
        world.control.drop("Produce", times=2)
        lost = producer.send("orders", b"lost", partition=0)
        world.clock.sleep(2.2)
        late = producer.send("orders", b"late", partition=0)
        world.clock.sleep(1.0)
        assert failure(lost).may_have_happened  # type: ignore[attr-defined]
        assert late.result().offset == 1
    assert values_of(world) == [b"warm", b"late"]
    assert sequences(world)[-1] == (1, 0)


def test_expired_and_resolved_by_a_later_batch() -> None:
    """P39: it, or one behind it, was acknowledged in the end: no new epoch."""
    world = World()
    producer, _ = made(world, request_timeout_ms=2450, delivery_timeout_ms=2500)
    with producer:
        world.control.fail("Produce", 19, times=1)
        lost = producer.send("orders", b"there", partition=0)
        world.clock.sleep(0.05)
        world.control.answer_late("Produce", 2.43, times=1)
        behind = producer.send("orders", b"behind", partition=0)
        world.clock.sleep(3.0)
        assert failure(lost).may_have_happened  # type: ignore[attr-defined]
        assert behind.done()
        kept = producer.send("orders", b"kept", partition=0)
        kept.result()
    assert values_of(world) == [b"warm", b"there", b"behind", b"kept"]
    assert {epoch for epoch, _ in sequences(world)} == {0}


def test_a_leader_that_lost_records_gets_a_new_epoch(caplog: pytest.LogCaptureFixture) -> None:
    """B242: what was acknowledged is gone by an unclean election: a new epoch, once."""
    world = World(nodes=3)
    producer, _ = made(world, batch_size=1)
    with producer, caplog.at_level(logging.WARNING):
        for number in range(5):
            producer.send("orders", b"%d" % number, partition=0)
            producer.flush(5.0)
        world.control.truncate(TP, 3)
        deliveries = [
            producer.send("orders", b"new%d" % each, partition=0) for each in range(3)
        ]
        producer.flush(5.0)
        assert [each.result().offset for each in deliveries] == [3, 4, 5]
    assert values_of(world) == [b"warm", b"0", b"1", b"new0", b"new1", b"new2"]
    assert [each for each in sequences(world) if each[0]] == [(1, 0)]
    events = [each.event for each in caplog.records]  # type: ignore[attr-defined]
    assert events.count("producer_epoch_bumped") == 1


def test_a_new_epoch_after_a_failure_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Of the failure the log has told; and whether the batch is there is not known."""
    world = World()
    producer, _ = made(world, delivery_timeout_ms=2000, request_timeout_ms=1000)
    with producer, caplog.at_level(logging.DEBUG):
        fault = world.control.delay("Produce", 5.0)
        late = producer.send("orders", b"late", partition=0)
        assert isinstance(late.exception(), errors.TimeoutException)
        fault.undo()
        producer.send("orders", b"next", partition=0).result(20.0)
    (told,) = (each for each in caplog.records if "begin again" in each.getMessage())
    assert "may lack it" in told.getMessage()
    assert (told.levelno, vars(told)["event"]) == (logging.DEBUG, "sequence_restarted")


def test_a_leader_that_lost_records_while_others_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B423: the new epoch is for what failed, and its offset tells what is gone."""
    world = World()
    producer, _ = made(world, delivery_timeout_ms=2000, request_timeout_ms=1000, batch_size=1)
    with producer:
        for number in range(5):
            producer.send("orders", b"%d" % number, partition=0).result(5.0)
        with world.control.kill(1):
            assert isinstance(producer.send("orders", b"-", partition=0).exception(), Exception)
            world.control.truncate(TP, 3)
        fault = world.control.delay("Produce", 5.0)
        late = producer.send("orders", b"late", partition=0)
        assert isinstance(late.exception(), errors.TimeoutException)
        fault.undo()
        for number in range(2):
            producer.send("orders", b"%d" % number, partition=0).result(20.0)
    events = [vars(each)["event"] for each in caplog.records]
    assert events.count("producer_epoch_bumped") == 1


@pytest.mark.parametrize("one_fails", [True, False])
def test_a_topic_that_was_created_again_lacks_nothing(
    caplog: pytest.LogCaptureFixture, *, one_fails: bool
) -> None:
    """B423: what its predecessor had acknowledged says nothing of its own log."""
    world = World()
    producer, _ = made(world, delivery_timeout_ms=2000, request_timeout_ms=1000, batch_size=1)
    with producer, caplog.at_level(logging.INFO):
        for number in range(5):
            producer.send("orders", b"%d" % number, partition=0).result(5.0)
        world.control.delete_topic("orders")
        if one_fails:
            error = producer.send("orders", b"-", partition=0).exception()
            assert isinstance(error, errors.TimeoutException)
        world.control.create_topic("orders", 1)
        for number in range(2):
            assert producer.send("orders", b"", partition=0).result(20.0).offset == number
    events = {vars(each)["event"] for each in caplog.records}
    assert "producer_epoch_bumped" not in events


def made_again_and_known(world: World, sender: Sender) -> None:
    """Have the topic created again, and the producer know its new id."""
    world.control.recreate_topic("orders")
    metadata = sender.side.metadata
    former = metadata.cluster.id_of("orders")
    world.clock.sleep(0.15)
    assert metadata.cluster.id_of("orders") not in (None, former)


@pytest.mark.parametrize("code", [3, 6])
def test_a_leader_of_a_topic_that_was_created_again_refuses_the_first(
    code: int, caplog: pytest.LogCaptureFixture
) -> None:
    """B431: it has none of the numbers: the second waits until it has taken the first."""
    world = World()
    producer, sender = made(world, batch_size=1, metadata_max_age_ms=100)
    with producer, caplog.at_level(logging.WARNING):
        made_again_and_known(world, sender)
        with world.control.delay("Produce", 0.05):
            world.control.fail("Produce", code, topic="orders", times=1)
            deliveries = []
            for number in range(5):
                deliveries.append(producer.send("orders", b"%d" % number, partition=0))
                world.clock.sleep(0.002)
            producer.flush(10.0)
        assert [each.result(0).offset for each in deliveries] == list(range(5))
        world.control.forget_requests()
        with world.control.delay("Produce", 0.05):
            for number in range(5):
                producer.send("orders", b"%d" % number, partition=0)
                world.clock.sleep(0.002)
            assert len(produced(world)) == 5, "they do not wait any more"
            producer.flush(10.0)
    assert values_of(world) == [b"%d" % number for number in range(5)] * 2
    assert not caplog.records


@pytest.mark.parametrize("is_appended", [False, True])
def test_a_topic_is_created_again_while_a_batch_is_on_the_wire(
    caplog: pytest.LogCaptureFixture,
    *,
    is_appended: bool,
) -> None:
    """B431: nothing is sent to the new one before the answer of the former has come.

    Nor does an answer that comes late, for a batch that the former topic has taken, count as
    one of the new topic's leader.
    """
    world = World()
    producer, sender = made(world, batch_size=1, metadata_max_age_ms=100)
    with producer, caplog.at_level(logging.WARNING):
        slow = world.control.answer_late if is_appended else world.control.delay
        slow("Produce", 0.3, times=1)
        sent = [producer.send("orders", b"0", partition=0)]
        world.clock.sleep(0.05)
        made_again_and_known(world, sender)
        world.control.fail("Produce", 6, topic="orders", times=1)
        world.control.delay("Produce", 0.05)
        sent.append(producer.send("orders", b"1", partition=0))
        world.clock.sleep(0.1)
        for number in range(2, 5):
            sent.append(producer.send("orders", b"%d" % number, partition=0))
            world.clock.sleep(0.002)
        producer.flush(10.0)
        assert all(each.exception(0) is None for each in sent)
    assert values_of(world) == [b"%d" % number for number in range(is_appended, 5)]
    assert not caplog.records


def test_a_new_epoch_after_each_refused_batch_is_no_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It happens with every batch that a broker refuses; `delivery_failed` tells of those."""
    world = World()
    producer, _ = made(world, batch_size=1)
    with producer:
        for each in range(3):
            world.control.fail("Produce", 87, topic="orders", times=1)
            refused = producer.send("orders", b"bad", partition=0)
            behind = producer.send("orders", b"%d" % each, partition=0)
            producer.flush(5.0)
            assert isinstance(failure(refused), errors.InvalidRecordException)
            assert behind.done()
        producer.send("orders", b"last", partition=0).result(5.0)
    assert {epoch for epoch, _ in sequences(world)} > {0}
    assert {vars(each)["event"] for each in caplog.records} == {"delivery_failed"}


@pytest.mark.parametrize("code", [59, 47])
def test_a_leader_that_does_not_know_the_producer_is_warned_of_once_a_minute(
    code: int, caplog: pytest.LogCaptureFixture
) -> None:
    """What it had acknowledged may be lost."""
    world = World()
    producer, _ = made(world)
    with producer:
        for _ in range(3):
            world.control.fail("Produce", code, topic="orders", times=1)
            producer.send("orders", b"v", partition=0).result(5.0)
    (line,) = caplog.records
    assert vars(line)["event"] == "producer_epoch_bumped"
    assert "its leader lacks records that it has acknowledged, or does" in line.getMessage()


def test_a_forgotten_producer_goes_on() -> None:
    """P40: a broker that has forgotten takes any number; nothing is lost or twice."""
    world = World()
    producer, _ = made(world)
    with producer:
        producer.send("orders", b"a", partition=0).result(1.0)
        world.control.forget_producers()
        assert producer.send("orders", b"b", partition=0).result(1.0).offset == 2
    assert values_of(world) == [b"warm", b"a", b"b"]


@pytest.mark.parametrize("code", [59, 47])
def test_codes_that_begin_the_numbers_again(code: int) -> None:
    """P40: UNKNOWN_PRODUCER_ID with a deleted log, and INVALID_PRODUCER_EPOCH."""
    world = World()
    producer, _ = made(world)
    with producer:
        producer.send("orders", b"a", partition=0).result(1.0)
        world.control.fail("Produce", code, times=1)
        assert producer.send("orders", b"b", partition=0).result(5.0).offset == 2
    assert values_of(world) == [b"warm", b"a", b"b"]


def test_the_last_epoch_is_followed_by_another_id() -> None:
    """P41: other partitions are unharmed."""
    world = World()
    producer, sender = made(world, request_timeout_ms=2000, delivery_timeout_ms=2500)
    with producer:
        ids = sender.side.produce._ids
        assert ids is not None
        assert ids.current is not None
        first = ids.current.id
        ids.current = ProducerId(first, LAST_EPOCH)
        producer.send("orders", b"other", partition=1).result(5.0)
        producer.send("orders", b"a", partition=0).result(5.0)
        world.control.drop("Produce", times=2)
        producer.send("orders", b"lost", partition=0)
        world.clock.sleep(5.0)
        producer.send("orders", b"b", partition=0).result(5.0)
        producer.send("orders", b"other", partition=1).result(5.0)
        assert ids.current.id != first
        assert ids.current.epoch == 0
    assert values_of(world) == [b"warm", b"a", b"b"]
    assert values_of(world, TopicPartition("orders", 1)) == [b"other", b"other"]


def test_without_rights_to_write_idempotently() -> None:
    """B263: every record fails with what to do; the next one asks again."""
    world = World()
    sender = world.sender(linger_ms=0)
    producer = KafkaProducer.wired(sender.config, world.clock, sender.side)
    with producer:
        fault = world.control.fail("InitProducerId", 31)
        error = failure_of(producer)
        assert isinstance(error, errors.ClusterAuthorizationException)
        assert "enable.idempotence=False" in str(error)
        fault.undo()
        assert producer.send("orders", b"v", partition=0).result(5.0).offset == 0


def test_a_number_that_the_leader_knows_is_delivered() -> None:
    """B242: DUPLICATE_SEQUENCE: the batch is there, and is not written again."""
    world = World()
    producer, _ = made(world)
    with producer:
        world.control.fail("Produce", 46, applied=True, times=1)
        assert producer.send("orders", b"v", partition=0).exception(5.0) is None
        assert producer.send("orders", b"w", partition=0).result(5.0).offset == 2
    assert values_of(world) == [b"warm", b"v", b"w"]


@pytest.mark.parametrize("code", [3, 6, 19])
def test_several_in_flight_to_a_leader_that_has_no_number_yet(code: int) -> None:
    """P33: it takes any number as the first: the second batch waits until it has the first."""
    world = World()
    producer, _ = made(world, batch_size=1)
    with producer:
        with world.control.delay("Produce", 0.05):
            world.control.fail("Produce", code, times=1)
            deliveries = []
            for number in range(5):
                deliveries.append(producer.send("orders", b"%d" % number, partition=1))
                world.clock.sleep(0.002)
            producer.flush(10.0)
        assert [each.result(0).offset for each in deliveries] == list(range(5))
        world.control.forget_requests()
        with world.control.delay("Produce", 0.05):
            for number in range(5):
                producer.send("orders", b"%d" % number, partition=1)
                world.clock.sleep(0.002)
            assert len(produced(world)) == 5, "they do not wait any more"
            producer.flush(10.0)


def test_a_leader_that_has_forgotten_an_idle_producer() -> None:
    """P33: as one that has no number yet: it would take the second batch as the first."""
    world = World()
    producer, _ = made(world, batch_size=1)
    with producer:
        world.clock.sleep(100.0)
        world.control.forget_producers()
        with world.control.delay("Produce", 0.05):
            world.control.fail("Produce", 6, times=1)
            for number in range(5):
                producer.send("orders", b"%d" % number, partition=0)
                world.clock.sleep(0.002)
            producer.flush(10.0)
    assert values_of(world)[1:] == [b"%d" % number for number in range(5)]
