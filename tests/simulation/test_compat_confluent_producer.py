"""confluent-kafka's producer in virtual time: what it converts, and what it tells when."""

import json
from itertools import count
from typing import Any

import pytest

from prokurist.compat.confluent_kafka import KafkaError, KafkaException, Producer
from prokurist.compat.confluent_kafka.parked import PATIENCE
from prokurist.compat.confluent_kafka.settings import producer_settings
from prokurist.errors import IllegalStateException
from tests.simulation.interrupting import interrupted_at
from tests.simulation.producing import values_of
from tests.simulation.reading import written
from tests.simulation.world import World


def producer_in(world: World, **keys: Any) -> Producer:
    """A face of a producer in virtual time."""
    settings = producer_settings(None, {"bootstrap.servers": "localhost:1", **keys})
    rest = {key: settings.rest[key] for key in settings.rest if key != "bootstrap.servers"}
    return Producer.over(world.producer(None, linger_ms=0, **rest), settings, world.clock)


def test_what_is_produced_is_told_in_flush() -> None:
    """B331: text goes as UTF-8, callbacks run in `flush`, on this thread."""
    told: list[tuple[Any, Any]] = []
    world = World(topics={"orders": 1})
    with producer_in(world) as producer:
        for number in range(3):
            producer.produce(
                "orders",
                f"ä{number}",
                "key",
                on_delivery=lambda error, message: told.append((error, message.offset())),
                headers={"a": "b"},
            )
        assert len(producer) == 3
        assert told == []
        assert producer.flush() == 0
        assert told == [(None, 0), (None, 1), (None, 2)]
        assert producer.poll(0) == 0
    assert values_of(world) == ["ä0".encode(), "ä1".encode(), "ä2".encode()]


def test_a_message_that_is_not_delivered_is_told_so() -> None:
    """B333, B335: `flush` ends with what is left, and the callback has the error."""
    told: list[KafkaError | None] = []
    world = World(topics={"orders": 1})
    keys = {"delivery_timeout_ms": 4000, "request_timeout_ms": 2000}
    producer = producer_in(world, on_delivery=lambda error, _: told.append(error), **keys)
    producer.produce("orders", b"v")
    assert producer.flush() == 0
    for node in world.cluster.state.brokers:
        world.control.freeze(node)
    producer.produce("orders", b"w")
    began = world.clock.time
    assert producer.flush(1.0) == 1
    assert producer.flush() == 0
    assert world.clock.time - began <= 5.1
    producer.close()
    assert told[0] is None
    assert told[1] == KafkaError._MSG_TIMED_OUT


@pytest.mark.filterwarnings("error::ResourceWarning")
def test_a_producer_that_was_flushed_may_be_left() -> None:
    """As there: it ends by itself, without a warning."""
    producer = producer_in(written(0))
    producer.produce("orders", b"v")
    assert producer.flush(5.0) == 0
    ours = producer._producer
    del producer
    with pytest.raises(IllegalStateException):
        ours.send("orders", b"w")


def test_a_message_that_is_too_large_is_refused_at_once() -> None:
    """As there: `produce` raises, and no callback is called."""
    told: list[object] = []
    with producer_in(written(0)) as producer:
        with pytest.raises(KafkaException) as refused:
            producer.produce(
                "orders", b"x" * 2_000_000, on_delivery=lambda error, _: told.append(error)
            )
        assert refused.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
        assert producer.flush(1.0) == len(producer) == 0
    assert not told


