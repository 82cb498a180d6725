"""The manager of offsets against a real Kafka: plans, commits, refusals and deadlines."""

import re
import secrets
import time
from collections.abc import Callable, Iterator

import confluent_kafka
import pytest

from prokurist import KafkaConsumer, TimeoutException, TopicPartition
from prokurist.spark import (
    CommitBackwardsException,
    DataLossException,
    GroupInUseException,
    OffsetManager,
    OffsetPlan,
)
from prokurist.testing.kafka import AdminFailed, RealKafka
from tests.broker.conftest import Producing
from tests.broker.watching import Watch

pytestmark = pytest.mark.kafka

QUERY = "2319eb01-fe57-49f6-88f0-3cc1584874fa"


@pytest.fixture
def topic(prokurist_kafka: RealKafka, producer_of: Producing) -> Iterator[str]:
    """A topic of two partitions, with sixty records in one and six in the other."""
    name = f"t-{secrets.token_hex(6)}"
    prokurist_kafka.create_topic(name, partitions=2)
    fill(producer_of(prokurist_kafka.bootstrap), name, (60, 6))
    yield name
    prokurist_kafka.heal()


def fill(producer: confluent_kafka.Producer, topic: str, counts: tuple[int, ...]) -> None:
    """Write so many records to each partition."""
    for partition, count in enumerate(counts):
        for number in range(count):
            producer.produce(topic, b"%d" % number, partition=partition)
    assert producer.flush(30) == 0


def made(kafka: RealKafka, topic: str) -> bool:
    """Create a topic again, unless the old one is not gone yet."""
    try:
        kafka.create_topic(topic, partitions=2)
    except AdminFailed as error:
        if error.code != "TOPIC_ALREADY_EXISTS":
            raise
        return False
    return True


@pytest.fixture
def offsets(prokurist_kafka: RealKafka) -> OffsetManager:
    """A manager for a group of its own."""
    group = f"g-{secrets.token_hex(6)}"
    return OffsetManager(prokurist_kafka.bootstrap, group, timeout=30.0)


def group_of(offsets: OffsetManager) -> str:
    """The manager's group."""
    assert offsets._group is not None
    return offsets._group


def read(kafka: RealKafka, plan: OffsetPlan) -> list[tuple[TopicPartition, int]]:
    """Read what a plan says, as tasks would: each record's place."""
    found: list[tuple[TopicPartition, int]] = []
    with KafkaConsumer(bootstrap_servers=kafka.bootstrap) as consumer:
        for each in plan.ranges():
            consumer.assign(each.partition)
            consumer.seek(each.partition, each.start)
            while consumer.position(each.partition, 20.0) < each.end:
                found += [
                    (each.partition, record.offset)
                    for record in consumer.poll(20.0)
                    if record.offset < each.end
                ]
    return found


def test_plan_read_commit_and_nothing_is_left(
    prokurist_kafka: RealKafka, offsets: OffsetManager, topic: str, producer_of: Producing
) -> None:
    """Every record once over a series of jobs, one of which dies before its commit."""
    done: list[tuple[TopicPartition, int]] = []
    plan = offsets.plan(topic, start_missing="earliest", max_offsets=22, min_partitions=4)
    # 22 of 66: 20 of 60, and 2 of 6.
    assert (plan.size, len(plan.ranges())) == (22, 4)
    assert plan.topic_ids.keys() == {topic}
    assert set(plan.leader_epochs.values()) == {0}
    again = offsets.plan(topic, start_missing="earliest", max_offsets=22, min_partitions=4)
    assert read(prokurist_kafka, again) == read(prokurist_kafka, plan)
    while plan:
        offsets.check(OffsetPlan.from_json(plan.to_json()))
        done += read(prokurist_kafka, plan)
        offsets.commit(plan)
        plan = offsets.plan(topic, max_offsets=22)
    assert sorted(done) == [
        (TopicPartition(topic, partition), offset)
        for partition, count in ((0, 60), (1, 6))
        for offset in range(count)
    ]
    assert [each.records for each in offsets.lag().values()] == [0, 0]
    fill(producer_of(prokurist_kafka.bootstrap), topic, (0, 3))
    assert [each.records for each in offsets.lag(topics=topic).values()] == [0, 3]
    assert offsets.plan(topic).size == 3


