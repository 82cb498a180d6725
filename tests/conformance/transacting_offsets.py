"""Scenarios of offsets that are committed in transactions."""

from typing import Any

from tests.conformance.committing import offsets, position
from tests.conformance.sides import Topic
from tests.conformance.stage import Stage
from tests.conformance.transacting import (
    MINUTE,
    STRANGER,
    Numbers,
    Transactor,
    protocols,
)

# --- offsets --------------------------------------------------------------------------------


def offsets_in_transactions(stage: Stage) -> None:
    """Pending offsets, for who wants stable ones and for who does not; several transactions."""
    topic, other, group = stage.topic(3), stage.topic(), stage.name
    for grows in protocols(stage):
        group = f"{stage.name}-{int(grows)}"
        one, two = (Transactor(stage, each, grows=grows) for each in ("a", "b"))
        one.init()
        two.init()
        one.commit_offsets(group, position(topic, (0, 5)))
        one.send_offsets(group, position(topic, (0, 5), (1, 6)), position(other, (0, 1)))
        for stable in (False, True):
            offsets(stage, group, (topic, (0, 1, 2)), (other, (0,)), require_stable=stable)
            offsets(stage, group, everything=True, require_stable=stable)
        stage.ask("a", "DescribeGroups", groups=[group])
        two.send_offsets(group, position(topic, (0, 7), metadata="m", epoch=0))
        one.send_offsets(group, position(topic, (1, 8)))
        two.end()
        offsets(stage, group, (topic, (0, 1, 2)), require_stable=True)
        one.end()
        offsets(stage, group, everything=True, require_stable=True)
        stage.ask("a", "DescribeGroups", groups=[group])
        one.send_offsets(group, position(topic, (0, 11), (9, 1)), position(other, (0, 3)))
        one.send_offsets(group, position(topic, (2, 9), metadata="x" * 4097))
        one.end(commit=False)
        offsets(stage, group, everything=True, require_stable=True)
        one.send_offsets(group, position(topic, (0, 12)))
        plain: dict[str, Any] = {
            "group_id": group,
            "member_id": "",
            "generation_id_or_member_epoch": -1,
            "topics": [position(topic, (0, 13))],
        }
        stage.ask("a", "OffsetCommit", **plain)
        offsets(stage, group, (topic, (0, 1)), require_stable=True)
        one.end()
        offsets(stage, group, (topic, (0, 1)), require_stable=True)


def offsets_refused_in_transactions(stage: Stage) -> None:
    """Without a group added, of a group without a name, of generations that there are not."""
    topic, group = stage.topic(), stage.name
    where = position(topic, (0, 5))
    producer = Transactor(stage, "a", grows=stage.speaks("EndTxn", 5))
    for version in (0, 1, 2, 3, 4, 5):
        if not stage.speaks("TxnOffsetCommit", version):
            continue
        producer.init()
        producer.commit_offsets(f"{group}-{version}", where, version=version)
        producer.describe()
        producer.end()
        producer.end(commit=False)
    for grows in protocols(stage):
        producer = Transactor(stage, "b", grows=grows)
        producer.commit_offsets(group, where, numbers=Numbers(STRANGER, 0))
        producer.init()
        producer.init()
        producer.send_offsets("", where)
        producer.send_offsets(group, where, member="x", generation=3)
        producer.send_offsets(group, where, member="", generation=0)
        producer.send_offsets(group, where, member="x", generation=-1)
        producer.send_offsets(group, where, instance="i")
        never = Topic("no-such-topic", topic.id)
        producer.send_offsets(group, position(never, (0, 1)))
        producer.send_offsets(group)
        producer.send_offsets(group, where, numbers=producer.numbers.ahead(-1))
        if stage.speaks("EndTxn", 5):
            # Kafka 3.9 takes the epoch ahead, and refuses the marker for ever.
            producer.send_offsets(group, where, numbers=producer.numbers.ahead(1))
        stranger = Numbers(STRANGER, 0)
        producer.send_offsets(group, where, numbers=stranger)
        producer.end(commit=False)
        producer.describe()
        offsets(stage, group, everything=True, require_stable=True)


