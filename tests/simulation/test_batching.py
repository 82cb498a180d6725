"""Batches and memory: P18 to P26."""

from functools import partial

import pytest

from prokurist import KafkaProducer, TopicPartition, errors
from prokurist.network_thread.produce.manager import ProduceManager
from prokurist.network_thread.produce.partition_sending import PartitionSending
from prokurist.records.compression import Compression
from prokurist.testing.cluster.journal import Entry
from tests.simulation.producing import TP, batches_of, failure, produced, values_of
from tests.simulation.world import World


def warm(world: World, producer: KafkaProducer, partitions: int = 1) -> None:
    """Have the topic known, the connection stand, and the journal empty."""
    for number in range(partitions):
        producer.send("orders", b"warm", partition=number)
    producer.flush(5.0)
    world.control.forget_requests()


def sizes(entries: list[Entry]) -> list[int]:
    """Bytes of batches in each request."""
    return [
        sum(
            len(partition.records)
            for topic in entry.body.topic_data
            for partition in topic.partition_data
        )
        for entry in entries
    ]


def test_batches_grow_while_the_broker_is_slow() -> None:
    """P18, B225, B240, B313: beyond `batch.size`, and not beyond `max.request.size`."""
    world = World()
    with world.producer(max_request_size=100_000, batch_size=1000, linger_ms=0) as producer:
        warm(world, producer)
        with world.control.delay("Produce", 0.2):
            for number in range(2000):
                producer.send("orders", b"%0100d" % number, partition=0)
                if number % 20 == 0:
                    world.clock.sleep(0.001)
            producer.flush(30.0)
        got = sizes(produced(world))
        assert max(got) > 50_000
        assert max(got) <= 100_000
    assert values_of(world)[1:] == [b"%0100d" % number for number in range(2000)]


def test_an_old_batch_takes_no_more() -> None:
    """P19, B313: older than a tenth of `delivery.timeout.ms`, so records keep the rest."""
    world = World()
    with world.producer(delivery_timeout_ms=20_000, request_timeout_ms=10_000) as producer:
        warm(world, producer)
        world.control.freeze()
        for _ in range(5):  # As many as may be in flight.
            producer.send("orders", b"v", partition=0)
            world.clock.sleep(0.01)
        old = producer.send("orders", b"old", partition=0)
        world.clock.sleep(1.9)
        same = producer.send("orders", b"same", partition=0)
        world.clock.sleep(0.2)
        new = producer.send("orders", b"new", partition=0)
        assert same._batch is old._batch
        assert new._batch is not old._batch
        world.control.thaw()
        producer.flush(20.0)


def test_one_record_lingers_and_costs_one_wake() -> None:
    """P20, B224: on the wire five milliseconds later, with one entry of the Timer."""
    world = World()
    sender = world.sender(linger_ms=5)
    producer = KafkaProducer.wired(sender.config, world.clock, sender.side)
    with producer:
        warm(world, producer)
        world.clock.sleep(1.0)
        wakes, turns = sender.network.wakes, sender.network.turns
        began = world.clock.time
        producer.send("orders", b"v", partition=0)
        world.clock.sleep(0.003)
        assert not produced(world)
        due = [each for _, _, each in sender.timer._heap if each.live]
        assert sum(each.reason.startswith("batches that linger") for each in due) == 1
        world.clock.sleep(0.1)
        (entry,) = produced(world)
        assert entry.at - began == pytest.approx(0.006, abs=0.0011)
        assert sender.network.wakes - wakes == 1
        assert sender.network.turns - turns <= 5


def test_linger_zero_sends_at_once() -> None:
    """Without a pause."""
    world = World()
    with world.producer(linger_ms=0) as producer:
        warm(world, producer)
        began = world.clock.time
        producer.send("orders", b"v", partition=0).result(1.0)
        assert world.clock.time - began < 0.004


