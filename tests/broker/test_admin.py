"""The admin client on real brokers: items, lost answers, silent brokers."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from prokurist.admin import (
    Append,
    ConfigResource,
    ConfigSource,
    Delete,
    KafkaAdmin,
    NewPartitions,
    NewTopic,
    Set,
    Subtract,
)
from prokurist.errors import (
    InvalidConfigurationException,
    InvalidPartitionsException,
    InvalidReplicationFactorException,
    TimeoutException,
    TopicExistsException,
    UnknownTopicOrPartitionException,
)
from prokurist.testing.kafka import KafkaUnavailable, RealKafka, is_required

pytestmark = pytest.mark.kafka

RELEASES = ("4.3.1", "3.9.2")
NAMES = count()


@contextmanager
def started(kafka: RealKafka) -> Iterator[RealKafka]:
    """A Kafka that runs, or the test is skipped."""
    try:
        kafka.start()
    except KafkaUnavailable as error:
        if is_required():
            raise
        pytest.skip(error.reason)
    try:
        yield kafka
    finally:
        kafka.close()


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    """Three nodes of each release."""
    with started(RealKafka(nodes=3, version=request.param, controls=True)) as kafka:
        yield kafka


@pytest.fixture(scope="module", params=RELEASES)
def one_node(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    """A node of each release, with a proxy before it."""
    with started(RealKafka(version=request.param, controls=True)) as kafka:
        yield kafka


@pytest.fixture
def admin(kafka: RealKafka) -> Iterator[KafkaAdmin]:
    """An admin client that knows the three brokers."""
    with KafkaAdmin({"bootstrap.servers": kafka.bootstrap}) as admin:
        admin.describe_cluster()
        admin.list_topics()
        yield admin


@pytest.fixture
def name() -> str:
    """A name for a topic."""
    return f"admin-{next(NAMES)}"


@contextmanager
def losing_answers(kafka: RealKafka, seconds: float) -> Iterator[None]:
    """Lose the answers of the present connections; after a while new ones work."""
    fault = kafka.proxy(0).swallow("to_client")
    timer = threading.Timer(seconds, fault.heal)
    timer.start()
    try:
        yield
    finally:
        timer.join()


def test_each_topic_has_its_own_outcome(admin: KafkaAdmin, name: str) -> None:
    """B600: one that cannot be is an error with the broker's words; two are made."""
    bad = f"{name}-bad"
    results = admin.create_topics(
        {
            name: NewTopic(3, 3, {"retention.ms": "60000"}),
            bad: NewTopic(1, 9),
            f"{name}-placed": NewTopic(replicas={0: [1, 2], 1: [2, 0]}),
        },
        wait=True,
        timeout=30,
    )
    assert isinstance(results.errors[bad], InvalidReplicationFactorException)
    assert "9" in str(results.errors[bad])
    topic = results[name]
    assert topic.topic_id is not None
    assert (topic.partitions, topic.replication_factor, topic.visible) == (3, 3, True)
    assert topic.configs is not None
    assert topic.configs["retention.ms"].value == "60000"
    found = admin.describe_topics([name, topic.topic_id, "admin-nope"], operations=True)
    assert found[name].partitions == found[topic.topic_id].partitions
    assert found[name].operations
    assert isinstance(found.errors["admin-nope"], UnknownTopicOrPartitionException)
    assert admin.list_topics()[name].topic_id == topic.topic_id
    with pytest.raises(TopicExistsException, match=name):
        admin.create_topic(name, 1)
    checked = admin.create_topic(f"{name}-not", 4, 2, validate_only=True)
    assert checked.partitions == 4
    assert f"{name}-not" not in admin.list_topics()


def test_partitions_are_added(admin: KafkaAdmin, name: str) -> None:
    """B600: one topic gets them, one has more already, one is not there."""
    admin.create_topic(name, 2, 1, wait=True)
    results = admin.create_partitions({name: 4, "admin-nope": 3}, wait=True, timeout=30)
    assert results[name].total == 4
    assert results[name].visible
    assert isinstance(results.errors["admin-nope"], UnknownTopicOrPartitionException)
    with pytest.raises(InvalidPartitionsException):
        admin.create_partitions({name: 3})[name]
    admin.create_partitions({name: NewPartitions(5, {4: [2]})}, wait=True).check()
    assert admin.describe_topics([name])[name].partitions[4].replicas[0].id == 2


def test_topics_are_deleted_by_name_and_by_id(admin: KafkaAdmin, name: str) -> None:
    """B600: a name is deleted by the id that it has, and one that is not there is an error."""
    first = admin.create_topic(name, 1, 1, wait=True)
    second = admin.create_topic(f"{name}-2", 1, 1, wait=True)
    assert second.topic_id is not None
    results = admin.delete_topics([name, second.topic_id, "admin-nope"], wait=True, timeout=30)
    assert results[name].topic_id == first.topic_id
    assert results[second.topic_id].visible
    assert isinstance(results.errors["admin-nope"], UnknownTopicOrPartitionException)
    assert not {name, f"{name}-2"} & admin.list_topics().keys()