def test_a_partition_that_does_not_exist_is_told_at_once() -> None:
    """B361: by the callback; `produce` raises it where the topic is known."""
    told: list[tuple[KafkaError | None, Any]] = []
    world = World(topics={"orders": 2})
    with producer_in(world, on_delivery=lambda *given: told.append(given)) as producer:
        began = world.clock.time
        producer.produce("orders", b"v", partition=2)
        assert producer.flush(1.0) == 0
        [(error, message)] = told
        assert error == KafkaError._UNKNOWN_PARTITION
        assert (message.topic(), message.partition(), message.offset()) == ("orders", 2, None)
        producer.produce("orders", b"v", partition=1)
        with pytest.raises(KafkaException) as raised:
            producer.produce("orders", b"v", partition=2)
        assert raised.value.args[0].code() == KafkaError._UNKNOWN_PARTITION
        assert producer.flush(1.0) == len(producer) == 0
        assert world.clock.time - began < 1.0
    assert len(told) == 2


def hearing(told: list[KafkaError | None]) -> Any:
    """A callback that keeps errors."""
    return lambda error, _: told.append(error)


def test_a_topic_that_does_not_exist_fails_its_messages() -> None:
    """B361: by librdkafka's number for that, after its 30 seconds or `max.block.ms`."""
    world = World(topics={"orders": 1})
    for keys, wait in (({}, 30.0), ({"max_block_ms": 3000}, 3.0)):
        told: list[KafkaError | None] = []
        with producer_in(world, **keys) as producer:
            began = world.clock.time
            for partition in (-1, 7):
                producer.produce("none", b"v", partition=partition, on_delivery=hearing(told))
            assert world.clock.time - began == pytest.approx(PATIENCE)
            assert len(producer) == 2
            assert producer.flush() == 0
            assert world.clock.time - began == pytest.approx(wait, abs=1.0)
        assert told == [KafkaError._UNKNOWN_TOPIC] * 2


def test_librdkafkas_bounds_of_messages_hold() -> None:
    """B365: `message.max.bytes` of key and value, and how many wait to be told in a poll."""
    with producer_in(World(topics={"orders": 1})) as producer:
        producer.produce("orders", b"x" * 1_000_000)
        with pytest.raises(KafkaException) as refused:
            producer.produce("orders", b"x" * 1_000_000, key=b"k")
        assert refused.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    keys = {"queue.buffering.max.messages": 2}
    with producer_in(World(topics={"orders": 1}), **keys) as producer:
        for _ in range(2):
            producer.produce("orders", b"v")
        with pytest.raises(BufferError, match=r"max\.messages=2"):
            producer.produce("orders", b"v")
        assert producer.flush() == 0
        producer.produce("orders", b"v")


def test_a_batch_is_a_list_of_messages() -> None:
    """B331: those that are refused are given their errors."""
    told: list[tuple[str, bytes]] = []

    def named(name: str) -> Any:
        return lambda _, message: told.append((name, message.value()))

    world = World(topics={"orders": 2})
    with producer_in(world, **{"queue.buffering.max.messages": 2}) as producer:
        batch: list[dict[str, Any]] = [
            {"value": b"x" * 1_000_001},
            {"value": "one", "key": "k", "callback": named("own"), "timestamp": 7},
            {"value": "two", "partition": 0},
            {"value": "three"},
        ]
        sent = producer.produce_batch("orders", batch, partition=0, on_delivery=named("all"))
        assert sent == 2
        assert batch[0]["_error"] == KafkaError.MSG_SIZE_TOO_LARGE
        assert batch[3]["_error"] == KafkaError._QUEUE_FULL
        assert ["_error" in each for each in batch] == [True, False, False, True]
        producer.flush()
        assert told == [("own", b"one"), ("all", b"two")]
        with pytest.raises(TypeError, match="a list of dicts"):
            producer.produce_batch("orders", ["text"])
    assert values_of(world) == [b"one", b"two"]


def test_statistics_are_told() -> None:
    """B331: `stats_cb` in `poll`, in its interval, with librdkafka's names."""
    told: list[dict[str, Any]] = []
    keys = {"stats_cb": lambda text: told.append(json.loads(text))}
    world = World(topics={"orders": 1})
    with producer_in(world, **keys, **{"statistics.interval.ms": 1000}) as producer:
        producer.produce("orders", b"v")
        producer.flush()
        world.clock.sleep(1.0)
        producer.poll(0)
    assert (told[-1]["type"], told[-1]["txmsgs"]) == ("producer", 1)


