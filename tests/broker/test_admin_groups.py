"""Groups as the admin client sees and changes them, on real brokers of two releases."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from prokurist import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from prokurist.admin import (
    ALL,
    GroupKind,
    GroupState,
    KafkaAdmin,
    MemberToRemove,
)
from prokurist.errors import (
    GroupIdNotFoundException,
    GroupNotEmptyException,
    GroupSubscribedToTopicException,
    IncompleteListingException,
    TimeoutException,
    UnknownMemberIdException,
    UnknownTopicOrPartitionException,
)
from prokurist.testing.kafka import RealKafka
from tests.broker.test_admin import RELEASES, started
from tests.broker.watching import LATE
from tests.stopwatch import Stopwatch

pytestmark = pytest.mark.kafka

NAMES = count()
DELETE_GROUPS = 42


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    """Three nodes of each release."""
    with started(RealKafka(nodes=3, version=request.param, controls=True)) as kafka:
        yield kafka


@pytest.fixture
def admin(kafka: RealKafka) -> Iterator[KafkaAdmin]:
    """An admin client that knows the three brokers."""
    with KafkaAdmin({"bootstrap.servers": kafka.bootstrap}) as admin:
        admin.describe_cluster()
        yield admin


@pytest.fixture
def topic(admin: KafkaAdmin) -> str:
    """A topic of three partitions, with ten records in the first."""
    name = f"admin-groups-{next(NAMES)}"
    admin.create_topic(name, 3, 3, wait=True, timeout=30)
    return name


@contextmanager
def reading(kafka: RealKafka, group: str, topic: str, protocol: str) -> Iterator[KafkaConsumer]:
    """A consumer that has all partitions of a topic."""
    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        group_id=group,
        group_protocol=protocol,
        client_id=f"{group}-client",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.subscribe([topic])
        consumer.wait_until_ready(30.0)
        yield consumer


@contextmanager
def losing_the_answer(kafka: RealKafka, api_key: int) -> Iterator[None]:
    """Lose the answer to the first request of an API."""
    asked: list[bool] = []

    def watch(data: bytes) -> bytes:
        if int.from_bytes(data[4:6]) == api_key and not asked:
            asked.append(True)
        return data

    def lose(data: bytes) -> bytes:
        if asked == [True]:
            asked.append(False)
            return b""
        return data

    proxy = kafka.proxy(0)
    with proxy.change(watch, "to_broker"), proxy.change(lose, "to_client"):
        yield
    assert asked == [True, False]


def partitions(topic: str) -> list[TopicPartition]:
    """The partitions of a topic."""
    return [TopicPartition(topic, each) for each in range(3)]


def protocols(kafka: RealKafka) -> list[str]:
    """The protocols that a release has switched on."""
    return ["classic", "consumer"] if kafka.version.startswith("4") else ["classic"]


def test_groups_are_listed_and_described(
    kafka: RealKafka, admin: KafkaAdmin, topic: str
) -> None:
    """B619, B620, B621: a group of each protocol, one without members, and a missing one."""
    tps = partitions(topic)
    idle, nope = f"{topic}-idle", f"{topic}-nope"
    admin.alter_offsets(idle, {tps[0]: 5}, timeout=30).check()
    for protocol in protocols(kafka):
        group = f"{topic}-{protocol}"
        with reading(kafka, group, topic, protocol):
            listed = {each.group_id: each for each in admin.list_groups(timeout=30)}
            assert (listed[group].kind, listed[group].state) == (protocol, "Stable")
            assert listed[idle].state == GroupState.EMPTY
            names = {each.group_id for each in admin.list_groups(states=["Empty"], timeout=30)}
            assert idle in names
            assert group not in names
            kinds = {each.group_id for each in admin.list_groups(kinds=[protocol], timeout=30)}
            assert group in kinds
            assert (idle in kinds) == (protocol == "classic")
            found = admin.describe_groups([group, idle, nope], operations=True, timeout=30)
            assert isinstance(found.errors[nope], GroupIdNotFoundException)
            assert found[idle].kind is GroupKind.CLASSIC
            described = found[group]
            assert described.kind == protocol
            assert described.operations
            assert described.coordinator is not None
            assert described.coordinator.id == listed[group].coordinator
            (member,) = described.members
            assert member.assignment == frozenset(tps)
            assert member.topics == {topic}
            assert member.client_id == f"{group}-client"
            assert member.is_classic == (protocol == "classic")


def test_a_group_with_members_stays(kafka: RealKafka, admin: KafkaAdmin, topic: str) -> None:
    """B624: offsets are neither altered nor deleted, nor is the group, in both protocols."""
    tps = partitions(topic)
    for protocol in protocols(kafka):
        group = f"{topic}-{protocol}"
        with reading(kafka, group, topic, protocol) as consumer:
            consumer.commit_sync({tps[0]: OffsetAndMetadata(0)})
            error = admin.alter_offsets(group, {tps[0]: 1}, timeout=30).errors[tps[0]]
            assert isinstance(error, GroupNotEmptyException)
            kept = admin.delete_offsets(group, tps[:1], timeout=30).errors[tps[0]]
            assert isinstance(kept, GroupSubscribedToTopicException)
            deleted = admin.delete_groups([group], timeout=30).errors[group]
            assert isinstance(deleted, GroupNotEmptyException)
            offsets = admin.group_offsets([group], timeout=30)[group]
            assert offsets[tps[0]].offset == 0  # type: ignore[union-attr]  # it is there


def test_offsets_are_altered_and_deleted(admin: KafkaAdmin, topic: str) -> None:
    """B623, B625: with metadata; of several groups; a missing topic fails by itself."""
    tps = partitions(topic)
    one, two = f"{topic}-one", f"{topic}-two"
    missing = TopicPartition(f"{topic}-missing", 0)
    results = admin.alter_offsets(
        one, {tps[0]: 5, tps[1]: OffsetAndMetadata(7, "by hand", 3), missing: 1}, timeout=30
    )
    assert isinstance(results.errors[missing], UnknownTopicOrPartitionException)
    assert results[tps[0]] is None
    admin.alter_offsets(two, {tps[2]: 1}, timeout=30).check()
    found = admin.group_offsets({one: None, two: tps, f"{topic}-none": tps[:1]}, timeout=30)
    assert found[one][tps[1]] == OffsetAndMetadata(7, "by hand", 3)
    assert dict(found[two]) == {tps[0]: None, tps[1]: None, tps[2]: OffsetAndMetadata(1)}
    assert dict(found[f"{topic}-none"]) == {tps[0]: None}
    admin.delete_offsets(one, tps[:1], timeout=30).check()
    admin.delete_offsets(one, tps[:1], timeout=30).check()
    assert list(admin.group_offsets([one], timeout=30)[one]) == tps[1:2]
    nope = admin.delete_offsets(f"{topic}-none", tps[:2], timeout=30)
    assert len(nope.errors) == 2
    assert isinstance(nope.errors[tps[0]], GroupIdNotFoundException)
    deleted = admin.delete_groups([one, two, f"{topic}-none"], timeout=30)
    assert list(deleted.errors) == [f"{topic}-none"]
    assert isinstance(deleted.errors[f"{topic}-none"], GroupIdNotFoundException)


def test_members_are_removed(kafka: RealKafka, admin: KafkaAdmin, topic: str) -> None:
    """B626: by name, and all; also of the consumer protocol."""
    for protocol in protocols(kafka):
        group = f"{topic}-{protocol}"
        with reading(kafka, group, topic, protocol):
            (member,) = admin.describe_group(group, timeout=30).members
            nobody = MemberToRemove("nobody")
            mine = MemberToRemove(member.member_id)
            results = admin.remove_members(group, [nobody, mine], timeout=30)
            assert isinstance(results.errors[nobody], UnknownMemberIdException)
            assert not results[mine].earlier_attempt
        with reading(kafka, group, topic, protocol):
            assert admin.remove_members(group, ALL, reason="a test", timeout=30).check()


def test_lag_of_a_group(kafka: RealKafka, admin: KafkaAdmin, topic: str) -> None:
    """B627: in one call, from the log's start where nothing is committed."""
    tps = partitions(topic)
    with KafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
        for tp in tps[:2]:
            for each in range(10):
                producer.send(topic, b"%d" % each, partition=tp.partition)
        producer.flush(30)
    for protocol in protocols(kafka):
        group = f"{topic}-{protocol}"
        with reading(kafka, group, topic, protocol) as consumer:
            consumer.commit_sync({tps[0]: OffsetAndMetadata(4)})
            lags = admin.lag([group, f"{topic}-nope"], newest=True, timeout=30)
            assert isinstance(lags.errors[f"{topic}-nope"], GroupIdNotFoundException)
            assert [lags[group][tp].lag for tp in tps] == [6, 10, 0]
            assert lags.total(group) == 16
            assert time.time() - lags[group][tps[0]].newest_at < 60  # type: ignore[operator]
            assert lags[group][tps[2]].newest_at is None
            assert all(lags[group][tp].member_id for tp in tps)
            assert group in admin.lag(timeout=30)


