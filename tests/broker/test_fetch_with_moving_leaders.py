"""Leaders and replicas that come and go on a real Kafka: all is read, without a hot loop."""

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka.admin
import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Asking, Producing
from tests.broker.watching import is_sent_to_a_replica
from tests.soak.moving import move_leaders

pytestmark = pytest.mark.kafka

RACKS = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}


@pytest.fixture(scope="module")
def racks(startable: None) -> Iterator[RealKafka]:  # noqa: ARG001 - it skips
    """Three nodes, each in a rack of its own, whose followers serve consumers."""
    properties = {
        **RACKS,
        "auto.leader.rebalance.enable": "false",
        "broker.session.timeout.ms": "4000",
    }
    with RealKafka(nodes=3, properties=properties) as kafka:
        yield kafka


def fetched(consumer: KafkaConsumer) -> int:
    """How many fetches were answered."""
    return int(dict(consumer.metrics())["prokurist_consumer_fetch_bytes_count"])


def write(producer: Any, tp: TopicPartition, *values: bytes) -> None:
    """Have values written."""
    for value in values:
        producer.produce(tp.topic, value, partition=tp.partition)
    assert producer.flush(60) == 0


def read(consumer: KafkaConsumer, count: int, seconds: float = 40.0) -> list[bytes | None]:
    """The values of so many records; fewer where they do not come in time."""
    got: list[bytes | None] = []
    end = time.monotonic() + seconds
    while len(got) < count and time.monotonic() < end:
        got += [each.value for each in consumer.poll(0.3)]
    return got


def elected(kafka: RealKafka, topic: str, gone: int) -> int:
    """The new leader of a topic's only partition."""
    end = time.monotonic() + 60
    while (leader := kafka.leaders(topic)[0]) in {gone, -1}:
        assert time.monotonic() < end
        time.sleep(0.2)
    return leader


def grown(kafka: RealKafka, tp: TopicPartition, producer: Any) -> None:
    """Have the topic get this partition, with a record in it."""
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": kafka.bootstrap})
    wanted = [confluent_kafka.admin.NewPartitions(tp.topic, tp.partition + 1)]  # type: ignore[attr-defined]
    admin.create_partitions(wanted)[tp.topic].result(30)
    deadline = time.monotonic() + 30
    while len(kafka.leaders(tp.topic)) <= tp.partition:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    write(producer, tp, b"new")


@pytest.mark.minutes
def test_a_quiet_partition_whose_leader_changes_twice(
    racks: RealKafka, producer_of: Producing, eventually: Asking
) -> None:
    """B92, B110: an epoch without records is neither sent nor committed, and reading goes on.

    Followers are not asked in a loop meanwhile, and a new process reads on as well.
    """
    boot = racks.direct_bootstrap
    tp = TopicPartition(racks.unique_topic(partitions=1, replication_factor=3), 0)
    producer = producer_of(boot, acks="all")
    write(producer, tp, b"0")
    first = racks.leaders(tp.topic)[0]
    racks.kill(first)
    second = elected(racks, tp.topic, first)
    racks.restart(first)
    third = next(node for node in range(3) if node not in {first, second})
    keys: dict[str, Any] = {"auto_offset_reset": "latest", "enable_auto_commit": False}
    with (
        KafkaConsumer(bootstrap_servers=boot, group_id="quiet", **keys) as plain,
        KafkaConsumer(bootstrap_servers=boot, client_rack=f"rack-{third}", **keys) as near,
    ):
        for consumer in (plain, near):
            consumer.assign(tp)
            consumer.seek_to_end(tp)
            assert consumer.position(tp, 30.0) == 1
            consumer.poll(0.5)
        plain.commit_sync()
        assert plain.committed(tp) == {tp: OffsetAndMetadata(1)}
        eventually(lambda: (near.poll(0.2), is_sent_to_a_replica(near, tp))[1])
        before = fetched(near)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            near.poll(0.5)
        assert fetched(near) - before < 60
        racks.kill(second)
        elected(racks, tp.topic, second)
        racks.restart(second)
        write(producer, tp, b"1", b"2")
        assert read(plain, 2) == [b"1", b"2"]
        assert read(near, 2) == [b"1", b"2"]
    with KafkaConsumer(bootstrap_servers=boot, group_id="quiet", **keys) as later:
        later.assign(tp)
        assert read(later, 2) == [b"1", b"2"]


