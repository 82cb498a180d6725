"""Positions that leaders confirm, against a real Kafka: seeks, new leaders, logs cut back."""

from collections.abc import Callable
from typing import Any

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition, errors
from prokurist.testing.kafka import RealKafka

pytestmark = pytest.mark.kafka

Eventually = Callable[[Callable[[], Any]], Any]
Produce = Callable[..., None]


@pytest.fixture
def produce(producer_of: Callable[..., Any]) -> Produce:
    """Write records into the only partition of a topic, on all nodes or on its leader."""

    def write(kafka: RealKafka, topic: str, count: int, acks: str = "all") -> None:
        producer = producer_of(kafka.bootstrap, acks=acks)
        for number in range(count):
            producer.produce(topic, str(number).encode())
        assert producer.flush(20) == 0

    return write


def at(offset: int, epoch: int) -> OffsetAndMetadata:
    """A position to seek to."""
    return OffsetAndMetadata(offset, "", epoch)


def reading(kafka: RealKafka, tp: TopicPartition, policy: str, **keys: Any) -> KafkaConsumer:
    """A consumer of one partition, which looks every second who leads it."""
    consumer = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        auto_offset_reset=policy,
        metadata_max_age_ms=1000,
        **keys,
    )
    consumer.assign(tp)
    return consumer


@pytest.mark.parametrize("committed", [True, False])
def test_epochs_of_a_log_that_was_never_cut_back(
    prokurist_kafka: RealKafka, prokurist_topic: str, produce: Produce, *, committed: bool
) -> None:
    """B91: its own confirms; a newer one, or an end before the position, is a truncation."""
    tp = TopicPartition(prokurist_topic, 0)
    produce(prokurist_kafka, prokurist_topic, 5)
    keys = {"group_id": prokurist_topic, "enable_auto_commit": False}
    with reading(prokurist_kafka, tp, "none", **keys) as consumer:

        def go(position: OffsetAndMetadata) -> int:
            if committed:
                consumer.commit_sync({tp: position})
                consumer.unsubscribe()
                consumer.assign(tp)
            else:
                consumer.seek(tp, position)
            return consumer.position(tp, timeout=20)

        assert go(at(3, 0)) == 3
        with pytest.raises(errors.LogTruncationException) as caught:
            go(at(3, 7))
        assert (caught.value.offsets, caught.value.divergent_offsets) == ({tp: 3}, {})
        with pytest.raises(errors.LogTruncationException):
            consumer.poll(60)
        with pytest.raises(errors.LogTruncationException) as caught:
            go(at(9, 0))
        assert caught.value.divergent_offsets == {tp: at(5, 0)}
        assert go(at(5, 0)) == 5
        assert not consumer.poll(0.1)


def test_a_new_leader_confirms_a_position(
    prokurist_cluster: RealKafka, produce: Produce, eventually: Eventually
) -> None:
    """B91: the leader dies; the next one is asked, in its epoch, and reading goes on."""
    topic = prokurist_cluster.unique_topic(replication_factor=3)
    tp = TopicPartition(topic, 0)
    produce(prokurist_cluster, topic, 5)
    with reading(prokurist_cluster, tp, "none") as consumer:
        consumer.seek(tp, at(5, 0))
        assert consumer.position(tp) == 5
        state = consumer._committable.assigned.rows[tp]
        assert state.confirmed_in == 0
        (dead,) = prokurist_cluster.leaders(topic)
        prokurist_cluster.kill(dead)

        def confirmed_again() -> bool:
            assert not consumer.poll(0.2)
            return state.confirmed_in not in {0, None} and not state.missing

        eventually(confirmed_again)
        assert consumer.position(tp, timeout=0) == 5
        prokurist_cluster.restart(dead)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["latest", "none"])
def test_a_leader_that_lacks_what_was_read(
    prokurist_cluster: RealKafka, produce: Produce, policy: str
) -> None:
    """B91: the only node with the last records dies, and another leads without them."""
    # Whether the two that die first are still counted as in sync is the controller's pace.
    topic = prokurist_cluster.unique_topic(
        replication_factor=3, configs={"unclean.leader.election.enable": True}
    )
    tp = TopicPartition(topic, 0)
    produce(prokurist_cluster, topic, 5)
    (leader,) = prokurist_cluster.leaders(topic)
    others = [node for node in range(3) if node != leader]
    with reading(prokurist_cluster, tp, policy) as consumer:
        consumer.seek(tp, at(5, 0))
        assert consumer.position(tp) == 5
        for node in others:
            prokurist_cluster.kill(node)
        produce(prokurist_cluster, topic, 3, acks="1")
        consumer.seek(tp, at(8, 0))
        assert consumer.position(tp) == 8
        prokurist_cluster.kill(leader)
        prokurist_cluster.restart(*others)
        if policy == "none":
            with pytest.raises(errors.LogTruncationException) as caught:
                consumer.poll(60)
            assert caught.value.divergent_offsets == {tp: at(5, 0)}
            with pytest.raises(errors.LogTruncationException):
                consumer.position(tp)
            consumer.seek(tp, caught.value.divergent_offsets[tp])
        else:
            while consumer._positions.position(tp) != 5:
                assert not consumer.poll(1.0)
        assert consumer.position(tp, timeout=20) == 5
        prokurist_cluster.restart(leader)
