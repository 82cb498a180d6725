"""Every call against a real Kafka 3.9, and in the protocols of older ones still."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TimeoutException, TopicPartition
from prokurist.assembly.consumer import ConsumerSide  # a seam for tests, not for users
from prokurist.assembly.network_side import System, trace_of
from prokurist.config import ConsumerConfig
from prokurist.events.clock import MonotonicClock
from prokurist.network_thread.io.resolver import Resolver
from prokurist.network_thread.io.selector import SelectorNetwork
from prokurist.network_thread.wire import codec
from prokurist.network_thread.wire.apis import Api
from prokurist.network_thread.wire.versions import Versions
from prokurist.testing.kafka import KafkaUnavailable, RealKafka, is_required
from tests.broker.watching import Watch
from tests.every_call import TP, UNKNOWN, WITH_DEADLINE, ready

pytestmark = pytest.mark.kafka

VERSION = "3.9.2"


@pytest.fixture(scope="module")
def old_kafka() -> Iterator[RealKafka]:
    """A Kafka 3.9, shared by the tests of this file."""
    kafka = RealKafka(version=VERSION, controls=True, auto_create_topics_enable=False)
    try:
        kafka.start()
    except KafkaUnavailable as error:
        if is_required():
            raise
        pytest.skip(error.reason)
    try:
        kafka.create_topic("orders", partitions=3)
        yield kafka
    finally:
        kafka.close()


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> set[tuple[Api, int]]:
    """The APIs that are asked, and in which versions."""
    found: set[tuple[Api, int]] = set()
    encode = codec.encode

    def noted(request: Any, version: int, *rest: Any) -> Any:
        found.add((request.api, version))
        return encode(request, version, *rest)

    monkeypatch.setattr(codec, "encode", noted)
    return found


def capped(kafka: RealKafka, group: str, release: str | None) -> KafkaConsumer:
    """A consumer that speaks no newer than a release did."""
    config = ConsumerConfig(
        bootstrap_servers=kafka.bootstrap, group_id=group, enable_auto_commit=False
    )
    clock = MonotonicClock()
    network = SelectorNetwork(receive_buffer_bytes=-1, send_buffer_bytes=-1)
    system = System(
        clock=clock,
        network=network,
        resolver=Resolver(network.wake),
        random=Random(1),  # noqa: S311 - jitter is no secret
        cap=None if release is None else Versions.of_kafka(release),
    )
    side = ConsumerSide(config, trace_of(config, "consumer", group, clock), system)
    side.thread.start()
    return KafkaConsumer.wired(config, clock, side)


@pytest.mark.parametrize("release", [None, "2.4", "2.5", "2.8", "3.0", "3.3", "3.7"])
def test_every_call(
    old_kafka: RealKafka, written: set[tuple[Api, int]], release: str | None
) -> None:
    """B33, B67, B74, B75, B87, B195: as with today's Kafka, over older API versions."""
    with capped(old_kafka, f"g-{release}", release) as consumer:
        ready(consumer)
        consumer.commit_sync({TP: OffsetAndMetadata(4, "old")}, timeout=20)
        assert consumer.committed([TP, UNKNOWN], timeout=20) == {
            TP: OffsetAndMetadata(4, "old"),
            UNKNOWN: None,
        }
        assert consumer.position(UNKNOWN, timeout=20) == 0
        assert consumer.beginning_offsets(TP, timeout=20) == {TP: 0}
        assert consumer.end_offsets([TP, UNKNOWN], timeout=20) == {TP: 0, UNKNOWN: 0}
        assert consumer.offsets_for_times({TP: 1}, timeout=20) == {TP: None}
        partitions = [each.partition for each in consumer.partitions_for("orders", timeout=20)]
        assert partitions == [0, 1, 2]
        assert consumer.partitions_for("nothing", timeout=20) == []
        assert "orders" in consumer.list_topics(timeout=20)
        consumer.unsubscribe()
        consumer.assign(TP)
        assert consumer.position(TP, timeout=20) == 4
        # On a busy machine it may take longer than one poll until it is asked for.
        while not any(api.name == "Fetch" for api, _ in written):
            assert not consumer.poll(0.05)
    if release is not None:
        newest = {api: Versions.of_kafka(release).ranges[api.key].newest for api, _ in written}
        assert len(newest) > 6
        assert [each for each in written if each[1] > newest[each[0]]] == []


def test_every_call_ends_in_time(old_kafka: RealKafka) -> None:
    """B2, B22, B28: with it frozen, too."""
    consumer = capped(old_kafka, "frozen", None)
    ready(consumer)
    old_kafka.freeze()
    try:
        for call in WITH_DEADLINE.values():
            with Watch(0.15), pytest.raises(TimeoutException):
                call(consumer, 0.15)
        with Watch(0.15):
            assert not consumer.poll(0.15)
        with Watch(0.0):
            consumer.close(0)
    finally:
        old_kafka.heal()


def test_a_topic_that_is_not_there(old_kafka: RealKafka) -> None:
    """B5: an older broker refuses the commit in the same words."""
    with (
        capped(old_kafka, "missing", None) as consumer,
        pytest.raises(TimeoutException, match="UnknownTopicOrPartition"),
    ):
        consumer.commit_sync({TopicPartition("missing", 0): OffsetAndMetadata(1)}, timeout=5.0)