def test_one_frozen_broker(kafka: RealKafka, admin: KafkaAdmin, topic: str) -> None:
    """B619, B658: it is named, and the groups of the others, with their lag, are there."""
    described = admin.describe_topics([topic], timeout=30)[topic]
    tp = next(
        TopicPartition(topic, each.partition)
        for each in described.partitions
        if each.leader is not None and each.leader.id != 2
    )
    for each in range(12):
        admin.alter_offsets(f"{topic}-{each}", {tp: 0}, timeout=30).check()
    listed = {each.group_id: each.coordinator for each in admin.list_groups(timeout=30)}
    mine = {name: listed[name] for name in listed if name.startswith(f"{topic}-")}
    assert len(mine) == 12
    kafka.freeze(2)
    try:
        with Stopwatch() as took, pytest.raises(IncompleteListingException) as raised:
            admin.list_groups(timeout=2)
        assert took.own < 2 + LATE
        assert list(raised.value.errors) == [2]
        found = admin.list_groups(partial=True, timeout=2)
        # By now the controller may have taken it out of the cluster.
        assert found.errors.keys() <= {2}
        assert all(isinstance(each, TimeoutException) for each in found.errors.values())
        names = {each.group_id for each in found}
        assert names >= {name for name, node in mine.items() if node != 2}
        with Stopwatch() as took:
            lags = admin.lag(mine, timeout=10)
        assert took.own < 10 + LATE
        for name, node in mine.items():
            if node != 2:
                assert lags[name][tp].committed == OffsetAndMetadata(0)
            elif name in lags.errors:
                # A broker that takes over tells of no group before its high watermark.
                late = TimeoutException, GroupIdNotFoundException
                assert isinstance(lags.errors[name], late)
    finally:
        kafka.thaw(2)


def test_the_answer_to_a_deletion_is_lost() -> None:
    """B601, B622: the repetition finds no group, so this call has deleted it.

    Before the first group nothing is looked up.
    """
    with (
        started(RealKafka(controls=True)) as kafka,
        KafkaAdmin(bootstrap_servers=kafka.bootstrap, request_timeout_ms=2000) as admin,
    ):
        with pytest.raises(GroupIdNotFoundException):
            admin.describe_group("billing", timeout=30)
        assert "__consumer_offsets" not in admin.list_topics(internal=True, timeout=30)
        admin.create_topic("orders", 1, wait=True, timeout=30)
        orders = TopicPartition("orders", 0)
        admin.alter_offsets("billing", {orders: 5}, timeout=30).check()
        with losing_the_answer(kafka, DELETE_GROUPS):
            deleted = admin.delete_groups(["billing"], timeout=20)["billing"]
        assert deleted.earlier_attempt
