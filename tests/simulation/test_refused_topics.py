"""Topics that metadata refuse: the next call asks again, and records in batches wait."""

import pytest

from prokurist import KafkaProducer, errors
from prokurist.errors.codes import by_code
from prokurist.testing.cluster.control import Control
from tests.simulation.producing import TP, made
from tests.simulation.world import World

UNHEARD_OF = 32000
FATAL = (17, 29)
CODES = (-1, *FATAL, 31, 35, 38, 42, 44, 60, 79, 87, UNHEARD_OF)


def refused(producer: KafkaProducer, topic: str = "orders") -> BaseException:
    """The error that a record for a topic fails with in `send`."""
    delivery = producer.send(topic, b"v")
    assert delivery.done()
    error = delivery.exception(0)
    assert error is not None
    return error


def questions(control: Control) -> int:
    """The number of requests for metadata that brokers have read."""
    return len(control.requests("Metadata"))


@pytest.mark.parametrize("code", CODES)
def test_the_call_after_the_refusal_is_over_works(code: int) -> None:
    """B440: `send` and `partitions_for` ask afresh, whatever an earlier call was answered."""
    world = World()
    with world.producer(max_block_ms=2000) as producer:
        with world.control.fail("Metadata", code, times=None, whole=False):
            error = refused(producer)
            if code in FATAL:
                assert isinstance(error, by_code()[code])
            else:
                assert isinstance(error, errors.TimeoutException)
                assert isinstance(
                    error.last_error, by_code().get(code, errors.UnknownServerException)
                )
            with pytest.raises(errors.KafkaException):
                producer.partitions_for("orders")
        began = world.clock.time
        assert producer.send("orders", b"v").result(5.0).offset == 0
        assert world.clock.time - began < 1.3
        assert producer.partitions_for("orders")


@pytest.mark.parametrize("code", FATAL)
def test_a_refusal_that_lasts_ends_each_call_at_once(code: int) -> None:
    """B440: a name that is refused and a missing right are raised, not waited for."""
    world = World()
    with (
        world.control.fail("Metadata", code, times=None, whole=False),
        world.producer() as producer,
    ):
        for _ in range(5):
            began = world.clock.time
            assert isinstance(refused(producer), by_code()[code])
            assert world.clock.time - began < 1.3


@pytest.mark.parametrize("topics", [["a"], ["a", "b"], ["a", "b", "c", "d"]])
def test_sends_in_a_loop_ask_once_a_back_off(topics: list[str]) -> None:
    """B440: for each topic that is refused, also where a loop goes round several of them."""
    world = World(topics=dict.fromkeys(topics, 1))
    with world.producer(retry_backoff_ms=100) as producer:
        for topic in topics:
            world.control.deny(topic=topic)
        began = world.clock.time
        while world.clock.time - began < 10.0:
            for topic in topics:
                assert isinstance(refused(producer, topic), errors.TopicAuthorizationException)
        assert questions(world.control) <= len(topics) * (10.0 / 0.08 + 1)


@pytest.mark.parametrize("code", sorted({*CODES, *by_code()} - {*FATAL, 129}))
def test_an_error_that_passes_fails_no_batch(code: int) -> None:
    """B441: of a topic that is known, for every code but those that do not pass."""
    world = World()
    producer, sender = made(world, linger_ms=1000)
    world.control.fail("Metadata", code, times=1, whole=False)
    delivery = producer.send("orders", b"v", partition=0)
    sender.side.metadata.request_update()
    sender.network.wake()
    assert delivery.result(5.0).offset == 1
    producer.close(1.0)


@pytest.mark.parametrize("code", FATAL)
def test_an_error_that_does_not_pass_fails_what_waits(code: int) -> None:
    """B441: a name that is refused and a missing right, at once and by their own exception."""
    world = World()
    producer, sender = made(world, linger_ms=1000)
    with world.control.fail("Metadata", code, times=None, whole=False):
        began = world.clock.time
        delivery = producer.send("orders", b"v", partition=0)
        sender.side.metadata.request_update()
        sender.network.wake()
        assert isinstance(delivery.exception(5.0), by_code()[code])
        assert world.clock.time - began < 1.0
    assert producer.send("orders", b"v").result(5.0)
    producer.close(1.0)


@pytest.mark.parametrize("code", [-1, 38, UNHEARD_OF])
def test_an_error_that_lasts_is_named_when_the_time_is_over(code: int) -> None:
    """B441: by the records that wait until `delivery.timeout.ms` for a leader."""
    world = World(nodes=2, topics={})
    world.control.create_topic("orders", 1, replication=1)
    producer, sender = made(world, delivery_timeout_ms=5000, request_timeout_ms=2000)
    world.control.kill(world.control.leader(TP)[0])
    sender.side.metadata.request_update()
    sender.network.wake()
    world.clock.sleep(3.0)
    with world.control.fail("Metadata", code, times=None, whole=False):
        error = producer.send("orders", b"v").exception(10.0)
        assert isinstance(error, errors.TimeoutException)
        assert isinstance(error.last_error, by_code().get(code, errors.UnknownServerException))
        assert type(error.last_error).__name__ in str(error)
    producer.close(1.0)
