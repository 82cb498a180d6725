"""Share groups and groups of Kafka Streams as the admin client sees them, on real brokers."""

import time
from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.streams_group_heartbeat.v0 import request as heartbeat
from kio.schema.streams_group_heartbeat.v0.response import StreamsGroupHeartbeatResponse
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32, i32Timedelta, u16

from prokurist import KafkaProducer, TopicPartition
from prokurist.admin import (
    GroupKind,
    KafkaAdmin,
    OffsetSpec,
    ShareOffset,
    Shift,
    StreamsTask,
)
from prokurist.errors import (
    GroupIdNotFoundException,
    IllegalStateException,
    UnknownTopicOrPartitionException,
    UnsupportedVersionException,
)
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka import RealKafka
from tests.broker.raw import SECONDS, connected
from tests.broker.test_admin import started

pytestmark = pytest.mark.kafka

ONE_COPY = {
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
}


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    """A node of Kafka 4.3."""
    with started(RealKafka(controls=True, properties=ONE_COPY)) as kafka:
        yield kafka


@pytest.fixture
def admin(kafka: RealKafka) -> Iterator[KafkaAdmin]:
    """An admin client."""
    with KafkaAdmin({"bootstrap.servers": kafka.bootstrap}) as admin:
        yield admin


def test_offsets_of_a_share_group(admin: KafkaAdmin) -> None:
    """B636: altered, described with their lag, deleted; a missing topic fails by itself."""
    admin.create_topic("shared", 2, wait=True, timeout=30)
    tp, other = (TopicPartition("shared", each) for each in range(2))
    missing = TopicPartition("shared-missing", 0)
    results = admin.alter_share_offsets("sharing", {tp: 0, missing: 1}, timeout=30)
    assert isinstance(results.errors[missing], UnknownTopicOrPartitionException)
    assert results[tp] is None
    found = admin.share_offsets({"sharing": [tp, other], "sharing-not": None}, timeout=30)
    start = found["sharing"][tp]
    assert isinstance(start, ShareOffset)
    assert (start.start, start.lag) == (0, 0)
    assert found["sharing"][other] is None
    assert not found["sharing-not"]
    group = admin.describe_group("sharing", timeout=30)
    assert (group.kind, group.state) == (GroupKind.SHARE, "Empty")
    listed = admin.list_groups(kinds=["share"], timeout=30)
    assert [each.group_id for each in listed] == ["sharing"]
    error = admin.lag(["sharing"], timeout=30).errors["sharing"]
    assert isinstance(error, IllegalStateException)
    assert "share_offsets" in str(error)
    deleted = admin.delete_share_offsets("sharing", ["shared", "shared-missing"], timeout=30)
    assert list(deleted.errors) == ["shared-missing"]
    assert admin.share_offsets({"sharing": [tp]}, timeout=30)["sharing"][tp] is None
    nope = admin.delete_share_offsets("sharing-not", ["shared"], timeout=30)
    assert isinstance(nope.errors["shared"], GroupIdNotFoundException)
    admin.delete_groups(["sharing"], timeout=30).check()


def join(kafka: RealKafka, group: str, topic: str, member: str, epoch: int) -> int:
    """Send a heartbeat of a member of a streams group; its epoch."""
    topology = heartbeat.Topology(
        epoch=i32(1),
        subtopologies=(
            heartbeat.Subtopology(
                subtopology_id="0",
                source_topics=(TopicName(topic),),
                state_changelog_topics=(),
                repartition_source_topics=(),
                copartition_groups=(),
            ),
        ),
    )
    joins = epoch == 0
    request = heartbeat.StreamsGroupHeartbeatRequest(
        group_id=GroupId(group),
        member_id=member,
        member_epoch=i32(epoch),
        endpoint_information_epoch=i32(0),
        rebalance_timeout=i32Timedelta.parse(timedelta(seconds=30)),
        topology=topology if joins else None,
        active_tasks=()
        if joins
        else (heartbeat.TaskIds(subtopology_id="0", partitions=(i32(0), i32(1))),),
        standby_tasks=(),
        warmup_tasks=(),
        process_id="process-1" if joins else None,
        user_endpoint=heartbeat.Endpoint(host="here", port=u16(4711)) if joins else None,
        client_tags=(heartbeat.KeyValue(key="zone", value="a"),) if joins else None,
        task_offsets=None,
        task_end_offsets=None,
    )
    deadline = Deadline.after(MonotonicClock().now(), SECONDS)
    with connected(kafka) as node:
        answer = node.exchange(request, StreamsGroupHeartbeatResponse, deadline)
        # A coordinator that begins, or has not heard of the topic yet, answers by these.
        while answer.error_code in (
            ErrorCode.unknown_server_error,
            ErrorCode.not_coordinator,
            ErrorCode.coordinator_not_available,
            ErrorCode.coordinator_load_in_progress,
        ):
            assert not deadline.expired(MonotonicClock().now()), answer
            time.sleep(0.1)
            answer = node.exchange(request, StreamsGroupHeartbeatResponse, deadline)
    assert answer.error_code is ErrorCode.none, answer
    return int(answer.member_epoch)


