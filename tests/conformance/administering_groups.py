"""Scenarios of groups, offsets and records as administrators change them."""

from datetime import timedelta
from typing import Any, Final

from tests.conformance.classic import scene
from tests.conformance.sides import Topic
from tests.conformance.stage import Stage

PATIENCE: Final = timedelta(seconds=20)


def subscription(*names: str) -> bytes:
    """A consumer's subscription, as the classic protocol carries it."""
    each = b"".join(len(name).to_bytes(2) + name.encode() for name in names)
    return b"\0\0" + len(names).to_bytes(4) + each + b"\xff\xff\xff\xff"


def commit(stage: Stage, group: str, topic: Topic, *partitions: int, offset: int = 3) -> None:
    """Commit as an administrator: no member, and no epoch."""
    rows = [
        {"partition_index": each, "committed_offset": offset, "committed_metadata": ""}
        for each in partitions
    ]
    stage.ask(
        "b",
        "OffsetCommit",
        group_id=group,
        member_id="",
        generation_id_or_member_epoch=-1,
        topics=[{"name": topic.name, "topic_id": topic.id, "partitions": rows}],
    )


def look(stage: Stage, *groups: str) -> None:
    """Describe groups, and list them."""
    stage.ask("b", "DescribeGroups", groups=list(groups), include_authorized_operations=True)
    seen = stage.quietly("b", "ListGroups", 4, states_filter=())
    found = [each for each in seen.groups if each.group_id in groups]
    rows = sorted((each.group_id, each.group_state, each.protocol_type) for each in found)
    stage.look("the list", rows)


def delete(stage: Stage, *groups: str) -> None:
    """Delete groups."""
    stage.ask("b", "DeleteGroups", groups_names=list(groups))


def member(stage: Stage, group: str, kind: str = "consumer", metadata: bytes = b"") -> str:
    """Join a classic group as its one member, and share out; its id."""
    values: dict[str, Any] = {
        "group_id": group,
        "session_timeout": PATIENCE,
        "rebalance_timeout": PATIENCE,
        "protocol_type": kind,
        "protocols": [{"name": "range", "metadata": metadata}],
    }
    body = stage.ask("m", "JoinGroup", 5, member_id="", **values)
    body = stage.ask("m", "JoinGroup", 5, member_id=body.member_id, **values)
    me: dict[str, Any] = {"group_id": group, "member_id": body.member_id, "generation_id": 1}
    parts = [{"member_id": body.member_id, "assignment": b"all"}]
    stage.ask("m", "SyncGroup", 3, **me, assignments=parts)
    return str(body.member_id)


def groups_administered(stage: Stage) -> None:
    """Groups without members: made by a commit, described, deleted, deleted again."""
    topic, group = stage.topic(2), stage.name
    other = f"{group}-other"
    look(stage, group, other)
    delete(stage, group, other)
    commit(stage, group, topic, 0, 1)
    look(stage, group, other)
    delete(stage, group, other, group)
    look(stage, group)
    delete(stage, "")
    delete(stage)
    stage.ask("b", "DescribeGroups", groups=["", group, group])


def members_administered(stage: Stage) -> None:
    """A group with a member: described, not deleted; its member removed by an administrator."""
    topic, group = stage.topic(2), stage.name
    one = member(stage, group, metadata=subscription(topic.name))
    look(stage, group)
    delete(stage, group)
    commit(stage, group, topic, 0)
    stage.ask("b", "LeaveGroup", 3, group_id=group, members=[{"member_id": "nobody"}])
    stage.ask("b", "LeaveGroup", 3, group_id=group, members=[{"member_id": one}])
    look(stage, group)
    delete(stage, group)
    look(stage, group)


def offsets_administered(stage: Stage) -> None:
    """Offsets of a group without members, committed and read by an administrator."""
    topic, group = stage.topic(2), stage.name
    commit(stage, group, topic, 0, 1, 2)
    commit(stage, group, Topic("no-such-topic", topic.id), 0)
    commit(stage, group, topic, 0, offset=0)
    commit(stage, group, topic, 0, offset=10**9)
    commit(stage, group, topic)
    stage.ask("b", "OffsetFetch", 7, group_id=group, topics=None)


def offsets_deleted(stage: Stage) -> None:
    """Offsets of topics that members read, and that they do not; of what is not there."""
    topic, other, group = stage.topic(2), stage.topic(1), stage.name

    def forget(name: str = group, *topics: str, partitions: tuple[int, ...] = (0, 1)) -> None:
        rows = [{"partition_index": each} for each in partitions]
        asked = [{"name": each, "partitions": rows} for each in topics]
        stage.ask("b", "OffsetDelete", 0, group_id=name, topics=asked)
        stage.ask("b", "OffsetFetch", 7, group_id=group, topics=None)

    forget(group, topic.name)
    forget("", topic.name)
    commit(stage, group, topic, 0, 1)
    commit(stage, group, other, 0)
    forget(group, topic.name, "no-such-topic", partitions=(0, 7))
    forget(group, topic.name, partitions=(0,))
    forget(group)
    one = member(stage, group, metadata=subscription(topic.name))
    forget(group, topic.name, other.name, "no-such-topic")
    stage.ask("b", "LeaveGroup", 3, group_id=group, members=[{"member_id": one}])
    forget(group, topic.name, other.name)
    forget(group, topic.name)
    name = f"{group}-connect"
    one = member(stage, name, "connect", b"x")
    forget(name, topic.name)
    stage.ask("b", "LeaveGroup", 3, group_id=name, members=[{"member_id": one}])
    forget(name, topic.name)


def consumers_administered(stage: Stage) -> None:
    """A group of the consumer protocol: what an administrator may do while it lives."""
    group = scene(stage)
    other = stage.topic(1)
    commit(stage, group.group, other, 0)
    group.hb("m", 0)
    look(stage, group.group)
    stage.ask("b", "ConsumerGroupDescribe", group_ids=[group.group, "", f"{group.group}-none"])
    delete(stage, group.group)
    for name in (group.topic, other.name, "no-such-topic"):
        rows = [{"name": name, "partitions": [{"partition_index": 0}]}]
        stage.ask("b", "OffsetDelete", 0, group_id=group.group, topics=rows)
    commit(stage, group.group, other, 0)
    group.hb("m", -1)
    look(stage, group.group)
    stage.ask("b", "ConsumerGroupDescribe", group_ids=[group.group])
    delete(stage, group.group)
    look(stage, group.group)


def records_deleted(stage: Stage) -> None:
    """Records below offsets: within the log, at its ends, beyond; of what is not there."""
    topic = stage.topic(2)
    stage.produce(topic, *(b"v%d" % nth for nth in range(10)))
    compacted = stage.made(f"{stage.name}-compacted", cleanup_policy="compact")

    def before(offset: int, name: str = topic.name, partition: int = 0) -> None:
        rows = [{"partition_index": partition, "offset": offset}]
        topics = [{"name": name, "partitions": rows}]
        stage.ask("b", "DeleteRecords", topics=topics, timeout=PATIENCE)

    for offset in (0, 4, 2, 4, 11, -2, 9, -1, 10, 11):
        before(offset)
        for special in (-2, -1):
            row = {"partition_index": 0, "timestamp": special, "current_leader_epoch": -1}
            topics = [{"name": topic.name, "partitions": [row]}]
            stage.ask("b", "ListOffsets", 5, replica_id=-1, topics=topics)
    before(0, partition=1)
    before(-1, partition=1)
    before(0, partition=7)
    before(0, "no-such-topic")
    before(0, compacted.name)
    before(0, "__consumer_offsets")
