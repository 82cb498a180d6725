"""Clients of a real Kafka that are over a quota."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest
from kio.schema.alter_client_quotas.v1 import request as alter
from kio.schema.alter_client_quotas.v1.response import AlterClientQuotasResponse
from kio.schema.errors import ErrorCode
from kio.static.primitive import f64

from prokurist import EmptyCause, KafkaConsumer, KafkaProducer, TopicPartition, errors
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.records.why_empty import WhyEmpty
from prokurist.testing.kafka import RealKafka
from tests.broker.raw import connected

pytestmark = pytest.mark.kafka

Eventually = Callable[..., Any]


def limit(kafka: RealKafka, client_id: str, key: str, value: float) -> None:
    """Give a client id a quota."""
    entry = alter.EntryData(
        entity=(alter.EntityData(entity_type="client-id", entity_name=client_id),),
        ops=(alter.OpData(key=key, value=f64(value), remove=False),),
    )
    request = alter.AlterClientQuotasRequest(entries=(entry,), validate_only=False)
    with connected(kafka) as node:
        deadline = Deadline.after(MonotonicClock().now(), 10.0)
        answer = node.exchange(request, AlterClientQuotasResponse, deadline)
    assert [each.error_code for each in answer.entries] == [ErrorCode.none]


def test_a_poll_that_a_quota_keeps_empty_says_so(
    prokurist_kafka: RealKafka, prokurist_topic: str, eventually: Eventually
) -> None:
    """B428: the broker empties the answer, and tells nothing of what there is."""
    name, tp = f"slow-{secrets.token_hex(4)}", TopicPartition(prokurist_topic, 0)
    limit(prokurist_kafka, name, "consumer_byte_rate", 2_000.0)
    with KafkaProducer(bootstrap_servers=prokurist_kafka.bootstrap) as producer:
        for _ in range(20):
            producer.send(prokurist_topic, b"x" * 10_000, partition=0)
        producer.flush(30.0)
    # Past the proxy: a broker that throttles does not look whether the connection was closed.
    with KafkaConsumer(
        bootstrap_servers=prokurist_kafka.direct_bootstrap,
        client_id=name,
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.assign(tp)
        assert consumer.position(tp, timeout=30.0) == 0

        def throttled() -> WhyEmpty | None:
            why = consumer.poll(0.2).why_empty
            return why if why is not None and why.cause is EmptyCause.THROTTLED else None

        why = eventually(throttled)
        assert "over a quota, and throttled by broker" in str(why)
        assert why.partitions == (tp,)


def test_a_call_that_a_quota_holds_back_says_so(
    prokurist_kafka: RealKafka, prokurist_topic: str, eventually: Eventually
) -> None:
    """B427: the connection stands, and is no part of what the call has waited for."""
    name, tp = f"busy-{secrets.token_hex(4)}", TopicPartition(prokurist_topic, 0)
    with KafkaConsumer(
        bootstrap_servers=prokurist_kafka.direct_bootstrap, client_id=name, group_id=name
    ) as consumer:
        consumer.committed([tp], timeout=60)
        limit(prokurist_kafka, name, "request_percentage", 0.01)

        def held_back() -> str | None:
            try:
                consumer.committed([tp], timeout=0.2)
            except errors.TimeoutException as error:
                told = str(error)
                return told if "which throttles this client, as it is over" in told else None
            return None

        assert "a connection to" not in eventually(held_back)