@pytest.mark.minutes
def test_a_preferred_replica_that_is_restarted(
    racks: RealKafka, producer_of: Producing, eventually: Asking
) -> None:
    """B110: metadata lose its node; when it is back and named again, reading goes on."""
    boot = racks.direct_bootstrap
    tp = TopicPartition(racks.unique_topic(partitions=1, replication_factor=3), 0)
    producer = producer_of(boot, acks="1")
    near = (racks.leaders(tp.topic)[0] + 1) % 3
    with KafkaConsumer(
        bootstrap_servers=boot, client_rack=f"rack-{near}", auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign(tp)
        write(producer, tp, b"0")
        assert read(consumer, 1) == [b"0"]
        eventually(lambda: (consumer.poll(0.2), is_sent_to_a_replica(consumer, tp))[1])
        racks.kill(near)
        end = time.monotonic() + 8
        while time.monotonic() < end:
            write(producer, tp, b"x")
            assert read(consumer, 1) == [b"x"]
            time.sleep(0.2)
        racks.restart(near)
        before = fetched(consumer)
        for nth in range(20):
            write(producer, tp, b"%d" % nth)
            assert read(consumer, 1, 20.0) == [b"%d" % nth]
            time.sleep(0.2)
        assert fetched(consumer) - before < 400
        eventually(lambda: (consumer.poll(0.2), is_sent_to_a_replica(consumer, tp))[1])


def test_a_frozen_leader_is_replaced(racks: RealKafka, producer_of: Producing) -> None:
    """B106, B84: its replacement is found when it is elected, not at request.timeout.ms."""
    boot = racks.direct_bootstrap
    tp = TopicPartition(racks.unique_topic(partitions=1, replication_factor=3), 0)
    producer = producer_of(boot, acks="1")
    write(producer, tp, b"0")
    leader = racks.leaders(tp.topic)[0]
    with KafkaConsumer(bootstrap_servers=boot, auto_offset_reset="earliest") as consumer:
        consumer.assign(tp)
        assert read(consumer, 1) == [b"0"]
        racks.freeze(leader)
        try:
            elected(racks, tp.topic, leader)
            write(producer_of(boot, acks="1"), tp, b"1")
            assert read(consumer, 1, 12.0) == [b"1"]
            assert consumer.end_offsets(tp, 12.0) == {tp: 2}
        finally:
            racks.thaw(leader)


def test_an_offline_partition_holds_up_no_other(
    racks: RealKafka, producer_of: Producing
) -> None:
    """B84: those that have to be reset are read while the leader of committed ones is away."""
    boot = racks.direct_bootstrap
    topic = racks.unique_topic(partitions=6, replication_factor=1)
    every = [TopicPartition(topic, number) for number in range(6)]
    producer = producer_of(boot, acks="all")
    for tp in every:
        write(producer, tp, b"x", b"y")
    leaders = racks.leaders(topic)
    away = leaders[0]
    bad = [tp for tp in every if leaders[tp.partition] == away]
    good = {tp for tp in every if tp not in bad}
    keys: dict[str, Any] = {"group_id": f"{topic}-g", "enable_auto_commit": False}
    with KafkaConsumer(bootstrap_servers=boot, **keys) as consumer:
        consumer.commit_sync({tp: OffsetAndMetadata(1, leader_epoch=0) for tp in bad})
    racks.kill(away)
    try:
        with KafkaConsumer(
            bootstrap_servers=boot, auto_offset_reset="earliest", **keys
        ) as consumer:
            consumer.assign(every)
            seen: set[TopicPartition] = set()
            end = time.monotonic() + 30
            while not good <= seen and time.monotonic() < end:
                seen |= set(consumer.poll(0.3).partitions())
            assert seen >= good
            assert all(consumer.position(tp, 1.0) == 2 for tp in good)
    finally:
        racks.restart(away)


@pytest.mark.parametrize("by", ["seek before", "seek", "commit"])
def test_a_partition_that_metadata_lack(
    prokurist_kafka: RealKafka, producer_of: Producing, consumer_of: Any, by: str
) -> None:
    """B106: it is read soon, though no look-up of its position asks for metadata."""
    kafka = prokurist_kafka
    old = TopicPartition(kafka.unique_topic(partitions=1), 0)
    new = TopicPartition(old.topic, 1)
    producer = producer_of(kafka.bootstrap)
    group = f"{old.topic}-g"
    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap, group_id=group, enable_auto_commit=False
    ) as consumer:
        if by == "seek before":
            consumer.assign(new)
            consumer.seek(new, 0)
            consumer.poll(1.0)
            grown(kafka, new, producer)
        else:
            consumer.assign(old)
            consumer.poll(1.0)
            grown(kafka, new, producer)
            if by == "commit":
                other = consumer_of(kafka.bootstrap, group)
                offset = confluent_kafka.TopicPartition(new.topic, new.partition, 0)
                other.commit(offsets=[offset], asynchronous=False)
            consumer.assign([old, new])
            if by == "seek":
                consumer.seek(new, 0)
        assert read(consumer, 1, 20.0) == [b"new"]