@pytest.mark.parametrize(
    "arguments",
    [(None, b"v"), (7, b"v"), ("orders", b"v", None, "0"), ("orders", b"v", None, 0.5)],
)
def test_arguments_of_a_wrong_type_are_refused_at_once(arguments: tuple[Any, ...]) -> None:
    """As there; the producer goes on."""
    world = World(topics={"orders": 1})
    with producer_in(world) as producer:
        with pytest.raises(TypeError):
            producer.produce(*arguments)
        assert len(producer) == 0
        producer.produce("orders", b"w")
        assert producer.flush(5.0) == 0
    assert values_of(world) == [b"w"]


def test_a_partition_below_minus_one_is_refused() -> None:
    """B380: only −1 has one chosen."""
    world = World(topics={"orders": 1})
    with producer_in(world) as producer:
        with pytest.raises(KafkaException) as caught:
            producer.produce("orders", b"v", partition=-5)
        assert caught.value.args[0].code() == KafkaError._UNKNOWN_PARTITION
        assert len(producer) == 0
    assert values_of(world) == []


def test_without_a_broker_messages_are_parked() -> None:
    """B459: `produce` does not wait; they go out in their order, before later ones."""
    told: list[tuple[KafkaError | None, bytes]] = []
    world = World(topics={"orders": 1})
    world.control.kill(1)
    with producer_in(world) as producer:
        began = world.clock.time
        for number in range(5):
            producer.produce(
                "orders",
                b"%d" % number,
                on_delivery=lambda error, message: told.append((error, message.value())),
            )
        assert world.clock.time - began == pytest.approx(PATIENCE)
        assert producer.poll(3.0) == 0
        assert len(producer) == 5
        world.control.restart(1)
        producer.produce("orders", b"5")
        assert producer.flush() == 0
    assert told == [(None, b"%d" % each) for each in range(5)]
    assert values_of(world) == [b"%d" % each for each in range(6)]


def test_parked_messages_end() -> None:
    """B459: by `message.timeout.ms`, by `purge`, and by `close`; each says why."""
    world = World(topics={"orders": 1})
    world.control.kill(1)
    for how, code in (
        ("flush", KafkaError._MSG_TIMED_OUT),
        ("purge", KafkaError._PURGE_QUEUE),
        ("close", KafkaError._PURGE_QUEUE),
    ):
        told: list[KafkaError | None] = []
        keys = {"message.timeout.ms": 4000, "queue.buffering.max.messages": 2}
        producer = producer_in(world, on_delivery=hearing(told), **keys)
        began = world.clock.time
        for _ in range(2):
            producer.produce("orders", b"v")
        with pytest.raises(BufferError, match=r"max\.messages=2"):
            producer.produce("orders", b"v")
        if how == "flush":
            assert producer.flush() == 0
            assert 4.0 <= world.clock.time - began <= 5.0
            assert "orders was not known in time" in str(told[0])
            assert "The last error was" in str(told[0])
        elif how == "purge":
            producer.purge()
            assert producer.poll(0) == 2
        assert producer.close(0.5) is (how != "close")
        assert told == [code] * 2
        with pytest.raises(RuntimeError, match="closed"):
            producer.produce("orders", b"v")


def test_a_missing_topic_does_not_hold_up_other_parked_messages() -> None:
    """B522: those of a topic that exists go out when a broker answers."""
    told: list[tuple[str, KafkaError | None]] = []
    world = World(topics={"orders": 1})
    world.control.kill(1)
    with producer_in(
        world, on_delivery=lambda error, message: told.append((message.topic(), error))
    ) as producer:
        producer.produce("none", b"v")
        producer.produce("orders", b"w")
        world.control.restart(1)
        assert producer.flush(5.0) == 1
        assert told == [("orders", None)]
        assert producer.flush() == 0
    ((topic, error),) = told[1:]
    assert topic == "none"
    assert error == KafkaError._UNKNOWN_TOPIC


