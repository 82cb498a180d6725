"""Handles and callbacks: P10 to P17."""

import asyncio
import gc
import logging
import threading
import time
from functools import partial

import pytest

from prokurist import Delivery, RecordMetadata, errors
from tests.simulation.producing import TP, failure, in_callback, values_of
from tests.simulation.world import World


def test_a_wait_that_is_over_leaves_the_delivery_alone() -> None:
    """P10, B314: `result(0.1)` times out, and the record is delivered later."""
    world = World()
    with world.producer() as producer:
        producer.send("orders", b"v", partition=0).result(1.0)
        fault = world.control.delay("Produce", 0.5)
        began = world.clock.time
        delivery = producer.send("orders", b"w", partition=0)
        with pytest.raises(errors.TimeoutException, match="delivery goes on") as wait:
            delivery.result(0.1)
        assert wait.value.may_have_happened, "who sends it again would have it twice"
        assert world.clock.time - began == pytest.approx(0.1)
        with pytest.raises(errors.TimeoutException):
            delivery.exception(0)
        assert not delivery._batch._waiters, "waits that are over are forgotten"
        assert delivery.result().offset == 1
        assert delivery.exception() is None
        fault.undo()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_future_has_the_same_outcome(when: str) -> None:
    """P11: made before or after the end."""
    world = World()
    with world.producer(delivery_timeout_ms=2000, request_timeout_ms=1000) as producer:
        good = producer.send("orders", b"v", partition=0)
        early = good.future() if when == "before" else None
        metadata = good.result(1.0)
        world.control.freeze()
        bad = producer.send("orders", b"w", partition=0)
        early_bad = bad.future() if when == "before" else None
        world.clock.sleep(3.0)
        assert (early or good.future()).result(0) == metadata
        assert isinstance((early_bad or bad.future()).exception(0), errors.TimeoutException)
        assert not good.future().cancel()


def test_a_delivery_can_be_awaited_on_two_loops() -> None:
    """P12: both go on."""
    world = World()
    with world.producer() as producer:
        delivery = producer.send("orders", b"v", partition=0)
        got: list[RecordMetadata] = []

        async def main() -> None:
            got.append(await delivery)

        threads = [threading.Thread(target=lambda: asyncio.run(main())) for _ in range(2)]
        for each in threads:
            each.start()
        until = time.monotonic() + 5
        while len(delivery._batch._waiters) < 2:
            assert time.monotonic() < until
            time.sleep(0.001)
        producer.flush(1.0)
        for each in threads:
            each.join(5.0)
    assert [each.offset for each in got] == [0, 0]


def test_each_raise_has_an_exception_of_its_own() -> None:
    """P13, B314: two handles of one failed batch, with equal ledgers."""
    world = World()
    with world.producer(delivery_timeout_ms=2000, request_timeout_ms=1000) as producer:
        producer.send("orders", b"v", partition=0).result(1.0)
        world.control.freeze()
        first, second = (producer.send("orders", b"w", partition=0) for _ in range(2))
        world.clock.sleep(3.0)
        raised = []
        for delivery in (first, second, first):
            with pytest.raises(errors.TimeoutException) as caught:
                delivery.result()
            raised.append(caught.value)
        assert len(set(map(id, raised))) == 3
        assert raised[0].attempts
        assert raised[0].attempts == raised[1].attempts
        assert all(each.may_have_happened for each in raised)
        text = str(raised[0])
        assert "send for orders-0 was given 2 s" in text
        assert "Produce to broker 1" in text
        assert "delivery.timeout.ms" in text


def test_callbacks_come_in_order_and_once() -> None:
    """P15: by partition, after the handle is done; runs of one callback are told apart."""
    world = World()
    heard: list[tuple[str, int, int]] = []

    def on(name: str, metadata: RecordMetadata, error: errors.KafkaException | None) -> None:
        assert error is None
        heard.append((name, metadata.offset, metadata.timestamp))

    first, second = partial(on, "first"), partial(on, "second")
    with world.producer() as producer:
        for number in range(10):
            chosen = (first, first, second, None, first)[number % 5]
            producer.send("orders", b"v", partition=0, timestamp=number, on_delivery=chosen)
        producer.flush(1.0)
    names = ["first", "first", "second", "first"] * 2
    offsets = [0, 1, 2, 4, 5, 6, 7, 9]
    assert heard == list(zip(names, offsets, offsets, strict=True))