def test_a_backlog_does_not_starve_a_quiet_partition(
    prokurist_kafka: RealKafka, producer_of: Producing
) -> None:
    """B97: records of a quiet partition come soon, however slowly the backlog is worked off."""
    busy = TopicPartition(prokurist_kafka.unique_topic(partitions=2), 0)
    quiet = TopicPartition(busy.topic, 1)
    producer = producer_of(prokurist_kafka.bootstrap, linger_ms=20)
    for _ in range(20_000):
        producer.produce(busy.topic, b"a" * 500, partition=0)
    assert producer.flush(60) == 0
    with KafkaConsumer(
        bootstrap_servers=prokurist_kafka.bootstrap,
        auto_offset_reset="earliest",
        fetch_buffer_max_bytes=4_000_000,
        max_poll_records=50,
    ) as consumer:
        consumer.assign([busy, quiet])
        consumer.poll(5.0)
        late = list[float]()
        for _ in range(5):
            time.sleep(0.3)
            write(producer, quiet, b"x")
            began = time.monotonic()
            while quiet not in consumer.poll(1.0).partitions():
                time.sleep(0.05)
            late.append(time.monotonic() - began)
        assert max(late) < 3.0
        assert consumer.position(busy) < 20_000


def test_a_grown_topic_of_a_group_whose_member_leaves(
    prokurist_kafka: RealKafka, producer_of: Producing
) -> None:
    """B106: a member that is given it, with a commit without an epoch, reads it."""
    kafka = prokurist_kafka
    topic = kafka.unique_topic(partitions=2)
    new = TopicPartition(topic, 2)
    producer = producer_of(kafka.bootstrap)

    def member() -> KafkaConsumer:
        consumer = KafkaConsumer(
            bootstrap_servers=kafka.bootstrap,
            group_id=f"{topic}-g",
            group_protocol="consumer",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        consumer.subscribe(topic)
        return consumer

    members = [member(), member()]
    values: dict[KafkaConsumer, list[bytes | None]] = {each: [] for each in members}

    def spin(until: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not until():
            assert time.monotonic() < end
            for each in members:
                values[each] += [record.value for record in each.poll(0.1)]

    try:
        spin(lambda: all(len(each.assignment()) == 1 for each in members))
        grown(kafka, new, producer)
        spin(lambda: any(values.values()))
        owner = next(each for each in members if values[each])
        owner.commit_sync({new: OffsetAndMetadata(1)})
        members.remove(owner)
        owner.close()
        write(producer, new, b"2")
        spin(lambda: values[members[0]] == [b"2"])
    finally:
        for each in members:
            each.close(2)


def test_what_is_taken_back_comes_again_from_another_leader(
    prokurist_cluster: RealKafka, producer_of: Producing
) -> None:
    """B535: a leader that was elected behind a poll leaves `take_back` as it is."""
    kafka = prokurist_cluster
    tp = TopicPartition(kafka.unique_topic(replication_factor=3), 0)
    producer = producer_of(kafka.bootstrap)
    write(producer, tp, b"0", b"1", b"2")
    lot = random.Random(1)  # noqa: S311 - a lot to be drawn again
    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.assign([tp])
        assert read(consumer, 2) == [b"0", b"1", b"2"]
        consumer.take_back()
        assert [each.value for each in consumer.poll(20.0)] == [b"0", b"1", b"2"]
        before = kafka.leaders(tp.topic)
        end = time.monotonic() + 60.0
        while kafka.leaders(tp.topic) == before:
            assert time.monotonic() < end
            move_leaders(kafka, tp.topic, 1, 0, lot)
        # What comes behind the poll is of the new leader.
        write(producer, tp, b"3")
        assert [each.value for each in consumer.poll_more(20.0)] == [b"3"]
        consumer.take_back()
        assert read(consumer, 4) == [b"0", b"1", b"2", b"3"]
    kafka.delete_topic(tp.topic)