def offsets_of_deleted_groups(stage: Stage) -> None:
    """A group, or a topic, is deleted while a transaction has offsets of it pending."""
    topic, group = stage.topic(), stage.name
    for grows in protocols(stage):
        producer = Transactor(stage, "a", grows=grows)
        producer.init()
        name = f"{group}-{int(grows)}"
        producer.send_offsets(name, position(topic, (0, 5)))
        stage.ask("a", "DeleteGroups", groups_names=[name])
        offsets(stage, name, (topic, (0,)), require_stable=True)
        producer.end()
        offsets(stage, name, (topic, (0,)), require_stable=True)


def judge_members(producer: Transactor, group: str, topic: Topic, member: str) -> None:
    """Commit as the member of generation 1, as it in others, as a stranger and as nobody."""
    where = position(topic, (0, 7))
    for name, generation, instance in (
        (member, 1, None),
        (member, 0, None),
        (member, 2, None),
        (member, -1, None),
        (member, 1, "i"),
        ("nobody", 1, None),
        ("", -1, None),
    ):
        producer.send_offsets(
            group, where, member=name, generation=generation, instance=instance
        )
        producer.end(commit=False)


def offsets_of_classic_members(stage: Stage) -> None:
    """The right member and generation, and those that are not."""
    topic = stage.topic()
    for grows in protocols(stage):
        group = f"{stage.name}-{int(grows)}"
        values: dict[str, Any] = {
            "group_id": group,
            "session_timeout": MINUTE,
            "rebalance_timeout": MINUTE,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b"r"}],
        }
        body = stage.ask("m", "JoinGroup", 5, member_id="", **values)
        body = stage.ask("m", "JoinGroup", 5, member_id=body.member_id, **values)
        me = body.member_id
        producer = Transactor(stage, "a", grows=grows)
        producer.init()
        judge_members(producer, group, topic, me)
        parts = [{"member_id": me, "assignment": b"all"}]
        stage.ask(
            "m",
            "SyncGroup",
            3,
            generation_id=1,
            member_id=me,
            group_id=group,
            assignments=parts,
        )
        judge_members(producer, group, topic, me)
        producer.send_offsets(group, position(topic, (0, 9)), member=me, generation=1)
        offsets(stage, group, (topic, (0,)), require_stable=True)
        producer.end()
        offsets(stage, group, (topic, (0,)), require_stable=True)


def offsets_of_consumer_members(stage: Stage) -> None:
    """A member of the consumer protocol, in its epoch and in others: as a classic one."""
    topic = stage.topic()
    for grows in protocols(stage):
        group = f"{stage.name}-{int(grows)}"
        member = "AAAAAAAAAAAAAAAAAAAAAA"
        beat: dict[str, Any] = {
            "group_id": group,
            "member_id": member,
            "rebalance_timeout": MINUTE,
            "topic_partitions": [],
        }
        body = stage.ask(
            "m",
            "ConsumerGroupHeartbeat",
            1,
            member_epoch=0,
            subscribed_topic_names=[topic.name],
            **beat,
        )
        epoch = body.member_epoch
        producer = Transactor(stage, "a", grows=grows)
        producer.init()
        where = position(topic, (0, 7))
        for name, number in (
            (member, epoch),
            (member, epoch - 1),
            (member, epoch + 1),
            (member, -1),
            ("nobody", epoch),
            ("", -1),
        ):
            producer.send_offsets(group, where, member=name, generation=number)
            producer.end(commit=False)
        producer.send_offsets(group, where, member=member, generation=epoch)
        offsets(stage, group, (topic, (0,)), member=member, epoch=epoch, require_stable=True)
        producer.end()
        offsets(stage, group, (topic, (0,)), member=member, epoch=epoch, require_stable=True)