def test_a_callback_gets_the_error() -> None:
    """With where the record was to go."""
    world = World()
    heard: list[tuple[RecordMetadata, errors.KafkaException | None]] = []
    with world.producer(max_block_ms=100) as producer:
        producer.send(
            "nowhere", b"v", on_delivery=lambda *told: heard.append(told), timestamp=3
        )
        metadata, error = heard[0]
        assert metadata == ("nowhere", -1, -1, 3)
        assert isinstance(error, errors.TimeoutException)


@pytest.mark.parametrize("raised", [ZeroDivisionError, SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("is_of_handle", [False, True])
def test_a_callback_that_raises_is_logged(
    caplog: pytest.LogCaptureFixture, raised: type[BaseException], *, is_of_handle: bool
) -> None:
    """B235: the others are called all the same, and what is raised ends no thread."""
    world = World()
    heard: list[int] = []

    def bad(*_: object) -> None:
        raise raised("no")

    with world.producer() as producer, caplog.at_level(logging.WARNING):
        given = None if is_of_handle else bad
        for _ in range(3):
            delivery = producer.send("orders", b"v", partition=0, on_delivery=given)
            if is_of_handle:
                delivery.add_done_callback(bad)
        producer.send(
            "orders", b"v", partition=0, on_delivery=lambda where, _: heard.append(where.offset)
        )
        producer.flush(1.0)
    assert heard == [3]
    (line,) = caplog.records
    assert f"a delivery callback raised {raised.__name__}" in line.getMessage()


def test_flush_returns_after_the_callbacks() -> None:
    """B226: they are a part of what was sent."""
    world = World()
    heard: list[int] = []
    with world.producer() as producer:
        for number in range(100):
            producer.send(
                "orders",
                b"v",
                partition=number % 3,
                on_delivery=lambda where, _: heard.append(where.partition),
            )
        producer.flush(1.0)
        assert sorted(heard) == [0] * 34 + [1] * 33 + [2] * 33


def test_done_callbacks_of_handles() -> None:
    """Before the end, and after it at once."""
    world = World()
    heard: list[Delivery] = []
    with world.producer() as producer:
        delivery = producer.send("orders", b"v", partition=0)
        delivery.add_done_callback(heard.append)
        producer.flush(1.0)
        assert heard == [delivery]
        delivery.add_done_callback(heard.append)
        assert heard == [delivery, delivery]


def asked_for(world: World) -> list[list[str]]:
    """The topics of each Metadata request."""
    return [
        [topic.name for topic in each.body.topics or ()]
        for each in world.control.requests("Metadata")
    ]


def test_nothing_waits_in_a_callback(monkeypatch: pytest.MonkeyPatch) -> None:
    """P16, B235: flush, partitions_for and results to come raise; send does not wait."""
    world = World()
    with world.producer() as producer:
        done = producer.send("orders", b"v", partition=0)
        done.result(1.0)
        world.control.freeze()
        delivery = producer.send("orders", b"w", partition=0)
        with monkeypatch.context() as patch:
            in_callback(producer, patch)
            for call in (producer.flush, delivery.result, delivery.exception):
                with pytest.raises(errors.IllegalStateException, match="delivery callback"):
                    call()
            with pytest.raises(errors.IllegalStateException, match="delivery callback"):
                producer.partitions_for("orders")
            assert done.result().offset == 0
            waits: list[object] = []
            patch.setattr(type(world.clock), "wait", lambda _, *until: waits.append(until))
            assert isinstance(failure(producer.send("unknown", b"v")), errors.TimeoutException)
            assert not waits
        world.control.thaw()
        world.clock.sleep(1.0)
        assert "unknown" in {name for each in asked_for(world) for name in each}
        assert delivery.result(5.0).offset == 1


def test_a_slow_callback_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """P17: once a minute."""
    world = World()
    with world.producer() as producer, caplog.at_level(logging.WARNING):
        for _ in range(3):
            producer.send(
                "orders", b"v", partition=0, on_delivery=lambda *_: world.clock.sleep(0.2)
            )
            producer.flush(5.0)
    assert [each.event for each in caplog.records] == ["callback_slow"]  # type: ignore[attr-defined]
    assert "orders-0 took 0.200 s" in caplog.records[0].getMessage()


def test_handles_are_no_work_for_the_collector() -> None:
    """P14: what is kept of a delivered batch holds no records, and no cycle."""
    world = World()
    with world.producer() as producer:
        handles = [producer.send("orders", b"x" * 100, partition=0) for _ in range(1000)]
        producer.flush(5.0)
        assert all(each.done() for each in handles)
        batch = handles[0]._batch
        assert batch.body() == b""
        gc.collect()
        assert not gc.garbage
    assert len(values_of(world, TP)) == 1000
