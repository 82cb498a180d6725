"""One real node, shared: it answers, it tells about groups, it can be made to stall."""

from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest

from prokurist.events.clock import Clock, Deadline
from prokurist.testing.kafka import AdminFailed, GroupDescription, RealKafka
from prokurist.testing.kafka.admin import Admin
from prokurist.testing.kafka.ports import Address
from prokurist.testing.kafka.wire import BrokerConnection
from prokurist.types import TopicPartition

pytestmark = pytest.mark.kafka

Eventually = Callable[[Callable[[], Any]], Any]
Making = Callable[..., Any]


@pytest.mark.parametrize("way", ["bootstrap", "direct_bootstrap"])
def test_it_answers_api_versions(prokurist_kafka: RealKafka, clock: Clock, way: str) -> None:
    """A node that is ready answers through its proxy and past it."""
    address = Address.parse(getattr(prokurist_kafka, way))
    with BrokerConnection(address, Deadline.after(clock.now(), 10), clock) as node:
        oldest, newest = node.versions[3]
    assert oldest <= 9 <= newest


def test_a_client_is_led_back_to_where_it_came_from(
    prokurist_kafka: RealKafka, producer_of: Making
) -> None:
    """The proxied listener advertises the proxy, the direct one itself."""
    for bootstrap in (prokurist_kafka.bootstrap, prokurist_kafka.direct_bootstrap):
        brokers = producer_of(bootstrap).list_topics(timeout=10).brokers
        assert [f"{broker.host}:{broker.port}" for broker in brokers.values()] == [bootstrap]


def test_a_topic_is_there_when_it_was_created(prokurist_kafka: RealKafka) -> None:
    """Its partitions have leaders at once, and after its end it is unknown."""
    topic = prokurist_kafka.unique_topic("mine", partitions=3, configs={"retention.ms": 60000})
    assert topic.startswith("mine-")
    assert prokurist_kafka.leaders(topic) == [0, 0, 0]
    prokurist_kafka.delete_topic(topic)
    assert prokurist_kafka.leaders(topic) == []


def test_creating_waits_until_the_leaders_are_known(
    prokurist_kafka: RealKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that has not heard of the topic, or of its leader, is asked again."""
    real = Admin.leaders
    answers = [[], [-1]]

    def leaders(self: Admin, topic: str, address: Address, deadline: Deadline) -> list[int]:
        return answers.pop(0) if answers else real(self, topic, address, deadline)

    monkeypatch.setattr(Admin, "leaders", leaders)
    prokurist_kafka.unique_topic()
    assert not answers


def test_a_refusal_has_kafkas_name(prokurist_kafka: RealKafka, prokurist_topic: str) -> None:
    """What the broker refuses is an error with the name of its code."""
    with pytest.raises(AdminFailed, match="TOPIC_ALREADY_EXISTS") as refused:
        prokurist_kafka.create_topic(prokurist_topic)
    assert refused.value.code == "TOPIC_ALREADY_EXISTS"


def test_the_topic_fixture_lets_a_test_delete_it(
    prokurist_kafka: RealKafka, prokurist_topic: str
) -> None:
    """A topic that is gone already does not make the fixture's end an error."""
    prokurist_kafka.delete_topic(prokurist_topic)
    assert prokurist_kafka.leaders(prokurist_topic) == []


def test_a_group_that_does_not_exist_is_dead(prokurist_kafka: RealKafka) -> None:
    """Asking about it is no error, and makes no group."""
    group = prokurist_kafka.describe_group("never-joined")
    assert (group.state, group.members) == ("Dead", ())
    assert prokurist_kafka.coordinator("never-joined") == 0


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_of_either_protocol_is_described(
    prokurist_kafka: RealKafka,
    consumer_of: Making,
    eventually: Eventually,
    protocol: str,
) -> None:
    """Its protocol, state, members and their partitions, in the same words."""
    topic = prokurist_kafka.unique_topic(partitions=4)
    group_id = f"group-of-{topic}"
    members = [
        consumer_of(
            prokurist_kafka.bootstrap, group_id, client_id=name, group_protocol=protocol
        )
        for name in ("first", "second")
    ]
    for member in members:
        member.subscribe([topic])

    def settled() -> GroupDescription | None:
        for member in members:
            member.poll(0.05)
        group = prokurist_kafka.describe_group(group_id)
        owned = [partition for member in group.members for partition in member.assignment]
        each = all(member.assignment == member.target for member in group.members)
        good = group.state == "Stable" and len(group.members) == 2 and each
        return group if good and len(owned) == 4 else None

    group = eventually(settled)
    assert (group.group_id, group.protocol, group.protocol_type) == (
        group_id,
        protocol,
        "consumer",
    )
    assert sorted(member.client_id for member in group.members) == ["first", "second"]
    owned = sorted(tp for member in group.members for tp in member.assignment)
    assert owned == [TopicPartition(topic, number) for number in range(4)]
    assert all(len(member.assignment) == 2 for member in group.members)
    assert all((member.epoch > 0) == (protocol == "consumer") for member in group.members)
    assert all(member.member_id and "127.0.0.1" in member.host for member in group.members)


def test_a_frozen_node_stalls_a_client_until_it_thaws(
    prokurist_kafka: RealKafka, prokurist_topic: str, producer_of: Making
) -> None:
    """Its sockets stay, so that only time tells; then everything goes on."""
    producer = producer_of(prokurist_kafka.bootstrap)
    assert _delivered(producer, prokurist_topic, b"before", within=20)
    prokurist_kafka.freeze()
    assert not _delivered(producer, prokurist_topic, b"meanwhile", within=1)
    with pytest.raises(confluent_kafka.KafkaException):
        producer.list_topics(timeout=1)
    prokurist_kafka.thaw()
    assert producer.flush(20) == 0


def test_a_swallowing_proxy_stalls_a_client_until_it_is_healed(
    prokurist_kafka: RealKafka, prokurist_topic: str, producer_of: Making
) -> None:
    """The broker takes the record and its answer is lost; past the proxy all is well."""
    producer = producer_of(prokurist_kafka.bootstrap, enable_idempotence=True)
    assert _delivered(producer, prokurist_topic, b"before", within=20)
    with prokurist_kafka.proxy(0).swallow("to_client"):
        assert not _delivered(producer, prokurist_topic, b"meanwhile", within=1)
        past = producer_of(prokurist_kafka.direct_bootstrap)
        assert _delivered(past, prokurist_topic, b"past it", within=20)
    assert producer.flush(20) == 0


def test_the_harness_itself_goes_past_the_proxy(prokurist_kafka: RealKafka) -> None:
    """A fault on the wire does not keep a test from looking at the broker."""
    with prokurist_kafka.proxy().refuse(), prokurist_kafka.proxy().swallow():
        topic = prokurist_kafka.unique_topic()
        assert prokurist_kafka.leaders(topic) == [0]


def test_a_question_to_a_frozen_node_ends_by_its_deadline(prokurist_kafka: RealKafka) -> None:
    """With no node that could answer the harness says so, at once."""
    prokurist_kafka.freeze()
    with pytest.raises(AdminFailed, match="no node is up"):
        prokurist_kafka.describe_group("any")


def _delivered(producer: Any, topic: str, value: bytes, *, within: float) -> bool:
    producer.produce(topic, value)
    return bool(producer.flush(within) == 0)
