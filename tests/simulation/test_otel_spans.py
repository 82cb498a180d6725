"""OpenTelemetry in virtual time: spans of sends, polls, commits and processing, and metrics."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

import prokurist.otel
from prokurist import ConsumerRecord, OffsetAndMetadata
from prokurist.errors import TimeoutException
from prokurist.otel.names import OPT_IN, TABLE
from prokurist.testing.cluster.batches import Record
from tests.simulation.producing import log_of
from tests.simulation.reading import A, B, reader
from tests.simulation.virtual_loop import consumer, producer, run
from tests.simulation.world import World
from tests.spans import Told, context_of, instrumented, of, traceparent

ORDERS = {"messaging.destination.name": "orders"}
PARTITION_0 = {"messaging.destination.partition.id": "0"}


@pytest.fixture
def told() -> Iterator[Told]:
    """Clients that are built in the test are watched."""
    with instrumented() as told:
        yield told


def headers_of(record: ConsumerRecord) -> dict[str, bytes | None]:
    """A record's headers."""
    return dict(record.headers)


def test_a_record_bears_the_context_of_its_send(told: Told) -> None:
    """B857: its other headers stay, and the caller's own list does too."""
    world = World()
    given = [("kind", b"order"), ("traceparent", b"of the record that this one is made of")]
    with world.producer() as sender:
        sender.send("orders", b"v", b"k", given, 0)
        sender.send("orders", b"w", b"k", {"kind": b"bill"}, 0)
        sender.send("orders", None, None, None, 0)
        sender.flush(5.0)
    first, second, third = log_of(world, A)
    spans = told.spans("send orders")
    assert [headers_of(each)["traceparent"] for each in (first, second, third)] == [
        traceparent(each) for each in spans
    ]
    assert [name for name, _ in first.headers] == ["kind", "traceparent"]
    assert headers_of(second)["kind"] == b"bill"
    assert given[1][1] == b"of the record that this one is made of"
    assert {each.kind for each in spans} == {SpanKind.PRODUCER}
    assert of(spans[0]) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.client.id": sender._built().client_id,
        "messaging.destination.name": "orders",
        "messaging.destination.partition.id": "0",
        "messaging.kafka.message.key": "k",
        "messaging.kafka.offset": 0,
        "server.address": world.bootstrap[0].partition(":")[0],
        "server.port": int(world.bootstrap[0].rpartition(":")[2]),
    }
    assert of(spans[2])["messaging.kafka.message.tombstone"] is True
    assert told.count("messaging.client.sent.messages", PARTITION_0) == 3
    assert told.count("messaging.client.operation.duration", ORDERS) == 3


def test_a_send_is_a_child_of_the_current_span(told: Told) -> None:
    """B857: so the trace goes on through the record."""
    world = World()
    tracer = told.provider.get_tracer("test")
    with world.producer() as sender:
        with tracer.start_as_current_span("request") as request:
            sender.send("orders", b"v")
        sender.flush(5.0)
    sent = told.span("send orders")
    assert sent.parent == request.get_span_context()


def test_a_send_that_fails(told: Told) -> None:
    """B858: its span has failed, with the error's class, once; callbacks hear of it."""
    world = World()
    heard: list[Any] = []
    with world.producer(
        max_block_ms=1000, delivery_timeout_ms=2000, request_timeout_ms=1000
    ) as sender:
        world.control.freeze()
        delivery = sender.send("orders", b"v", on_delivery=lambda *both: heard.append(both))
        assert isinstance(delivery.exception(10.0), TimeoutException)
        world.control.thaw()
        with pytest.raises(TypeError):
            sender.send("orders", 7)
        with pytest.raises(TypeError):
            sender.send("orders", b"v", on_delivery=7)  # type: ignore[arg-type]
    late, wrong = told.spans("send orders")
    assert late.status.status_code is StatusCode.ERROR
    assert of(late)["error.type"] == "prokurist.errors.TimeoutException"
    assert of(wrong)["error.type"] == "TypeError"
    assert len(heard) == 1
    failed = told.count(
        "messaging.client.sent.messages", {"error.type": "prokurist.errors.TimeoutException"}
    )
    assert failed == 1


def test_many_records_of_one_call(told: Told) -> None:
    """B859: one span, whose context each of them bears; it ends with the last delivery."""
    world = World()
    heard: list[Any] = []
    with world.producer() as sender:
        sender.send_many(
            "orders", [b"a", b"b", b"c"], partition=0, on_delivery=lambda *_: heard.append(1)
        )
        assert not told.spans("send orders")
        sender.flush(5.0)
    span = told.span("send orders")
    assert {headers_of(each)["traceparent"] for each in log_of(world, A)} == {traceparent(span)}
    assert of(span)["messaging.batch.message_count"] == 3
    assert len(heard) == 3
    assert told.count("messaging.client.sent.messages") == 3


