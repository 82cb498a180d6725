"""A client that is over a quota: what its calls and polls say of it, in virtual time."""

from typing import Any

import pytest

from prokurist import EmptyCause, KafkaConsumer, TopicPartition, errors
from tests.simulation.joining import grouped
from tests.simulation.world import World

TP = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)
NOT_LEADER = 6


def reader(world: World, **keys: Any) -> KafkaConsumer:
    """A consumer that has read what there is of one partition of each broker."""
    consumer = world.consumer(auto_offset_reset="earliest", enable_auto_commit=False, **keys)
    consumer.assign([TP, OTHER])
    while not consumer.at_end():
        consumer.poll(1.0)
    return consumer


@pytest.mark.parametrize(
    ("api", "call"),
    [
        ("OffsetFetch", lambda consumer: consumer.committed([TP], timeout=0.5)),
        ("OffsetCommit", lambda consumer: consumer.commit_sync(timeout=0.5)),
        ("ListOffsets", lambda consumer: consumer.offsets_for_times({TP: 0}, timeout=0.5)),
        ("Metadata", lambda consumer: consumer.list_topics(timeout=0.5)),
    ],
)
def test_a_call_that_a_quota_holds_back_says_so(api: str, call: object) -> None:
    """B427: the connection stands, and is no part of what the call has waited for."""
    world = grouped(partitions=2, records=3)
    with reader(world) as consumer:
        with world.control.throttle(api, 10.0, times=1):  # type: ignore[arg-type]
            call(consumer)  # type: ignore[operator]
        with pytest.raises(errors.TimeoutException) as caught:
            call(consumer)  # type: ignore[operator]
        told = str(caught.value)
        assert "which throttles this client, as it is over a quota" in told
        assert "connection" not in told


def test_calls_to_several_brokers_name_the_one_that_throttles() -> None:
    """B427: others are waited for as well, for their connections."""
    world = grouped(partitions=2, nodes=2, records=3)
    with reader(world) as consumer:
        one = world.cluster.state.topics["orders"].partitions[0].leader
        with world.control.throttle("ListOffsets", 10.0, node=one, times=1):
            consumer.offsets_for_times({TP: 0, OTHER: 0}, timeout=0.5)
        with pytest.raises(errors.TimeoutException) as caught:
            consumer.offsets_for_times({TP: 0, OTHER: 0}, timeout=0.5)
        (wait,) = {each.reason for each in caught.value.waits if "throttles" in each.reason}
        assert wait.startswith(f"broker {one} ")


@pytest.mark.parametrize("request_timeout_ms", [1_000, 30_000])
def test_a_poll_that_a_quota_keeps_empty_says_so(request_timeout_ms: int) -> None:
    """B428: also where no broker has answered for long, as the only one asks for silence.

    The next fetch may be given up in the queue meanwhile.
    """
    world = grouped(partitions=2, records=3)
    with reader(world, request_timeout_ms=request_timeout_ms) as consumer:
        with world.control.throttle("Fetch", 30.0, times=1):
            consumer.poll(1.0)
        for seconds in (0.5, 10.0):
            why = consumer.poll(seconds).why_empty
            assert why is not None
            assert why.cause is EmptyCause.THROTTLED
            assert why.partitions == (TP, OTHER)
            assert why.text.startswith("this client is over a quota, and throttled by broker 1")
            assert why.text.endswith("; not read meanwhile: orders-0, orders-1")
        assert consumer.wait_until_ready(1.0) == {TP, OTHER}
        consumer.poll(30.0)
        why = consumer.poll(1.0).why_empty
        assert why is not None
        assert why.cause is EmptyCause.NOTHING_NEW


def test_what_another_broker_leads_is_read_beside() -> None:
    """B428: the partitions are named that the throttling holds up, and no others."""
    world = grouped(partitions=2, nodes=2, records=3)
    with reader(world) as consumer:
        one = world.cluster.state.topics["orders"].partitions[1].leader
        with world.control.throttle("Fetch", 30.0, node=one, times=1):
            consumer.poll(1.0)
        why = consumer.poll(1.0).why_empty
        assert why is not None
        assert why.cause is EmptyCause.THROTTLED
        assert why.partitions == (OTHER,)
        world.control.disconnect()
        consumer.poll(2.0)
        why = consumer.poll(1.0).why_empty
        assert why is not None
        assert why.cause is EmptyCause.NOTHING_NEW


def test_records_that_a_quota_holds_back_say_so() -> None:
    """B427: `flush`, a wait for a delivery and the delivery, also after another error."""
    world = grouped(partitions=2)
    with world.producer(delivery_timeout_ms=8_000, request_timeout_ms=2_000) as producer:
        with world.control.fail("Produce", NOT_LEADER, partition=0):
            refused = producer.send("orders", b"v", partition=0)
            with pytest.raises(errors.TimeoutException):
                producer.flush(0.02)
        with world.control.throttle("Produce", 20.0, times=1):
            producer.send("orders", b"v", partition=1).result(0.02)
        with pytest.raises(errors.TimeoutException) as flushing:
            producer.flush(2.0)
        with pytest.raises(errors.TimeoutException) as asking:
            refused.result(1.0)
        for told in (flushing.value, asking.value):
            assert "which throttles this client, as it is over a quota" in str(told)
        (wait,) = flushing.value.waits
        assert wait.ended - wait.started == pytest.approx(2.0)
        error = refused.exception(10.0)
        assert isinstance(error, errors.TimeoutException)
        assert isinstance(error.last_error, errors.NotLeaderOrFollowerException)
        assert "which throttles this client, as it is over a quota" in str(error)
        assert 7.0 < error.waits[0].ended - error.waits[0].started <= 8.0
        producer.purge()


def test_a_quota_of_another_broker_is_none_of_a_deliverys_business() -> None:
    """B427: only what its own leader asks for has kept it."""
    world = grouped(partitions=2, nodes=2)
    first, second = (each.leader for each in world.cluster.state.topics["orders"].partitions)
    with world.producer(delivery_timeout_ms=4_000, request_timeout_ms=2_000) as producer:
        with world.control.throttle("Produce", 20.0, node=first, times=1):
            producer.send("orders", b"v", partition=0).result(1.0)
        with world.control.fail("Produce", NOT_LEADER, node=second, times=None):
            error = producer.send("orders", b"v", partition=1).exception(10.0)
    assert isinstance(error, errors.TimeoutException)
    assert "throttles" not in str(error)
