"""A real coordinator that is in reach, and cannot write what it is asked to write."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition, errors
from prokurist.testing.kafka import RealKafka
from tests.broker.watching import lines
from tests.topic_configs import set_config

pytestmark = pytest.mark.kafka

Eventually = Callable[..., Any]
LOG = "__consumer_offsets"


def test_a_group_whose_log_has_too_few_replicas(
    prokurist_cluster: RealKafka, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    """B422: it says that it cannot write, also to calls that end before; then that it can."""
    caplog.set_level(logging.INFO)
    topic = prokurist_cluster.unique_topic("kept", replication_factor=3)
    tp = TopicPartition(topic, 0)
    with KafkaConsumer(
        bootstrap_servers=prokurist_cluster.bootstrap, group_id=topic, enable_auto_commit=False
    ) as consumer:
        consumer.commit_sync({tp: OffsetAndMetadata(1)}, timeout=60)
        coordinator = prokurist_cluster.coordinator(topic)
        client = AdminClient({"bootstrap.servers": prokurist_cluster.bootstrap, "log_level": 0})
        set_config(client, LOG, "min.insync.replicas", 3, 60)
        try:
            prokurist_cluster.freeze(next(node for node in (0, 1, 2) if node != coordinator))

            def refused() -> list[str]:
                with pytest.raises(errors.TimeoutException):
                    consumer.commit_sync({tp: OffsetAndMetadata(2)}, timeout=2)
                return lines(caplog, "coordinator_unavailable")

            (line,) = eventually(refused)
            assert f"broker {coordinator}" in line
            assert f"coordinates group {topic}" in line
            assert "that it cannot (COORDINATOR_NOT_AVAILABLE)" in line
            assert not lines(caplog, "coordinator_unreachable")
        finally:
            prokurist_cluster.heal()
            set_config(client, LOG, "min.insync.replicas", 1, 60)
        consumer.commit_sync({tp: OffsetAndMetadata(3)}, timeout=60)
        assert consumer.committed(tp, timeout=60) == {tp: OffsetAndMetadata(3)}
        (line,) = lines(caplog, "coordinator_available")
        assert f"writes for group {topic} again" in line