def test_columns_of_one_call(told: Told) -> None:
    """B859: records without headers of their own bear the context, too."""
    world = World()
    for nth in range(3):
        world.control.append(B, Record(b"%d" % nth))
    with reader(world, B) as client:
        columns = client.poll(5.0).columns()
    with world.producer() as sender:
        sender.send_batch("orders", columns[0], partition=0)
        sender.flush(5.0)
    assert {headers_of(each)["traceparent"] for each in log_of(world, A)} == {
        traceparent(told.span("send orders"))
    }


def test_a_poll_links_to_the_sends(told: Told) -> None:
    """B860: each of them; without records there is no span."""
    world = World()
    with world.producer() as sender:
        for nth in range(3):
            sender.send("orders", b"%d" % nth, partition=nth % 2)
        sender.flush(5.0)
    world.control.append(A, Record(b"without", headers=(("traceparent", b"\xff no context"),)))
    with reader(world, A, B, group_id="g") as client:
        records = list(client.poll(5.0))
        while len(records) < 4:
            records += client.poll(5.0)
        assert not client.poll(5.0)
    polls = told.spans("poll orders")
    sent = [context_of(each) for each in told.spans("send orders")]
    links = [link.context for each in polls for link in each.links]
    assert len(links) == 3
    assert {(each.trace_id, each.span_id) for each in links} == {
        (each.trace_id, each.span_id) for each in sent
    }
    assert sum(of(each)["messaging.batch.message_count"] for each in polls) == 4
    assert {of(each)["messaging.consumer.group.name"] for each in polls} == {"g"}
    assert {each.kind for each in polls} == {SpanKind.CLIENT}
    assert told.count("messaging.client.consumed.messages", PARTITION_0) == 3
    assert (
        told.count(
            "messaging.client.consumed.messages", {"messaging.destination.partition.id": "1"}
        )
        == 1
    )


def test_an_iteration_is_polls(told: Told) -> None:
    """B860: a span for each time that records are lent to it, with at most 128 links."""
    world = World()
    with world.producer() as sender:
        for nth in range(200):
            sender.send("orders", b"%d" % nth, partition=0)
        sender.flush(5.0)
    with reader(world) as client:
        assert len(list(client.records(idle_timeout=1.0))) == 200
    polls = told.spans("poll orders")
    assert sum(of(each)["messaging.batch.message_count"] for each in polls) == 200
    assert max(len(each.links) for each in polls) == 128


def test_commits(told: Told) -> None:
    """B861: one that is waited for belongs to the current span; the others have no parent."""
    world = World()
    world.control.append(A, Record(b"v"))
    tracer = told.provider.get_tracer("test")
    with reader(world, group_id="g", enable_auto_commit=True) as client:
        client.poll(5.0)
        with tracer.start_as_current_span("work") as work:
            client.commit_sync()
            client.commit_async({A: OffsetAndMetadata(1)})
            client.poll(0.1)
    waited, later, last = told.spans("commit orders")
    assert waited.parent == work.get_span_context()
    assert later.parent is None
    assert last.parent is None
    assert of(waited)["messaging.operation.type"] == "settle"
    assert of(waited)["messaging.kafka.offset"] == 1
    assert of(waited)["messaging.consumer.group.name"] == "g"
    assert (
        told.count(
            "messaging.client.operation.duration", {"messaging.operation.type": "settle"}
        )
        == 1
    )


def test_a_commit_that_is_late(told: Told) -> None:
    """B861: its span has failed, and is as long as the call."""
    world = World()
    with reader(world, group_id="g") as client:
        client.poll(0.1)
        world.control.freeze()
        with pytest.raises(TimeoutException):
            client.commit_sync({A: OffsetAndMetadata(7)}, timeout=2.0)
        world.control.thaw()
    span = told.span("commit orders")
    assert span.status.status_code is StatusCode.ERROR
    assert span.start_time is not None
    assert span.end_time is not None
    assert (span.end_time - span.start_time) / 1e9 == pytest.approx(2.0, abs=0.1)


def one_record(world: World, headers: Any = None) -> ConsumerRecord:
    """A record that was sent, and read."""
    with world.producer() as sender:
        sender.send("orders", b"v", b"key", headers, 0)
        sender.flush(5.0)
    with reader(world) as client:
        return next(iter(client.poll(5.0)))