def test_waiters_for_memory_are_served_in_order() -> None:
    """P21, B222: one whose time is over leaves; the next one gets the room."""
    world = World()
    with world.producer(
        buffer_memory=40_000, batch_size=16_384, max_block_ms=500, request_timeout_ms=5000
    ) as producer:
        warm(world, producer, 3)
        with world.control.delay("Produce", 1.2):
            for number in range(2):
                producer.send("orders", b"x" * 16_000, partition=number)
            began = world.clock.time
            error = failure(producer.send("orders", b"y" * 16_000, partition=2))
            assert world.clock.time - began == pytest.approx(0.5)
            assert isinstance(error, errors.BufferExhaustedException)
            assert not error.may_have_happened
            assert "room in buffer.memory" in str(error)
            assert "max.block.ms" in str(error)
            world.clock.sleep(0.5)
            began = world.clock.time
            late = producer.send("orders", b"z" * 16_000, partition=2)
            assert 0.0 < world.clock.time - began < 0.5
            assert late.result(5.0).partition == 2


def test_pressure_makes_everything_ready() -> None:
    """B224: what lingers is sent when a record waits for memory."""
    world = World()
    with world.producer(
        buffer_memory=40_000, linger_ms=60_000, delivery_timeout_ms=120_000
    ) as producer:
        producer.partitions_for("orders", 1.0)
        for number in range(3):
            producer.send("orders", b"x" * 16_000, partition=number)
        assert world.clock.time < 1001.0
        producer.flush(5.0)


def test_memory_of_an_expired_batch_is_kept_while_its_frame_is_written() -> None:
    """P22: it goes back when the connection is gone."""
    world = World()
    sender = world.sender(
        delivery_timeout_ms=2000, request_timeout_ms=1900, linger_ms=0, buffer_memory=100_000
    )
    producer = KafkaProducer.wired(sender.config, world.clock, sender.side)
    memory = sender.side.accumulator.memory
    with producer:
        warm(world, producer)
        world.control.freeze()
        sender.network.jam()
        sender.side.produce._terms  # noqa: B018 - as wired
        delivery = producer.send("orders", b"v", partition=0)
        world.clock.sleep(1.0)
        sender.config.request_timeout_ms  # noqa: B018 - as configured
        assert memory.free < memory.total
        world.clock.sleep(1.05)
        assert failure(delivery).may_have_happened  # type: ignore[attr-defined]
        world.control.thaw()
        sender.network.unjam()
        world.clock.sleep(5.0)
        assert memory.free == memory.total


def test_ten_thousand_expired_batches_leave_nothing() -> None:
    """P23: memory and lists are as before."""
    world = World(topics={"orders": 100})
    sender = world.sender(
        delivery_timeout_ms=1100, request_timeout_ms=1000, linger_ms=0, batch_size=100
    )
    producer = KafkaProducer.wired(sender.config, world.clock, sender.side)
    with producer:
        producer.partitions_for("orders", 1.0)
        world.control.freeze()
        for _ in range(20):
            for number in range(100):
                producer.send("orders", b"v", partition=number)
            world.clock.sleep(0.2)
        world.clock.sleep(3.0)
        accumulator = sender.side.accumulator
        assert not accumulator.incomplete
        assert not accumulator._growing
        assert not accumulator._lingering


def test_an_idle_producer_takes_no_turn() -> None:
    """P24, B316: with thousands of known partitions, and also right after it has sent."""
    world = World(topics={"orders": 3000})
    sender = world.sender(metadata_max_age_ms=3_600_000, connections_max_idle_ms=3_600_000)
    producer = KafkaProducer.wired(sender.config, world.clock, sender.side)
    with producer:
        for number in range(0, 3000, 7):
            producer.send("orders", b"v", partition=number)
        producer.flush(10.0)
        world.clock.sleep(0.1)
        turns = sender.network.turns
        world.clock.sleep(600.0)
        assert sender.network.turns == turns


def test_a_turn_looks_only_at_what_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """P25: with many partitions known, the work for one record stays the same."""
    looked: list[int] = []
    arranged = ProduceManager._arrange

    def counting(self: ProduceManager, partition: PartitionSending) -> None:
        looked[-1] += 1
        arranged(self, partition)

    monkeypatch.setattr(ProduceManager, "_arrange", counting)
    for partitions in (3, 3000):
        world = World(topics={"orders": partitions})
        with world.producer(linger_ms=0) as producer:
            looked.append(0)
            warm(world, producer)
            looked[-1] = 0
            producer.send("orders", b"v", partition=0).result(1.0)
    assert looked[0] == looked[1] <= 3