def test_a_flush_waits_for_what_a_callback_parks() -> None:
    """B523: a message for a dead-letter topic, say, which is not known yet."""
    told: list[KafkaError | None] = []
    world = World(topics={"orders": 1})
    with producer_in(world) as producer:
        producer.produce(
            "orders",
            b"v",
            on_delivery=lambda *_: producer.produce("none", b"w", on_delivery=hearing(told)),
        )
        assert producer.flush() == 0
        assert told == [KafkaError._UNKNOWN_TOPIC]
        producer.produce("orders", b"v", on_delivery=lambda *_: producer.produce("none", b"w"))
        assert producer.flush(2.0) == 1


def test_a_parked_message_that_is_too_large_is_told() -> None:
    """B521: its callback is called, where `produce` would have raised."""
    told: list[KafkaError | None] = []
    world = World(topics={"orders": 1})
    world.control.kill(1)
    keys = {"message.max.bytes": 1000}
    with producer_in(world, on_delivery=hearing(told), **keys) as producer:
        producer.produce("orders", b"x" * 2000)
        world.control.restart(1)
        assert producer.flush() == 0
    assert told == [KafkaError.MSG_SIZE_TOO_LARGE]


def test_a_partitioner_that_raises_for_a_parked_message_is_told() -> None:
    """B521: and messages behind it go out."""
    told: list[KafkaError | None] = []

    def choose(_topic: str, key: bytes, *_: object) -> int:
        if key == b"bad":
            raise ValueError("no partition for it")
        return 0

    world = World(topics={"orders": 1})
    world.control.kill(1)
    with producer_in(world, on_delivery=hearing(told), partitioner=choose) as producer:
        producer.produce("orders", b"v", b"bad")
        producer.produce("orders", b"w", b"good")
        world.control.restart(1)
        assert producer.flush() == 0
    assert "no partition for it" in str(told[0])
    assert told[1] is None
    assert values_of(world) == [b"w"]


@pytest.mark.parametrize("call", [Producer.flush, Producer.poll, Producer.close])
def test_an_interrupt_leaves_no_message_untold(call: Any) -> None:
    """B524: each is told, and none is counted for good."""
    world = World(topics={"orders": 1})
    for nth in count():
        # A callback that has no line of its own to be interrupted at.
        told: list[dict[Any, Any]] = [{}, {}, {}]
        producer = producer_in(world)
        for each in told:
            producer.produce("orders", b"v", on_delivery=each.setdefault)
        if call is Producer.poll:
            world.run(world.clock.time + 1.0)
        went_on = interrupted_at(nth, call, producer, 5.0)
        if not producer._closed:
            assert producer.flush(5.0) == 0
        producer.close(5.0)
        assert len(producer) == 0
        assert [len(each) for each in told] == [1, 1, 1], nth
        if not went_on:
            break
    assert nth > 10


def test_a_copy_of_a_producer_is_refused_in_the_faces_words() -> None:
    """B527: also what would wait for no broker; what was parked is told so."""
    told: list[tuple[KafkaError | None, int | None]] = []
    world = World(topics={"orders": 1})
    world.control.kill(1)
    producer = producer_in(
        world, on_delivery=lambda error, message: told.append((error, message.partition()))
    )
    producer.produce("orders", b"v")
    producer._producer._process += 1
    for call in (lambda: producer.flush(1.0), producer.purge, lambda: producer.close(1.0)):
        with pytest.raises(KafkaException, match="after the fork"):
            call()
        producer._closed = False
    assert producer.poll(0) == 1
    [(error, partition)] = told
    assert error == KafkaError._STATE
    assert partition is None
    producer._producer._process -= 1
    producer.close(1.0)
