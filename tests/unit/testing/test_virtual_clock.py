"""What users get of virtual time: `prokurist_clock`, and what it says when it is misused."""

import math
import time

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import ConfigException, TimeoutException, WakeupException
from prokurist.testing.virtual_time.clock import VirtualClock
from prokurist.types import OffsetAndMetadata, TopicPartition

TP = TopicPartition("orders", 0)


def test_hours_pass_at_once(prokurist_clock: VirtualClock) -> None:
    """A call takes the time to its deadline, to the moment; `advance` as far as it is told."""
    began, really = prokurist_clock.now(), time.monotonic()
    consumer = prokurist_clock.consumer(group_id="g")
    prokurist_clock.broker.freeze()
    with pytest.raises(TimeoutException):
        consumer.committed(TP, timeout=3600.0)
    assert prokurist_clock.now() == pytest.approx(began + 3600.0, abs=1e-6)
    prokurist_clock.advance(3600)
    assert prokurist_clock.now() == pytest.approx(began + 7200.0, abs=1e-6)
    assert time.monotonic() - really < 60.0


def test_time_stands_still_while_no_call_waits(prokurist_clock: VirtualClock) -> None:
    """What only computes costs none of it."""
    consumer = prokurist_clock.consumer()
    began = prokurist_clock.now()
    consumer.assign(TP)
    consumer.poll(0.0)
    assert prokurist_clock.now() == began


def test_heartbeats_go_on_while_time_passes(prokurist_clock: VirtualClock) -> None:
    """A member that computes for a session and more is still one."""
    consumer = prokurist_clock.consumer(group_id="g", group_protocol="consumer")
    consumer.subscribe("orders")
    while len(consumer.assignment()) < 3:
        consumer.poll(1.0)
    prokurist_clock.advance(120.0)
    assert len(prokurist_clock.broker.describe_group("g").members) == 1
    consumer.poll(0.0)
    assert len(consumer.assignment()) == 3


def test_what_is_planned_happens_while_a_call_waits(prokurist_clock: VirtualClock) -> None:
    """At its moment and in order, regardless of what the call waits for."""
    consumer = prokurist_clock.consumer()
    consumer.assign(TP)
    began, seen = prokurist_clock.now(), list[float]()
    prokurist_clock.after(7.0, consumer.wakeup)
    prokurist_clock.after(3.0, lambda: seen.append(prokurist_clock.now() - began))
    with pytest.raises(WakeupException):
        consumer.poll(60.0)
    assert seen == [pytest.approx(3.0)]
    assert prokurist_clock.now() == pytest.approx(began + 7.0)


def test_a_record_appended_meanwhile_ends_the_poll(prokurist_clock: VirtualClock) -> None:
    """The poll returns when it has come, and not at its deadline."""
    consumer = prokurist_clock.consumer()
    consumer.assign(TP)
    consumer.seek_to_beginning()
    began = prokurist_clock.now()
    prokurist_clock.after(5.0, lambda: prokurist_clock.broker.append(TP, b"here"))
    (record,) = consumer.poll(60.0)
    assert record.value == b"here"
    assert 5.0 < prokurist_clock.now() - began < 5.1


def test_consumers_share_a_group(prokurist_clock: VirtualClock) -> None:
    """Each has its part, though one thread runs all of them."""
    members = [prokurist_clock.consumer(group_id="g") for _ in range(3)]
    for each in members:
        each.subscribe("orders")
    for _ in range(60):
        for each in members:
            each.poll(0.5)
    assert [len(each.assignment()) for each in members] == [1, 1, 1]


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf])
def test_time_goes_on_and_to_an_end(prokurist_clock: VirtualClock, seconds: float) -> None:
    """Neither back nor on for ever, and the text has the value."""
    began = prokurist_clock.now()
    with pytest.raises(ValueError, match=f"from 0 on, and not without end: {seconds}"):
        prokurist_clock.advance(seconds)
    assert prokurist_clock.now() == began


def test_a_consumer_is_made_as_users_make_it(prokurist_clock: VirtualClock) -> None:
    """From a mapping or keywords, checked alike; the brokers' addresses may be given."""
    with pytest.raises(ConfigException, match=r"group\.idd"):
        prokurist_clock.consumer({"group.idd": "g"})
    for config in ({}, {"bootstrap.servers": prokurist_clock.bootstrap}):
        consumer = prokurist_clock.consumer(config, group_id="g")
        consumer.commit_sync({TP: OffsetAndMetadata(3)})
    consumer = prokurist_clock.consumer(bootstrap_servers=prokurist_clock.bootstrap)
    assert consumer.end_offsets(TP) == {TP: 0}


def test_what_the_test_leaves_open_is_closed(recwarn: pytest.WarningsRecorder) -> None:
    """Also where a broker was left frozen, or out of order: no warning, nothing left."""
    clock = VirtualClock(1, {"orders": 3})
    consumer: KafkaConsumer | None = clock.consumer(group_id="g")
    assert consumer is not None
    consumer.commit_sync({TP: OffsetAndMetadata(3)})
    consumer.commit_async({TP: OffsetAndMetadata(4)})
    clock.broker.freeze()
    clock.broker.drop("OffsetCommit")
    began = clock.now()
    clock.close()
    assert clock.now() - began < 1.0, "the brokers answered no client that had gone"
    assert not consumer.health().alive
    del consumer, clock
    assert not recwarn.list


def test_a_model_that_fails_is_not_passed_over() -> None:
    """A request that the brokers could not handle fails the test at its end."""
    clock = VirtualClock(1, {"orders": 3})
    clock._world.cluster.failures.append(LookupError("a handler's bug"))
    with pytest.raises(BaseExceptionGroup, match="the model of the brokers failed"):
        clock.close()