def test_a_plan_begins_at_a_time(offsets: OffsetManager, topic: str) -> None:
    """Records of the last hour are all; of the hour to come there are none."""
    assert offsets.plan(topic, start="-1h").size == 66
    future = int(time.time() * 1000) + 3_600_000
    assert offsets.plan(topic, start=future, no_record="latest").size == 0


def test_commits_never_go_back(offsets: OffsetManager, topic: str) -> None:
    """Neither by hand nor by a batch that is repeated; only by force."""
    tp = TopicPartition(topic, 0)
    offsets.commit({tp: 40}, query=QUERY, batch=7)
    assert offsets.commit({tp: 30}, query=QUERY, batch=6) == {}
    with pytest.raises(CommitBackwardsException, match=f"{tp} from 40 to 30"):
        offsets.commit({tp: 30})
    assert offsets.lag()[tp].committed == 40
    offsets.commit({tp: 30}, force=True)
    assert offsets.lag()[tp].committed == 30


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_a_live_member_is_refused_and_not_disturbed(
    prokurist_kafka: RealKafka, offsets: OffsetManager, topic: str, protocol: str
) -> None:
    """By either protocol: one error that names the group, and the same generation after it."""
    group = group_of(offsets)
    with KafkaConsumer(
        bootstrap_servers=prokurist_kafka.bootstrap,
        group_id=group,
        group_protocol=protocol,
        enable_auto_commit=False,
    ) as member:
        member.subscribe(topic)
        until = time.monotonic() + 60
        while len(member.assignment()) < 2:
            assert time.monotonic() < until
            member.poll(0.1)
        before = member.group_metadata()
        with pytest.raises(GroupInUseException, match=f"{group!r} has live members"):
            offsets.commit({TopicPartition(topic, 0): 40})
        for _ in range(5):
            member.poll(0.1)
        assert member.group_metadata() == before
        assert len(member.assignment()) == 2
        member.commit_sync({}, timeout=20.0)
    # It has left: the group is free.
    offsets.commit({TopicPartition(topic, 0): 40})
    assert offsets.lag()[TopicPartition(topic, 0)].committed == 40


@pytest.mark.parametrize("call", ["plan", "check", "commit", "lag"])
def test_a_frozen_broker_is_told_of_at_the_deadline(
    prokurist_kafka: RealKafka, offsets: OffsetManager, topic: str, call: str
) -> None:
    """The system accepts connections for it, no broker answers: the error says all of that."""
    plan = offsets.plan(topic, start="earliest")
    calls: dict[str, Callable[[], object]] = {
        "plan": lambda: offsets.plan(topic, timeout=3.0),
        "check": lambda: offsets.check(plan, timeout=3.0),
        "commit": lambda: offsets.commit(plan, timeout=3.0),
        "lag": lambda: offsets.lag(timeout=3.0),
    }
    prokurist_kafka.freeze()
    with Watch(3.0), pytest.raises(TimeoutException) as caught:
        calls[call]()
    prokurist_kafka.thaw()
    text = str(caught.value)
    assert text.startswith(f"OffsetManager.{call} (its ")
    assert re.search(r"was given 3 s and has no result after \d", text)
    assert prokurist_kafka.bootstrap.rpartition(":")[2] in text
    if call == "commit":
        offsets.commit(plan)
        assert not offsets.plan(topic)


def test_a_recreated_topic_ends_a_plan(
    prokurist_kafka: RealKafka, offsets: OffsetManager, topic: str, producer_of: Producing
) -> None:
    """By its id, although it has the same records again."""
    plan = offsets.plan(topic, start="earliest")
    prokurist_kafka.delete_topic(topic)
    until = time.monotonic() + 60
    while not made(prokurist_kafka, topic):
        assert time.monotonic() < until
        time.sleep(0.1)
    fill(producer_of(prokurist_kafka.bootstrap), topic, (60, 6))
    with pytest.raises(DataLossException, match=f"{topic} was deleted and created again"):
        offsets.check(plan)
