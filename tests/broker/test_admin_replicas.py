"""Records, replicas, quorum and features on real brokers, and brokers that are frozen."""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from prokurist import KafkaProducer, TopicPartition
from prokurist.admin import (
    Cancel,
    FeatureUpdate,
    KafkaAdmin,
    OffsetSpec,
    Replica,
    Upgrade,
)
from prokurist.errors import (
    BrokerIdNotRegisteredException,
    BrokerNotAvailableException,
    IllegalStateException,
    InvalidReplicationFactorException,
    KafkaException,
    NoReassignmentInProgressException,
    OffsetOutOfRangeException,
    UnknownTopicOrPartitionException,
)
from prokurist.testing.kafka import KafkaUnavailable, RealKafka, is_required

pytestmark = pytest.mark.kafka

RELEASES = ("4.3.1", "3.9.2")
NAMES = count()


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    """Three nodes of each release."""
    kafka = RealKafka(nodes=3, version=request.param, controls=True)
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


@pytest.fixture
def admin(kafka: RealKafka) -> Iterator[KafkaAdmin]:
    """An admin client."""
    with KafkaAdmin({"bootstrap.servers": kafka.bootstrap}) as admin:
        yield admin


@pytest.fixture
def name(admin: KafkaAdmin) -> str:
    """A topic of three partitions, with two replicas each."""
    name = f"replicas-{next(NAMES)}"
    admin.create_topic(name, replicas={0: [0, 1], 1: [1, 2], 2: [2, 0]}, wait=True)
    return name


