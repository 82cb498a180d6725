"""OpenTelemetry with a real Kafka: the trace goes on behind a broker."""

import secrets
import time

import pytest

import prokurist.otel
from prokurist import KafkaConsumer, KafkaProducer
from prokurist.testing.kafka import RealKafka
from tests.spans import context_of, instrumented, of, traceparent

pytestmark = pytest.mark.kafka


def test_a_trace_goes_on_behind_a_broker(prokurist_kafka: RealKafka) -> None:
    """B857, B860, B861, B862: from a send to the processing, with the cluster's id."""
    topic = prokurist_kafka.unique_topic()
    with instrumented() as told:
        with KafkaProducer(bootstrap_servers=prokurist_kafka.bootstrap) as producer:
            producer.send(topic, b"v", b"k", [("kind", b"order")]).result(120.0)
        with KafkaConsumer(
            bootstrap_servers=prokurist_kafka.bootstrap,
            group_id=f"g-{secrets.token_hex(6)}",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer:
            consumer.subscribe(topic)
            end = time.monotonic() + 120.0
            while not (records := list(consumer.poll(1.0))):
                assert time.monotonic() < end
            with prokurist.otel.process(records[0]):
                consumer.commit_sync(timeout=120.0)
        sent, polled = told.span(f"send {topic}"), told.span(f"poll {topic}")
        worked, committed = told.span(f"process {topic}"), told.span(f"commit {topic}")
    assert dict(records[0].headers) == {"kind": b"order", "traceparent": traceparent(sent)}
    assert [each.context.span_id for each in polled.links] == [context_of(sent).span_id]
    assert worked.parent is not None
    assert worked.parent.trace_id == context_of(sent).trace_id
    assert committed.parent == context_of(worked)
    assert of(committed)["messaging.kafka.offset"] == 1
