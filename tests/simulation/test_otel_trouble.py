"""OpenTelemetry that raises, and headers that others have written twice, in virtual time."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

import prokurist.otel
from prokurist import KafkaProducer, TopicPartition
from prokurist.testing.cluster.batches import Record
from tests.simulation.producing import log_of
from tests.simulation.reading import A, reader
from tests.simulation.returning import committed
from tests.simulation.world import World
from tests.spans import Told, instrumented, traceparent

OLD = b"00-11111111111111111111111111111111-2222222222222222-01"
NEW = b"00-33333333333333333333333333333333-4444444444444444-01"


@pytest.fixture
def told() -> Iterator[Told]:
    """Clients that are built in the test are watched."""
    with instrumented() as told:
        yield told


class Broken(SpanProcessor):
    """A program's span processor that fails at one of its ends.

    Args:
        where: The end.
    """

    def __init__(self, where: str) -> None:
        self._where = where

    def on_start(self, *_: Any, **__: Any) -> None:
        """A span begins."""
        self._fail("on_start")

    def on_end(self, _: Any) -> None:
        """A span has ended."""
        self._fail("on_end")

    def _fail(self, where: str) -> None:
        if where == self._where:
            raise RuntimeError(f"{where} failed")


@pytest.mark.parametrize("where", ["on_start", "on_end"])
def test_a_span_processor_that_raises(
    told: Told, caplog: pytest.LogCaptureFixture, where: str
) -> None:
    """B915: each record is sent and read once, and the log has one error."""
    told.provider.add_span_processor(Broken(where))
    world = World()
    heard: list[object] = []
    done: list[int] = []
    with caplog.at_level(logging.ERROR, "prokurist"), world.producer() as sender:
        sender.send("orders", b"0", partition=0, on_delivery=lambda *each: heard.append(each))
        sender.send_many("orders", [b"1", b"2"], partition=0)
        sender.flush(5.0)
        with reader(world, max_poll_records=2) as client:
            for _ in range(2):
                for record in client.poll(5.0):
                    with prokurist.otel.process(record):
                        done.append(record.offset)
            client.commit_sync()
            client.commit_async(callback=lambda *each: heard.append(each))
            client.poll(1.0)
    assert done == [0, 1, 2]
    assert len(heard) == 2
    assert committed(world) == 3
    (told_once,) = caplog.records
    assert told_once.message.startswith("OpenTelemetry has raised RuntimeError")


def test_an_error_that_has_no_text(told: Told) -> None:
    """B915: it leaves the block as it was raised."""

    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise ValueError("no text")

    record = Record(b"v")
    world = World()
    world.control.append(A, record)
    with reader(world) as client:
        (read,) = client.poll(5.0)
    with pytest.raises(Unspeakable), prokurist.otel.process(read):
        raise Unspeakable
    assert len(told.spans("process orders")) == 1


def test_headers_that_are_there_twice(told: Told) -> None:
    """B916: the last one counts, as for clients of Java; a send leaves one."""
    world = World()
    twice = [("traceparent", OLD), ("kind", b"order"), ("traceparent", NEW)]
    world.control.append(A, Record(b"v", None, headers=tuple(twice)))
    with reader(world) as client:
        (read,) = client.poll(5.0)
    with prokurist.otel.process(read):
        pass
    parent = told.span("process orders").parent
    assert parent is not None
    assert parent.span_id == 0x4444444444444444
    with world.producer() as sender:
        sender.send("orders", b"w", headers=read.headers, partition=0)
        sender.flush(5.0)
    assert list(log_of(world, A)[1].headers) == [
        ("traceparent", traceparent(told.span("send orders"))),
        ("kind", b"order"),
    ]


def test_records_by_partition(told: Told) -> None:
    """B917: as polls of kafka-python and aiokafka return them."""
    world = World()
    for number in range(3):
        world.control.append(A, Record(b"%d" % number))
    with reader(world) as client:
        records = list(client.poll(5.0))
    with prokurist.otel.process({TopicPartition("orders", 0): records}):
        pass
    assert (told.span("process orders").attributes or {})["messaging.batch.message_count"] == 3


class ToKafka(SpanExporter):
    """Exports spans to a topic.

    Args:
        sender: The producer, which is watched itself.
    """

    def __init__(self, sender: KafkaProducer) -> None:
        self._sender = sender
        self.exported = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export spans."""
        self.exported += len(spans)
        if self.exported < 50:
            self._sender.send("orders", b"span", partition=1)
        return SpanExportResult.SUCCESS


def test_spans_that_are_exported_to_kafka(told: Told) -> None:
    """B918: the exporter's own sends make no spans."""
    world = World(topics={"orders": 2})
    with world.producer() as sender:
        exporter = ToKafka(sender)
        told.provider.add_span_processor(SimpleSpanProcessor(exporter))
        with told.provider.get_tracer("test").start_as_current_span("checkout"):
            pass
        sender.flush(30.0)
    assert exporter.exported == 1
    assert not told.spans("send orders")