def test_configs_arrive_where_they_must(admin: KafkaAdmin, name: str) -> None:
    """B611: SET, DELETE, APPEND, SUBTRACT of a topic, of one broker and of all."""
    admin.create_topic(name, 1, 1, configs={"retention.ms": "1000"}, wait=True)
    topic, broker, every = (
        ConfigResource.topic(name),
        ConfigResource.broker(2),
        ConfigResource.all_brokers(),
    )
    admin.alter_configs(
        {
            topic: {
                "retention.ms": Delete(),
                "cleanup.policy": Append("compact"),
                "segment.bytes": Set("1048576"),
            },
            broker: {"log.cleaner.threads": Set("2")},
            every: {"log.cleaner.backoff.ms": Set("9000")},
        },
        timeout=30,
    ).check()
    deadline = time.monotonic() + 20
    while True:
        found = admin.describe_configs(
            [topic, broker, every], synonyms=True, timeout=30
        ).check()
        entries = found[topic]
        values = (
            entries["cleanup.policy"].value,
            entries["segment.bytes"].value,
            found[broker]["log.cleaner.threads"].value,
            found[every].get("log.cleaner.backoff.ms"),
        )
        if values[:3] == ("delete,compact", "1048576", "2") and values[3] is not None:
            break
        assert time.monotonic() < deadline, values
        time.sleep(0.2)
    assert entries["segment.bytes"].source is ConfigSource.TOPIC
    assert entries["retention.ms"].source is not ConfigSource.TOPIC
    assert found[broker]["log.cleaner.threads"].source is ConfigSource.BROKER
    other = admin.describe_configs({ConfigResource.broker(1): ["log.cleaner.threads"]})
    assert other[ConfigResource.broker(1)]["log.cleaner.threads"].value == "1"
    admin.alter_configs({topic: {"cleanup.policy": Subtract("compact")}}).check()


def test_a_refused_value_is_one_resources(admin: KafkaAdmin, name: str) -> None:
    """B611: InvalidConfigurationException with the broker's words; the other is altered."""
    admin.create_topics({name: NewTopic(1, 1), f"{name}-2": NewTopic(1, 1)}, wait=True)
    good, bad = ConfigResource.topic(name), ConfigResource.topic(f"{name}-2")
    results = admin.alter_configs(
        {good: {"retention.ms": Set("5")}, bad: {"retention.ms": Set("many")}}
    )
    assert results[good] is None
    assert isinstance(results.errors[bad], InvalidConfigurationException)
    assert "retention.ms" in str(results.errors[bad])


def test_a_lost_answer_is_judged(one_node: RealKafka, name: str) -> None:
    """B601: the answers to creating, growing and deleting are lost; each succeeds."""
    keys = {"bootstrap.servers": one_node.bootstrap, "request.timeout.ms": 1500}
    with KafkaAdmin(keys) as admin:
        # So that changes have their connection, and it is an answer that is lost.
        admin.create_topic(name, 3, 1, validate_only=True)
        with losing_answers(one_node, 1.0):
            made = admin.create_topic(name, 3, 1, configs={"retention.ms": "5"}, timeout=20)
        assert made.earlier_attempt
        assert made.partitions == 3
        with losing_answers(one_node, 1.0):
            grown = admin.create_partitions({name: 5}, timeout=20)[name]
        assert grown.earlier_attempt
        assert len(admin.describe_topics([name])[name].partitions) == 5
        deleted = admin.delete_topic(name, timeout=20)
        assert deleted.topic_id == made.topic_id
        assert name not in admin.list_topics()


def test_without_an_answer_each_item_may_have_happened(one_node: RealKafka, name: str) -> None:
    """B602: at the deadline; and it has."""
    with KafkaAdmin({"bootstrap.servers": one_node.bootstrap}) as admin:
        admin.create_topic(name, 1, 1, validate_only=True)
        began = time.monotonic()
        with losing_answers(one_node, 3.0):
            results = admin.create_topics({name: NewTopic(1, 1)}, timeout=2)
            took = time.monotonic() - began
        error = results.errors[name]
        assert isinstance(error, TimeoutException)
        assert error.may_have_happened
        assert took < 3
    with KafkaAdmin({"bootstrap.servers": one_node.bootstrap}) as admin:
        assert name in admin.list_topics()


def test_the_cluster(kafka: RealKafka, admin: KafkaAdmin) -> None:
    """B612: the brokers by id; operations if asked for."""
    cluster = admin.describe_cluster(operations=True)
    assert len({each.id for each in cluster.brokers}) == 3
    assert cluster.cluster_id
    assert cluster.controller in cluster.brokers
    assert cluster.operations
    if kafka.version == "4.3.1":
        assert admin.describe_cluster(fenced=True).fenced == ()