def until(check: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until a check is true."""
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_records_are_deleted_and_offsets_found(
    kafka: RealKafka, admin: KafkaAdmin, name: str
) -> None:
    """B613: by three leaders; one request is beyond the end, one about no partition."""
    with KafkaProducer({"bootstrap.servers": kafka.bootstrap}) as producer:
        for partition in range(3):
            for number in range(10):
                producer.send(name, b"v", partition=partition, timestamp=1000 + number)
    first, second, third = (TopicPartition(name, number) for number in range(3))
    nowhere = TopicPartition(name, 9)
    results = admin.delete_records({first: 4, second: 99, third: -1, nowhere: 1}, timeout=20)
    assert results[first] == 4
    assert results[third] == 10
    assert isinstance(results.errors[second], OffsetOutOfRangeException)
    assert isinstance(results.errors[nowhere], UnknownTopicOrPartitionException)
    assert admin.delete_records({first: 2})[first] == 4
    found = admin.list_offsets(
        {first: OffsetSpec.EARLIEST, second: OffsetSpec.LATEST, third: OffsetSpec.LATEST}
    ).check()
    assert [found[tp].offset for tp in (first, second, third)] == [4, 10, 10]
    timed = admin.list_offsets({first: 1007, second: OffsetSpec.MAX_TIMESTAMP, third: 5000})
    assert timed[first].offset == 7
    assert timed[first].timestamp == 1007
    assert timed[second].offset == 9
    assert timed[third].offset is None


def test_log_dirs(admin: KafkaAdmin, name: str) -> None:
    """B616: of all brokers, of one, and of one that is not there."""
    made = {TopicPartition(name, 0), TopicPartition(name, 2)}

    def replicas() -> Collection[TopicPartition]:
        (there,) = admin.describe_log_dirs([0]).check()[0].values()
        return there.replicas.keys()

    # A broker makes the folders of a topic a moment after the controller has made the topic.
    until(lambda: made <= set(replicas()))
    every = admin.describe_log_dirs().check()
    assert sorted(every) == [0, 1, 2]
    (there,) = every[0].values()
    assert there.total_bytes
    some = admin.describe_log_dirs([1, 7], timeout=5)
    assert some[1]
    assert isinstance(some.errors[7], BrokerNotAvailableException)
    moved = Replica(name, 0, 0)
    admin.alter_log_dirs({moved: there.path}).check()
    refused = admin.alter_log_dirs({moved: "/nowhere", Replica(name, 0, 7): "/a"}, timeout=5)
    assert set(refused.errors) == {moved, Replica(name, 0, 7)}


def test_partitions_are_reassigned(admin: KafkaAdmin, name: str) -> None:
    """B615: moved, cancelled without need, and refused for another number of replicas."""
    first, second, third = (TopicPartition(name, number) for number in range(3))
    results = admin.reassign({first: [2, 1], second: Cancel(), third: [0, 1, 2]}, timeout=20)
    assert not results[first].earlier_attempt
    assert isinstance(results.errors[second], NoReassignmentInProgressException)
    assert isinstance(results.errors[third], InvalidReplicationFactorException)
    until(lambda: first not in admin.list_reassignments())
    replicas = admin.describe_topics([name])[name].partitions[0].replicas
    until(
        lambda: (
            [each.id for each in admin.describe_topics([name])[name].partitions[0].replicas]
            == [2, 1]
        )
    )
    assert len(replicas) <= 3
    admin.reassign({third: [0, 1, 2]}, allow_rf_change=True).check()
    until(lambda: len(admin.describe_topics([name])[name].partitions[2].replicas) == 3)
    until(lambda: third not in admin.list_reassignments([third]))


def test_leaders_are_elected(admin: KafkaAdmin, name: str) -> None:
    """B614: one of three needs it, since its preferred leader is another by now."""
    first, second, third = (TopicPartition(name, number) for number in range(3))
    admin.reassign({first: [1, 0]}).check()
    until(lambda: first not in admin.list_reassignments())
    results = admin.elect_leaders([first, second, third, TopicPartition(name, 9)])
    assert results[first].elected
    assert not results[second].elected
    assert not results[third].elected
    assert len(results.errors) == 1
    admin.elect_leaders(None).check()
    with pytest.raises(ValueError, match="name its partitions"):
        admin.elect_leaders(None, unclean=True)


def test_quorum_and_features(kafka: RealKafka, admin: KafkaAdmin) -> None:
    """B617: three voters; the living are not unregistered; an update is checked only."""
    quorum = admin.quorum()
    assert {each.id for each in quorum.voters} == {0, 1, 2}
    assert quorum.leader_id in {0, 1, 2}
    levels = admin.features()["metadata.version"]
    assert levels.finalized is not None
    assert levels.supported is not None
    with pytest.raises(IllegalStateException, match="is alive"):
        admin.unregister_broker(1)
    with pytest.raises(BrokerIdNotRegisteredException):
        admin.unregister_broker(77)
    results = admin.update_features(
        {"metadata.version": FeatureUpdate(1, Upgrade.SAFE_DOWNGRADE)}, validate_only=True
    )
    assert isinstance(results.errors["metadata.version"], KafkaException)
    assert admin.features()["metadata.version"] == levels
    assert kafka.nodes == 3


@contextmanager
def frozen(kafka: RealKafka, node: int) -> Iterator[None]:
    """Freeze a node for the length of a block."""
    kafka.freeze(node)
    try:
        yield
    finally:
        kafka.thaw(node)


def test_a_frozen_broker_is_passed_over(kafka: RealKafka, admin: KafkaAdmin, name: str) -> None:
    """B604: brokers other than the active controller are frozen, with their connection up."""
    for number in range(2):
        followers = sorted({0, 1, 2} - {admin.quorum().leader_id})
        node = followers[number]
        for _ in range(3):
            admin.describe_cluster()
        with frozen(kafka, node):
            began = time.monotonic()
            made = admin.create_topic(f"{name}-{number}", 1, 1, timeout=15)
            assert not made.earlier_attempt
            assert name in admin.list_topics(timeout=15)
            took = time.monotonic() - began
        assert took < 12
        until(lambda: len(admin.describe_cluster().brokers) == 3, 60)
