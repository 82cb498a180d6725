"""Callbacks of records that failed at once, and that send again: not deep, nor without end."""

import traceback

import pytest

from prokurist import Delivery, KafkaProducer, RecordMetadata, errors
from prokurist.network_thread.thread import Life
from prokurist.producer.sending import MOST_AGAIN
from tests.simulation.producing import failure, in_callback, made
from tests.simulation.world import World

Failed = errors.KafkaException | None


def depth() -> int:
    """How many frames stand on this thread's stack."""
    return sum(1 for _ in traceback.walk_stack(None))


def again_for_ever(
    producer: KafkaProducer, topic: str, value: bytes
) -> tuple[list[Failed], list[int], list[Delivery]]:
    """Send what fails at once, with a callback that sends it again whatever comes."""
    told: list[Failed] = []
    deep: list[int] = []
    sent: list[Delivery] = []

    def again(_: RecordMetadata, error: Failed) -> None:
        told.append(error)
        deep.append(depth())
        sent.append(producer.send(topic, value, on_delivery=again))

    sent.append(producer.send(topic, value, on_delivery=again))
    return told, deep, sent


@pytest.mark.parametrize("what", ["nowhere", "too large"])
def test_a_callback_that_sends_again_whatever_comes(what: str) -> None:
    """The first `send` ends by `max.block.ms`; each record's callback is called, once."""
    world = World()
    producer, _ = made(world, max_block_ms=1000, max_request_size=5000)
    topic, value = ("nowhere", b"v") if what == "nowhere" else ("orders", b"x" * 9000)
    began = world.clock.time
    told, deep, sent = again_for_ever(producer, topic, value)
    assert world.clock.time - began <= 1.01
    assert len(told) == len(sent) == MOST_AGAIN + 1
    assert max(deep) == min(deep)
    assert all(each.done() for each in sent)
    assert not any(error is None for error in told)
    assert producer.send("orders", b"after").result(1.0).topic == "orders"
    producer.close(1.0)


def test_the_last_send_says_why_it_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    """It raises inside the callback, which the log tells."""
    world = World()
    producer, _ = made(world, max_block_ms=1000)
    again_for_ever(producer, "nowhere", b"v")
    assert f"callbacks have sent {MOST_AGAIN} records that failed at once" in caplog.text
    producer.close(1.0)


def test_a_delivery_callback_that_sends_again_whatever_comes() -> None:
    """On the thread that delivers the same: it goes on with its other work."""
    world = World()
    producer, sender = made(world, max_request_size=5000)
    told: list[tuple[list[Failed], list[int], list[Delivery]]] = []
    producer.send(
        "orders",
        b"v",
        partition=0,
        on_delivery=lambda *_: told.append(again_for_ever(producer, "orders", b"x" * 9000)),
    ).result(1.0)
    world.clock.sleep(0.1)
    ((errors_told, _, _),) = told
    assert len(errors_told) == MOST_AGAIN + 1
    assert sender.side.thread.alive
    producer.close(1.0)


def test_a_callback_may_send_elsewhere() -> None:
    """A dead letter, say: it is on its way when the first `send` returns."""
    world = World()
    producer, _ = made(world, max_request_size=5000)
    letters: list[Delivery] = []

    def dead_letter(_: RecordMetadata, error: Failed) -> None:
        letters.append(producer.send("orders", str(error).encode(), partition=1))

    delivery = producer.send("orders", b"x" * 9000, on_delivery=dead_letter)
    assert isinstance(failure(delivery), errors.RecordTooLargeException)
    (letter,) = letters
    assert letter.result(1.0).partition == 1
    producer.close(1.0)


def test_what_fails_in_a_callback_says_that_none_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B366: no key would have it wait, for a topic or for memory."""
    world = World()
    producer, _ = made(world, buffer_memory=3000, batch_size=1000, max_block_ms=60_000)
    producer.send("orders", b"v", partition=0).result(1.0)
    world.control.freeze()
    with monkeypatch.context() as patch:
        in_callback(producer, patch)
        topic = failure(producer.send("nowhere", b"v"))
        while not (sent := producer.send("orders", b"x" * 500, partition=1)).done():
            pass
        memory = failure(sent)
    world.control.thaw()
    assert isinstance(memory, errors.BufferExhaustedException)
    for each in (topic, memory):
        assert isinstance(each, errors.TimeoutException)
        assert "inside a delivery callback waits for nothing" in str(each)
        assert "To wait longer" not in str(each)
        assert each.config_key is None
        assert not each.may_have_happened
    producer.close(1.0)


def test_purge_waits_for_a_busy_network_thread() -> None:
    """By `max.block.ms`, as other calls without a timeout; then nothing is failed."""
    world = World()
    producer, sender = made(world, max_block_ms=2000, linger_ms=3000)
    unsent = producer.send("orders", b"v", partition=0)
    began = world.clock.time
    sender.thread.life = Life.NEW
    with pytest.raises(errors.TimeoutException) as caught:
        producer.purge()
    sender.thread.life = Life.RUNNING
    assert world.clock.time == pytest.approx(began + 2.0)
    assert caught.value.config_key == "max.block.ms"
    assert unsent.result(5.0).topic == "orders"
    producer.close(1.0)