def test_every_ready_partition_has_its_turn() -> None:
    """P26: a hundred are ready, and a request has room for ten."""
    world = World(topics={"orders": 100})
    with world.producer(
        max_request_size=11_000, batch_size=1000, linger_ms=50, max_in_flight=1
    ) as producer:
        producer.partitions_for("orders", 1.0)
        world.clock.sleep(0.2)
        for _ in range(3):
            for number in range(100):
                producer.send("orders", b"x" * 900, partition=number)
        producer.flush(30.0)
        seen: list[set[int]] = [
            {each.index for topic in entry.body.topic_data for each in topic.partition_data}
            for entry in produced(world)
        ]
        assert max(map(len, seen)) <= 12
        served: set[int] = set()
        for each in seen:
            if len(served) == 100:
                break
            assert not served & each, "a second turn before all had their first"
            served |= each


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_batches_are_compressed(codec: str) -> None:
    """P27: part-filled ones, too; the log has the codec, and the values."""
    world = World()
    with world.producer(compression_type=codec, linger_ms=0) as producer:
        for number in range(300):
            producer.send("orders", b"%0100d" % number, partition=0)
            if number % 100 == 0:
                world.clock.sleep(0.1)
        producer.flush(5.0)
    assert values_of(world) == [b"%0100d" % number for number in range(300)]
    assert {each.attributes & 7 for each in batches_of(world)} == {Compression[codec.upper()]}
    assert sum(len(each.data) for each in batches_of(world)) < 30_000


def test_no_record_waits_behind_another_topic() -> None:
    """One that is unknown is not waited for by the others."""
    world = World(topics={"orders": 1, "other": 1})
    with world.producer(linger_ms=0) as producer:
        warm(world, producer)
        with world.control.hold("Metadata"):
            world.at(world.clock.time + 0.05, world.control.heal)
            assert producer.send("other", b"v").result(1.0).offset == 0
            assert producer.send("orders", b"v").result(1.0).offset == 1


def test_records_stay_in_order_across_batches() -> None:
    """Within a partition, through growth and several requests in flight."""
    world = World()
    with (
        world.producer(batch_size=200, linger_ms=1) as producer,
        world.control.delay("Produce", 0.01),
    ):
        for number in range(500):
            producer.send("orders", b"%d" % number, partition=0)
            if number % 7 == 0:
                world.clock.sleep(0.001)
        producer.flush(10.0)
    assert values_of(world) == [b"%d" % number for number in range(500)]


def test_topics_that_are_not_used_are_forgotten() -> None:
    """By `metadata.max.idle.ms`; the next record looks it up again."""
    world = World(topics={"orders": 1, "other": 1})
    sender = world.sender(metadata_max_idle_ms=5000, metadata_max_age_ms=4000)
    producer = KafkaProducer.wired(sender.config, world.clock, sender.side)
    with producer:
        warm(world, producer)
        producer.send("other", b"v").result(1.0)
        for _ in range(5):
            world.clock.sleep(4.0)
            producer.send("orders", b"v").result(1.0)
        assert set(sender.side.accumulator.appender.topics) == {"orders"}
        last = world.control.requests("Metadata")[-1]
        assert {each.name for each in last.body.topics} == {"orders"}
        assert producer.send("other", b"v").result(1.0).offset == 1


def test_a_grown_topic_is_used() -> None:
    """Records without a key reach partitions that are new."""
    world = World(topics={"orders": 1})
    with world.producer(metadata_max_age_ms=2000, linger_ms=0, batch_size=1) as producer:
        warm(world, producer)
        world.control.add_partitions("orders", 3)
        world.clock.sleep(2.5)
        for _ in range(9):
            producer.send("orders", b"v")
        producer.flush(5.0)
    got = [len(values_of(world, TopicPartition("orders", number))) for number in range(3)]
    assert min(got) >= 3, got
    assert partial(values_of, world, TP)()


def test_records_without_a_key_fill_one_partition_after_the_other() -> None:
    """B239: the next one is chosen after `batch.size` bytes; shares are even."""
    world = World()
    with world.producer(batch_size=1000, linger_ms=0) as producer:
        warm(world, producer)
        sent = [producer.send("orders", b"x" * 100).partition for _ in range(90)]
    changes = [place for place in range(1, 90) if sent[place] != sent[place - 1]]
    assert 6 <= len(changes) <= 9
    counts = [sent.count(number) for number in range(3)]
    assert max(counts) - min(counts) <= 10, counts
