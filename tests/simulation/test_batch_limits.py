"""Topics whose `max.message.bytes` is below `max.request.size`, for good or for a while."""

import pytest

from prokurist import Delivery, KafkaProducer, errors
from tests.simulation.producing import batches_of, failure, made, produced, values_of
from tests.simulation.world import World


@pytest.mark.parametrize("lost", ["cut", "drop"])
def test_a_batch_that_its_broker_may_have_is_not_split(lost: str) -> None:
    """B432: its parts would be written again: it fails, and may have happened."""
    world = World()
    producer, _ = made(world, batch_size=16_384, request_timeout_ms=1000)
    with producer:
        fault = world.control.cut if lost == "cut" else world.control.drop
        fault("Produce", applied=True, times=1)
        values = [b"%02d" % number * 100 for number in range(20)]
        sent = [producer.send("orders", value, partition=0) for value in values]
        world.clock.sleep(0.01)
        world.control.configure_topic("orders", max_message_bytes=1500)
        producer.flush(10.0)
        for each in sent:
            error = failure(each)
            assert isinstance(error, errors.RecordTooLargeException)
            assert error.may_have_happened
            assert "has no known outcome" in str(error)
        later = [producer.send("orders", b"%d" % number, partition=0) for number in range(3)]
        producer.flush(10.0)
        assert [each.result(0).offset for each in later] == [21, 22, 23]
    assert values_of(world) == [b"warm", *values, b"0", b"1", b"2"]


def test_a_batch_that_its_broker_cannot_have_is_split() -> None:
    """B432: each earlier attempt was refused, or its connection ended before it was written."""
    world = World()
    producer, _ = made(world, batch_size=16_384)
    with producer:
        world.control.fail("Produce", 19, times=70)
        values = [b"%02d" % number * 100 for number in range(20)]
        sent = [producer.send("orders", value, partition=0) for value in values]
        world.clock.sleep(0.01)
        world.control.configure_topic("orders", max_message_bytes=1500)
        producer.flush(100.0)
        assert [each.result(0).offset for each in sent] == list(range(1, 21))
    assert values_of(world) == [b"warm", *values]


def test_a_lost_answer_is_remembered_behind_many_refusals() -> None:
    """B432: also by a ledger that shows no more of them."""
    world = World()
    producer, _ = made(
        world, retry_backoff_ms=100, retry_backoff_max_ms=100, request_timeout_ms=1000
    )
    with producer:
        refusals = world.control.fail("Produce", 19, times=35)
        sent = producer.send("orders", b"v" * 2000, partition=0)
        while len(produced(world)) < 35:
            world.clock.sleep(0.01)
        refusals.undo()
        world.control.cut("Produce", applied=True, times=1)
        while len(produced(world)) < 36:
            world.clock.sleep(0.01)
        world.control.fail("Produce", 19, times=60)
        while len(produced(world)) < 96:
            world.clock.sleep(0.01)
        world.control.configure_topic("orders", max_message_bytes=1500)
        error = failure_after(world, sent)
        assert isinstance(error, errors.RecordTooLargeException)
        assert error.may_have_happened
    assert values_of(world) == [b"warm", b"v" * 2000]


def failure_after(world: World, delivery: Delivery) -> BaseException:
    """Why a record fails within ten seconds."""
    world.clock.sleep(10.0)
    return failure(delivery)


def throughput(world: World, producer: KafkaProducer) -> float:
    """How many records a batch has, of some that are sent at once."""
    before = len(batches_of(world))
    sent = [producer.send("orders", b"x" * 100, partition=0) for _ in range(2000)]
    producer.flush(30.0)
    assert all(each.exception(0) is None for each in sent)
    return len(sent) / (len(batches_of(world)) - before)


def test_a_limit_that_was_lowered_for_a_while() -> None:
    """B430: batches are as large as before soon after it was put back."""
    world = World()
    producer, _ = made(world, linger_ms=20)
    with producer:
        assert throughput(world, producer) == 2000
        world.control.configure_topic("orders", max_message_bytes=1000)
        world.clock.sleep(1.0)
        assert throughput(world, producer) < 10
        world.control.configure_topic("orders", max_message_bytes=1_048_588)
        world.clock.sleep(2.0)
        for _ in range(8):
            throughput(world, producer)
        assert throughput(world, producer) == 2000


def test_a_limit_that_stays_low_is_tried_now_and_then() -> None:
    """B430: about ten trials in ten minutes, and what was sent during each is split once."""
    world = World()
    world.control.configure_topic("orders", max_message_bytes=20_000)
    producer, sender = made(world, linger_ms=20)
    counters = sender.side.endings.counters
    with producer:
        throughput(world, producer)
        before = counters.split
        for _ in range(120):
            assert throughput(world, producer) > 50
            world.clock.sleep(5.0)
        a_trial = 2000 * 130 // 20_000
        assert 0 < counters.split - before < 10 * a_trial


def test_records_that_expire_while_batches_are_small() -> None:
    """B430: the error names the limit, where nothing else stands in the way."""
    world = World()
    producer, _ = made(
        world,
        request_timeout_ms=900,
        delivery_timeout_ms=1000,
        batch_size=16_384,
    )
    with producer:
        world.control.configure_topic("orders", max_message_bytes=400)
        world.control.delay("Produce", 0.1)
        sent = []
        for _ in range(3):
            sent += [producer.send("orders", b"x" * 100, partition=0) for _ in range(500)]
            world.clock.sleep(0.3)
        world.clock.sleep(3.0)
        last = failure(sent[-1])
        assert isinstance(last, errors.TimeoutException)
        assert isinstance(last.last_error, errors.RecordTooLargeException)
        assert "Nothing was sent" in str(last)
        assert "raise max.message.bytes" in str(last)
