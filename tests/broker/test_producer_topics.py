"""Topics of a producer on three real nodes, and whom it gives records without a key."""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest
from confluent_kafka.admin import AdminClient

from prokurist import Delivery, KafkaProducer, TopicPartition, errors
from prokurist.network_thread.wire.metadata import Metadata
from prokurist.testing.kafka import RealKafka
from tests.topic_configs import set_config

pytestmark = pytest.mark.kafka

NODES: Final = {0, 1, 2}
BATCH: Final = 1000
RECORDS: Final = 2000

Eventually = Callable[[Callable[[], Any]], Any]
Asked = list[frozenset[str]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The topics of each request for metadata that is made, in order."""
    found: Asked = []

    def made(names: Iterable[str] | None, *rest: Any) -> Metadata:
        listed = None if names is None else tuple(names)
        found.append(frozenset(listed or ()))
        return Metadata(listed, *rest)

    monkeypatch.setattr("prokurist.network_thread.cluster.metadata_manager.Metadata", made)
    return found


def without_leader(producer: KafkaProducer, topic: str) -> set[int]:
    """The partitions that have none, as far as it is known without a question."""
    built = producer._side
    assert built is not None
    partitions = built.metadata.cluster.partitions_of(topic)
    return {each.partition for each in partitions if each.leader is None}


def spread(producer: KafkaProducer, topic: str, records: int, rounds: int) -> list[Delivery]:
    """Records without a key, each a batch, with a pause in which brokers catch up."""
    found: list[Delivery] = []
    for _ in range(rounds):
        found += [producer.send(topic, b"x" * BATCH) for _ in range(records)]
        # Not by a flush: what was sent before may wait for a leader.
        assert all(each.result(60.0).offset >= 0 for each in found[-records:])
    return found


def check_even(deliveries: list[Delivery], partitions: Iterable[int]) -> None:
    """These partitions and no others have them, each within a tenth of the mean."""
    shares = Counter(each.partition for each in deliveries)
    assert shares.keys() == set(partitions)
    mean = len(deliveries) / len(shares)
    assert 0.9 * mean < min(shares.values())
    assert max(shares.values()) < 1.1 * mean


def test_new_topics_are_asked_for_alone(prokurist_cluster: RealKafka, asked: Asked) -> None:
    """B347: a request for each names no other, and no topic in use is asked for again."""
    names = [prokurist_cluster.unique_topic(f"new{each}") for each in range(12)]
    with KafkaProducer(bootstrap_servers=prokurist_cluster.bootstrap) as producer:
        for name in names:
            assert producer.send(name, b"v").result(60.0).offset == 0
        # A partition that was made just now may have no leader yet: then all are asked for.
        alone = [each for each in asked if len(each) == 1]
        assert [{name} for name in names] == list(dict.fromkeys(alone))
        assert len(asked) < 3 * len(names)
        before = len(asked)
        for name in names:
            assert producer.send(name, b"v").result(60.0).offset == 1
        assert len(asked) == before


@pytest.mark.usefixtures("startable")
def test_a_missing_topic_takes_no_others_along(asked: Asked) -> None:
    """B347: it is asked for alone, again and again, and found soon after it is made."""
    with (
        RealKafka(auto_create_topics_enable=False) as kafka,
        KafkaProducer(bootstrap_servers=kafka.bootstrap, max_block_ms=3000) as producer,
    ):
        known, late = kafka.unique_topic("known"), "late"
        producer.partitions_for(known, 60.0)
        producer.send(known, b"v").result(60.0)
        asked.clear()
        failed = producer.send(late, b"v")
        assert "does not exist" in str(failed.exception(0))
        assert set(asked) == {frozenset({late})}
        assert 3 <= len(asked) <= 12
        kafka.create_topic(late)
        assert producer.send(late, b"v").result(60.0).offset == 0


@pytest.mark.parametrize("adaptive", [True, False])
def test_shares_are_even(
    prokurist_cluster: RealKafka,
    eventually: Eventually,
    adaptive: bool,  # noqa: FBT001 - a parameter of a test
) -> None:
    """P29, B321, B348: over all partitions, over those with a leader, and over all again."""
    kafka = prokurist_cluster
    topic = kafka.unique_topic(partitions=60)
    leaders = kafka.leaders(topic)
    dead = leaders[0]
    orphaned = {number for number, leader in enumerate(leaders) if leader == dead}
    with KafkaProducer(
        bootstrap_servers=kafka.bootstrap,
        batch_size=BATCH,
        partitioner_adaptive_partitioning_enable=adaptive,
    ) as producer:
        check_even(spread(producer, topic, 60, 20), range(60))
        kafka.kill(dead)
        waiting: list[Delivery] = []

        def lost() -> set[int]:
            waiting.append(producer.send(topic, b"x" * BATCH))
            return without_leader(producer, topic)

        eventually(lambda: lost() == orphaned)
        check_even(spread(producer, topic, 60 - len(orphaned), 20), set(range(60)) - orphaned)
        kafka.restart(dead)
        assert all(each.result(60.0).offset >= 0 for each in waiting)
        # None waits for the others: the topic is in use, and that has them asked for.
        eventually(lambda: not lost())
        check_even(spread(producer, topic, 60, 20), range(60))


@pytest.mark.parametrize("adaptive", [True, False])
def test_a_slow_broker(
    prokurist_cluster: RealKafka,
    adaptive: bool,  # noqa: FBT001 - a parameter of a test
) -> None:
    """P30: a broker whose answers take long gets less, if that is wanted."""
    kafka = prokurist_cluster
    topic = kafka.unique_topic(partitions=3)
    leaders = kafka.leaders(topic)
    assert set(leaders) == NODES
    with KafkaProducer(
        bootstrap_servers=kafka.bootstrap,
        batch_size=BATCH,
        max_in_flight_requests_per_connection=1,
        max_request_size=4 * BATCH,
        partitioner_adaptive_partitioning_enable=adaptive,
        partitioner_availability_timeout_ms=0,
    ) as producer:
        for number in range(3):
            producer.send(topic, b"warm", partition=number).result(60.0)
        slow = kafka.proxy(leaders[0]).delay(1.0)
        sent: list[Delivery] = []
        for _ in range(1500):
            sent.append(producer.send(topic, b"x" * (BATCH // 2)))
            time.sleep(0.002)
        slow.heal()
        producer.flush(120.0)
        assert all(each.offset is not None for each in sent)
    shares = Counter(each.partition for each in sent)
    if adaptive:
        assert shares[0] < 0.7 * min(shares[1], shares[2]), shares
    else:
        assert max(shares.values()) < 1.1 * min(shares.values()), shares


def records_a_batch(producer: KafkaProducer, topic: str) -> float:
    """How many records a batch has, of some that are sent at once."""
    counted = "prokurist_producer_batches_total"
    before = producer.metrics()[counted]
    sent = [producer.send(topic, b"x" * 100, partition=0) for _ in range(RECORDS)]
    producer.flush(60.0)
    assert all(each.exception(0) is None for each in sent)
    return RECORDS / (producer.metrics()[counted] - before)


def test_a_limit_that_was_lowered_for_a_while(
    prokurist_kafka: RealKafka, eventually: Eventually
) -> None:
    """B430: batches are as large as before soon after it was put back."""
    kafka, topic = prokurist_kafka, prokurist_kafka.unique_topic()
    client = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    with KafkaProducer(bootstrap_servers=kafka.bootstrap, linger_ms=50) as producer:
        producer.send(topic, b"v").result(60.0)
        assert records_a_batch(producer, topic) > 100
        set_config(client, topic, "max.message.bytes", 400, 60)
        eventually(lambda: records_a_batch(producer, topic) < 5)
        set_config(client, topic, "max.message.bytes", 1_048_588, 60)
        eventually(lambda: records_a_batch(producer, topic) > 100)


def test_a_batch_that_its_broker_may_have_is_not_split(
    prokurist_kafka: RealKafka,
) -> None:
    """B432: its answer is lost, and the limit is lowered before it is sent again."""
    kafka, topic = prokurist_kafka, prokurist_kafka.unique_topic()
    client = AdminClient({"bootstrap.servers": kafka.direct_bootstrap, "log_level": 0})
    with KafkaProducer(
        bootstrap_servers=kafka.bootstrap, linger_ms=100, request_timeout_ms=2000
    ) as producer:
        producer.send(topic, b"first").result(60.0)
        fault = kafka.proxy().swallow("to_client")
        values = [b"%02d" % number * 50 for number in range(20)]
        sent = [producer.send(topic, value) for value in values]
        time.sleep(1.0)
        set_config(client, topic, "max.message.bytes", 1500, 60)
        fault.heal()
        for each in sent:
            error = each.exception(60.0)
            assert isinstance(error, errors.RecordTooLargeException)
            assert error.may_have_happened
        assert producer.send(topic, b"last").result(60.0).offset == 21


def made_again(kafka: RealKafka, producer: KafkaProducer, topic: str) -> None:
    """Delete a topic and make it again, and have the producer know all of its leaders."""
    built = producer._side
    assert built is not None
    former = built.metadata.cluster.id_of(topic)
    kafka.delete_topic(topic)
    kafka.create_topic(topic, partitions=6)
    places = [TopicPartition(topic, number) for number in range(6)]
    while built.metadata.cluster.id_of(topic) in (None, former) or not all(
        built.metadata.cluster.leader(each) for each in places
    ):
        time.sleep(0.001)


@pytest.mark.usefixtures("startable")
def test_records_for_a_topic_that_was_created_again_are_in_order() -> None:
    """B431: though some of its leaders do not know yet that they are, and refuse the first."""
    with RealKafka(nodes=3, auto_create_topics_enable=False) as kafka:
        check_order(kafka, kafka.unique_topic(partitions=6))


def check_order(kafka: RealKafka, topic: str) -> None:
    """Make a topic again several times, and send five records to each partition at once."""
    with KafkaProducer(
        bootstrap_servers=kafka.bootstrap, linger_ms=0, metadata_max_age_ms=30
    ) as producer:
        for _ in range(5):
            for number in range(6):
                producer.send(topic, b"before", partition=number)
            producer.flush(60.0)
            made_again(kafka, producer, topic)
            sent: list[list[Delivery]] = [[] for _ in range(6)]
            for _ in range(5):
                for number in range(6):
                    sent[number].append(producer.send(topic, b"v", partition=number))
                time.sleep(0.002)
            for deliveries in sent:
                offsets = [each.result(60.0).offset for each in deliveries]
                assert offsets == sorted(offsets)
