"""Positions and polls against a real Kafka, with two real threads."""

import time

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition, errors
from prokurist.testing.kafka import RealKafka
from tests.broker.watching import Watch, after

pytestmark = pytest.mark.kafka


@pytest.fixture
def tp(prokurist_topic: str) -> TopicPartition:
    """A partition of a topic of the test's own, without records."""
    return TopicPartition(prokurist_topic, 0)


@pytest.mark.parametrize("policy", ["earliest", "latest", "by_duration:PT1H"])
def test_polls_without_time_make_positions_known(
    prokurist_kafka: RealKafka, tp: TopicPartition, policy: str
) -> None:
    """B75, B77, B93: by the policy, then by what was committed; and the lag (B94)."""
    with KafkaConsumer(
        bootstrap_servers=prokurist_kafka.bootstrap,
        group_id=tp.topic,
        auto_offset_reset=policy,
        enable_auto_commit=False,  # It would commit the position found over the explicit 3.
    ) as consumer:
        consumer.assign(tp)
        until = time.monotonic() + 60
        while consumer._positions.position(tp) is None:
            assert not consumer.poll(0)
            assert time.monotonic() < until
        assert consumer.position(tp, timeout=0) == 0
        while consumer.current_lag(tp) is None:
            assert time.monotonic() < until
        assert consumer.current_lag(tp) == 0
        consumer.commit_sync({tp: OffsetAndMetadata(3)})
        consumer.unsubscribe()
        consumer.assign(tp)
        assert consumer.position(tp) == 3


def test_a_poll_ends_in_time_or_by_a_wakeup(
    prokurist_kafka: RealKafka, tp: TopicPartition
) -> None:
    """B28, B167: with the first look-ups on the way, too."""
    with KafkaConsumer(
        bootstrap_servers=prokurist_kafka.bootstrap, group_id=tp.topic
    ) as consumer:
        consumer.assign(tp)
        for _ in range(3):
            with Watch(0.2):
                assert not consumer.poll(0.2)
        with Watch(0.3), after(0.3, consumer.wakeup), pytest.raises(errors.WakeupException):
            consumer.poll(20)


def test_no_commit_and_no_policy(prokurist_kafka: RealKafka, tp: TopicPartition) -> None:
    """B76: raised by poll and by position."""
    with KafkaConsumer(
        bootstrap_servers=prokurist_kafka.bootstrap,
        group_id=tp.topic,
        auto_offset_reset="none",
    ) as consumer:
        consumer.assign(tp)
        with pytest.raises(errors.NoOffsetForPartitionException):
            consumer.poll(60)
        with pytest.raises(errors.NoOffsetForPartitionException):
            consumer.position(tp)
