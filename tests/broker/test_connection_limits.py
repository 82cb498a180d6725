"""A broker that takes few connections from one address."""

import logging
import time

import pytest

from prokurist import KafkaConsumer
from prokurist.testing.kafka import RealKafka


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_reads_over_the_connections_that_it_gets(
    protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B217: of three, all that Kafka's own tools leave; none is refused for long."""
    properties = {"max.connections.per.ip": "3"}
    with RealKafka(nodes=1, properties=properties) as kafka:
        kafka.create_topic("orders", partitions=1)
        with (
            caplog.at_level(logging.WARNING, "prokurist"),
            KafkaConsumer(
                bootstrap_servers=kafka.direct_bootstrap,
                group_id="few",
                group_protocol=protocol,
                auto_offset_reset="earliest",
            ) as consumer,
        ):
            consumer.subscribe("orders")
            assert consumer.wait_until_ready(20.0)
            ends = time.monotonic() + 12.0
            while time.monotonic() < ends:
                consumer.poll(0.5)
            assert consumer.current_lag(next(iter(consumer.assignment()))) == 0
            consumer.commit_sync(timeout=5.0)
            answer_age = consumer.health().answer_age
            assert answer_age is not None
            assert answer_age < 5.0
    told = {each.event for each in caplog.records}  # type: ignore[attr-defined]
    assert told <= {"connection_accepted", "connection_refused"}
