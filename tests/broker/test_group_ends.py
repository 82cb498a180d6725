"""How members of a real group end, and what they commit on the way: the two protocols alike."""

import re
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, SubscriptionPattern, TopicPartition
from prokurist.testing.kafka import RealKafka
from prokurist.types import MembershipState
from tests.broker.conftest import Asking

pytestmark = pytest.mark.kafka

QUICK = {
    "group.initial.rebalance.delay.ms": 10,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.min.heartbeat.interval.ms": 500,
    "auto.create.topics.enable": "true",
}
BOTH = pytest.mark.parametrize("protocol", ["classic", "consumer"])


@pytest.fixture(scope="module")
def kafka(startable: None) -> Iterator[RealKafka]:  # noqa: ARG001
    """One node, whose groups settle quickly, and that creates what it is asked for."""
    with RealKafka(1, controls=True, properties=QUICK) as own:
        yield own


@pytest.fixture
def group() -> str:
    """A group of this test's own."""
    return f"g-{secrets.token_hex(6)}"


class Listener:
    """Does what a test wants in `on_partitions_revoked`."""

    def __init__(self, revoked: Callable[[frozenset[TopicPartition]], object]) -> None:
        self.revoked = revoked

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """Nothing."""

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """See the class."""
        self.revoked(partitions)


def member(
    kafka: RealKafka, group: str, topics: Any, listener: object = None, **keys: Any
) -> KafkaConsumer:
    """A consumer that has subscribed, and reads from the beginning."""
    keys.setdefault("auto_offset_reset", "earliest")
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id=group, **keys)
    consumer.subscribe(topics, listener)  # type: ignore[arg-type]
    return consumer


def until(holds: Callable[[], object], *consumers: KafkaConsumer, within: float = 60.0) -> None:
    """Have consumers poll in turn until something holds."""
    end = time.monotonic() + within
    while not holds():
        for each in consumers:
            each.poll(0.1)
        assert time.monotonic() < end


def state(consumer: KafkaConsumer) -> MembershipState | None:
    """Where a member stands."""
    membership = consumer.health().membership
    return None if membership is None else membership.state


@BOTH
def test_an_interrupt_in_the_listener_of_close_leaves_the_group(
    kafka: RealKafka, group: str, eventually: Asking, protocol: str
) -> None:
    """B187: the place is free at once, and not when the session of 45 s is over."""
    topic = kafka.unique_topic(partitions=2)
    listener = Listener(lambda _: signal.raise_signal(signal.SIGINT))
    consumer = member(kafka, group, topic, listener, group_protocol=protocol)
    until(consumer.assignment, consumer)
    with pytest.raises(KeyboardInterrupt):
        consumer.close()
    eventually(lambda: not kafka.describe_group(group).members)


@BOTH
def test_a_wakeup_before_close_ends_no_commit_of_the_listener(
    kafka: RealKafka, group: str, protocol: str
) -> None:
    """B170, B186: a signal came between two polls, and ended the loop."""
    tp = TopicPartition(kafka.unique_topic(partitions=1), 0)
    listener = Listener(lambda _: consumer.commit_sync({tp: OffsetAndMetadata(5)}, timeout=20))
    keys: dict[str, Any] = {"group_protocol": protocol, "enable_auto_commit": False}
    consumer = member(kafka, group, tp.topic, listener, **keys)
    until(consumer.assignment, consumer)
    consumer.wakeup()
    consumer.close()
    with KafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id=group, **keys) as other:
        kept = other.committed(tp, 20)[tp]
    assert kept is not None
    assert kept.offset == 5


@pytest.mark.parametrize("way", ["close", "unsubscribe"])
def test_a_commit_in_revoked_goes_out_in_a_cooperative_round(
    kafka: RealKafka, group: str, way: str
) -> None:
    """B65, B159: the other member does not poll, so that the round goes on."""
    topic = kafka.unique_topic(partitions=2)
    keys: dict[str, Any] = {
        "partition_assignment_strategy": "cooperative-sticky",
        "enable_auto_commit": False,
    }

    def commit(partitions: frozenset[TopicPartition]) -> None:
        one.commit_sync({tp: OffsetAndMetadata(5) for tp in partitions}, timeout=20)

    one = member(kafka, group, topic, Listener(commit), **keys)
    other = member(kafka, group, topic, **keys)
    until(lambda: len(one.assignment()) == len(other.assignment()) == 1, one, other)
    until(lambda: state(one) is MembershipState.STABLE, one, other)
    (tp,) = one.assignment()
    one.enforce_rebalance()
    until(lambda: state(one) is MembershipState.RECONCILING, one)
    getattr(one, way)(20)
    kept = other.committed(tp, 20)[tp]
    assert kept is not None
    assert kept.offset == 5
    other.close()
    one.close()


@BOTH
def test_what_stays_is_committed_when_a_topic_comes(
    kafka: RealKafka, group: str, protocol: str
) -> None:
    """B58: long before the interval is over."""
    one, two = kafka.unique_topic(partitions=1), kafka.unique_topic(partitions=1)
    more = (
        {}
        if protocol == "consumer"
        else {"partition_assignment_strategy": "cooperative-sticky"}
    )
    tp = TopicPartition(one, 0)
    with member(
        kafka, group, one, group_protocol=protocol, auto_commit_interval_ms=600_000, **more
    ) as consumer:
        until(consumer.assignment, consumer)
        consumer.pause(tp)
        consumer.seek(tp, 300)
        consumer.poll(0.2)
        consumer.subscribe([one, two])
        until(lambda: len(consumer.assignment()) == 2, consumer)
        assert consumer.committed(tp, 20) == {tp: OffsetAndMetadata(300)}


@pytest.mark.parametrize("kind", [SubscriptionPattern, re.compile])
def test_a_deleted_topic_of_a_pattern_stays_deleted(
    kafka: RealKafka, group: str, kind: Callable[[str], Any]
) -> None:
    """B129, B155: also where the client may create topics, and the broker does so."""
    topic = kafka.unique_topic(partitions=3)
    with member(
        kafka,
        group,
        kind(f"{topic}.*"),
        group_protocol="consumer",
        metadata_max_age_ms=500,
        allow_auto_create_topics=True,
    ) as consumer:
        until(lambda: len(consumer.assignment()) == 3, consumer)
        kafka.delete_topic(topic)
        until(lambda: not consumer.assignment(), consumer)
        asked = metadata_requests(consumer)
        until(lambda: metadata_requests(consumer) >= asked + 4, consumer)
        assert topic not in consumer.list_topics(20)


def metadata_requests(consumer: KafkaConsumer) -> float:
    """How many it has written."""
    return consumer.metrics().get('prokurist_requests_total{api="Metadata"}', 0)


@BOTH
def test_close_is_prompt_where_every_broker_refuses(kafka: RealKafka, protocol: str) -> None:
    """B181: with the default budget of 30 s, and something to commit."""
    topic = kafka.unique_topic(partitions=1)
    consumers = [
        member(
            kafka, f"{topic}-{auto}", topic, group_protocol=protocol, enable_auto_commit=auto
        )
        for auto in (True, False)
    ]
    until(lambda: all(each.assignment() for each in consumers), *consumers)
    proxy = kafka.proxy()
    proxy.refuse()
    proxy.reset()
    for each in consumers:
        each.poll(0.1)
        began = time.monotonic()
        each.close()
        assert time.monotonic() - began < 15.0
    kafka.heal()