def test_processing_goes_on_with_the_trace_of_the_record(told: Told) -> None:
    """B862: a child of the send, with a link to it and to the span around."""
    record = one_record(World())
    tracer = told.provider.get_tracer("test")
    with tracer.start_as_current_span("loop") as loop:
        with prokurist.otel.process(record, "g"), tracer.start_as_current_span("query"):
            pass
        with (
            pytest.raises(ValueError, match="three"),
            prokurist.otel.process(record) as failing,
        ):
            raise ValueError("three")
    worked, failed = told.spans("process orders")
    sent = context_of(told.span("send orders"))
    assert worked.parent is not None
    assert worked.parent.span_id == sent.span_id
    assert [each.context.span_id for each in worked.links] == [
        sent.span_id,
        loop.get_span_context().span_id,
    ]
    assert told.span("query").parent == context_of(worked)
    assert worked.kind is SpanKind.CONSUMER
    assert of(worked)["messaging.kafka.offset"] == 0
    assert of(worked)["messaging.consumer.group.name"] == "g"
    assert context_of(failed) == failing.get_span_context()
    assert failed.status.status_code is StatusCode.ERROR
    assert of(failed)["error.type"] == "ValueError"
    assert told.count("messaging.process.duration", ORDERS) == 2


def test_processing_of_several_records(told: Told) -> None:
    """B862: a child of the current span, with a link to each."""
    world = World()
    record = one_record(world)
    with prokurist.otel.process([record, record]):
        pass
    span = told.span("process orders")
    assert span.parent is None
    assert len(span.links) == 2
    assert of(span)["messaging.batch.message_count"] == 2


def test_processing_while_it_is_off() -> None:
    """B864: the block has a span that records nothing."""
    record = ConsumerRecord("orders", 0, 7, b"k", b"v")
    with prokurist.otel.process(record) as span:
        assert not span.is_recording()


@pytest.mark.parametrize(
    ("opt_in", "there", "missing"),
    [
        ("", ["messaging.system", "messaging.kafka.offset"], ["kafka.offset"]),
        ("http,databases", ["messaging.system"], ["messaging.system.name"]),
        (
            "http, messaging",
            ["messaging.system.name", "kafka.offset", "kafka.message.key", "kafka.cluster.id"],
            ["messaging.system", "messaging.kafka.offset", "messaging.kafka.message.key"],
        ),
        ("messaging,messaging/dup", ["messaging.system", "messaging.system.name"], []),
    ],
)
def test_names_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, opt_in: str, there: list[str], missing: list[str]
) -> None:
    """B863: the names of semantic conventions 1.45, those before, or both."""
    monkeypatch.setenv(OPT_IN, opt_in)
    with instrumented() as told:
        one_record(World())
    attributes = of(told.span("send orders"))
    assert set(there) <= set(attributes)
    assert not set(missing) & set(attributes)


def test_each_word_has_a_name() -> None:
    """B863: from 1.45 on each attribute of ours has one."""
    assert all(newer for _, newer in TABLE.values())


def test_keys_may_be_kept_out() -> None:
    """B863: `record_keys=False`."""
    with instrumented(record_keys=False) as told:
        one_record(World())
    assert not [name for name in of(told.span("send orders")) if "key" in name]


def test_it_may_be_turned_off(told: Told) -> None:
    """B865: open clients make no spans from then on, and records bear no context."""
    world = World()
    with world.producer() as sender, reader(world) as client:
        prokurist.otel.uninstrument()
        prokurist.otel.uninstrument()
        assert not prokurist.otel.is_instrumented()
        sender.send("orders", b"v", partition=0)
        sender.send_many("orders", [b"w"], partition=0)
        sender.flush(5.0)
        records = list(client.poll(5.0))
        client.commit_async()
        with prokurist.otel.process(records):
            pass
    assert not headers_of(log_of(world, A)[0])
    for name in ("send orders", "poll orders", "commit orders", "process orders"):
        assert not told.spans(name)


def test_it_is_turned_on_once(told: Told) -> None:
    """B865: a second call says how to change it."""
    with pytest.raises(RuntimeError, match="uninstrument"):
        prokurist.otel.instrument()
    assert not told.spans("send orders")


def test_clients_of_coroutines(told: Told) -> None:
    """B866: the same spans; a send that is cancelled has failed."""
    world = World()

    async def main() -> None:
        async with (
            producer(world) as sender,
            consumer(world, group_id="g", auto_offset_reset="earliest") as client,
        ):
            await sender.send("orders", b"v", partition=0)
            await sender.send_many("orders", [b"w"], partition=0)
            await sender.flush()
            client.assign(A)
            records = list(await client.poll(5.0))
            with prokurist.otel.process(records[0], "g"):
                await client.commit()
            world.control.freeze()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1.0):
                    await sender.send("other", b"v")
            world.control.thaw()

    run(world, main())
    assert len(told.spans("send orders")) == 2
    assert len(told.span("poll orders").links) == 2
    committed = told.spans("commit orders")[0]
    assert committed.parent == context_of(told.span("process orders"))
    assert of(told.span("send other"))["error.type"] == "asyncio.exceptions.CancelledError"