def test_a_streams_group(kafka: RealKafka, admin: KafkaAdmin) -> None:
    """B637: its topology, its members, and their tasks."""
    admin.create_topic("streamed", 2, wait=True, timeout=30)
    kafka.coordinator("streaming")
    member, epoch = str(uuid4()), 0
    deadline = Deadline.after(MonotonicClock().now(), 30)
    group = None
    while group is None or not group.members[0].process.tasks.active:  # type: ignore[union-attr]
        assert not deadline.expired(MonotonicClock().now()), group
        epoch = join(kafka, "streaming", "streamed", member, epoch)
        group = admin.describe_group("streaming", operations=True, timeout=30)
    assert group.kind is GroupKind.STREAMS
    assert group.operations
    assert group.topology is not None
    assert group.topology.subtopologies is not None
    assert group.topology.subtopologies[0].source_topics == ("streamed",)
    process = group.members[0].process
    assert process is not None
    assert (process.process_id, process.endpoint) == ("process-1", ("here", 4711))
    assert process.tags == {"zone": "a"}
    assert process.target.active == (StreamsTask("0", (0, 1)),)
    listed = {each.group_id: each for each in admin.list_groups(kinds=["streams"], timeout=30)}
    assert listed["streaming"].state == group.state


def test_a_broker_without_share_groups() -> None:
    """B636: an error of each group, which says what the broker lacks."""
    with (
        started(RealKafka(version="3.9.2", controls=True)) as kafka,
        KafkaAdmin({"bootstrap.servers": kafka.bootstrap}) as admin,
    ):
        admin.create_topic("orders", 1, wait=True, timeout=30)
        admin.alter_offsets("a", {TopicPartition("orders", 0): 1}, timeout=30).check()
        with pytest.raises(UnsupportedVersionException, match="DescribeShareGroupOffsets"):
            admin.share_offsets(["a"], timeout=30)["a"]


def test_a_reset_of_a_share_group(kafka: RealKafka, admin: KafkaAdmin) -> None:
    """B638: planned from its start offsets, kept within the log, and altered."""
    admin.create_topic("shared-again", 1, wait=True, timeout=30)
    tp = TopicPartition("shared-again", 0)
    with KafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
        for each in range(5):
            producer.send("shared-again", b"%d" % each)
        producer.flush(30)
    admin.alter_share_offsets("replayed", {tp: 3}, timeout=30).check()
    earliest = admin.plan_share_offsets("replayed", OffsetSpec.EARLIEST, timeout=30)
    assert (earliest[tp].before, earliest[tp].after) == (3, 0)
    assert admin.plan_share_offsets("replayed", Shift(-1), timeout=30)[tp].after == 2
    plan = admin.plan_share_offsets("replayed", Shift(9), timeout=30)
    assert plan[tp].clamped
    admin.alter_share_offsets(plan.group, plan.offsets, timeout=30).check()
    found = admin.share_offsets(["replayed"], timeout=30)["replayed"][tp]
    assert found is not None
    assert found.start == 5
    assert not admin.plan_share_offsets("replayed-not", OffsetSpec.LATEST, timeout=30)
    admin.delete_groups(["replayed"], timeout=30).check()
