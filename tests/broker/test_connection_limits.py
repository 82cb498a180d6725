"""A broker that takes few connections from one address."""

import logging
import socket
import time

import pytest

from prokurist import KafkaConsumer, KafkaProducer
from prokurist.testing.kafka import RealKafka
from prokurist.testing.kafka.ports import Address


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_reads_over_the_connections_that_it_gets(
    protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B217: of the three that it wants two; they carry all, and it is said."""
    properties = {"max.connections.per.ip": "3"}
    with RealKafka(nodes=1, properties=properties) as kafka:
        kafka.create_topic("orders", partitions=1)
        with KafkaProducer(bootstrap_servers=kafka.direct_bootstrap) as producer:
            producer.send("orders", b"v").result(30.0)
        with (
            socket.create_connection(Address.parse(kafka.direct_bootstrap)),
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
            record = consumer.next(20.0)
            assert record is not None
            assert record.value == b"v"
            ends = time.monotonic() + 60.0
            while not told(caplog):
                assert time.monotonic() < ends
                consumer.poll(0.5)
            assert consumer.current_lag(next(iter(consumer.assignment()))) == 0
            consumer.commit_sync(timeout=5.0)
            answer_age = consumer.health().answer_age
            assert answer_age is not None
            assert answer_age < 5.0
    assert told(caplog) == {"connection_refused"}


def told(caplog: pytest.LogCaptureFixture) -> set[str]:
    """The events that were logged."""
    return {each.event for each in caplog.records}  # type: ignore[attr-defined]
