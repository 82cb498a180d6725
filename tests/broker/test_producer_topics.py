"""Topics of a producer on three real nodes, and whom it gives records without a key."""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest

from prokurist import Delivery, KafkaProducer
from prokurist.network_thread.wire.metadata import Metadata
from prokurist.testing.kafka import RealKafka

pytestmark = pytest.mark.kafka

NODES: Final = {0, 1, 2}
BATCH: Final = 1000

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
