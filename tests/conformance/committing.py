"""Scenarios of OffsetCommit and OffsetFetch outside of a membership."""

import uuid
from typing import Any

from tests.conformance.sides import Topic
from tests.conformance.stage import Stage


def commit(
    stage: Stage,
    group: str,
    *topics: dict[str, Any],
    member: str = "",
    epoch: int = -1,
    **more: Any,
) -> None:
    """Commit for a group, by default as no member."""
    values: dict[str, Any] = {
        "group_id": group,
        "member_id": member,
        "generation_id_or_member_epoch": epoch,
    }
    stage.ask("a", "OffsetCommit", topics=list(topics), **values, **more)


def position(
    topic: Topic, *rows: tuple[int, int], metadata: str | None = "", epoch: int = -1
) -> dict[str, Any]:
    """A topic of a commit: partitions and offsets."""
    partitions = [
        {
            "partition_index": partition,
            "committed_offset": offset,
            "committed_leader_epoch": epoch,
            "committed_metadata": metadata,
        }
        for partition, offset in rows
    ]
    return {"name": topic.name, "topic_id": topic.id, "partitions": partitions}


def offsets(
    stage: Stage,
    group: str,
    *topics: tuple[Topic, tuple[int, ...]],
    member: str | None = None,
    epoch: int = -1,
    everything: bool = False,
    **more: Any,
) -> None:
    """Ask for offsets, of the topics named or of all."""
    rows: Any = [
        {"name": topic.name, "topic_id": topic.id, "partition_indexes": partitions}
        for topic, partitions in topics
    ]
    version = stage.version("OffsetFetch", least=2 if everything else 0)
    asked = {"group_id": group, "topics": None if everything else rows}
    groups = [{**asked, "member_id": member, "member_epoch": epoch}]
    stage.ask("a", "OffsetFetch", version, **asked, groups=groups, **more)


def forgotten(stage: Stage, group: str, topic: Topic) -> None:
    """Wait until a coordinator has heard that a topic is gone."""
    rows = [{"name": topic.name, "partition_indexes": (0,)}]
    values: dict[str, Any] = {"group_id": group, "topics": rows}
    while True:
        told = stage.quietly("me", "OffsetFetch", 7, **values).topics[0].partitions[0]
        if told.committed_offset == -1:
            break


def commits_without_membership(stage: Stage) -> None:
    """What a group without members keeps and what it refuses."""
    topic, other, group = stage.topic(3), stage.topic(), stage.name
    offsets(stage, group, (topic, (0, 1, 7)))
    offsets(stage, group, everything=True)
    commit(stage, group, position(topic, (0, 5), (2, 6)), position(other, (0, 1)))
    commit(stage, group, position(topic, (0, 7), epoch=3, metadata="m"))
    commit(stage, group, position(topic, (1, 7), metadata=None))
    commit(stage, group, position(topic, (1, -1)), position(topic, (1, -5)))
    offsets(stage, group, (topic, (0, 1, 2, 7)), (other, (0,)))
    offsets(stage, group, everything=True)
    offsets(stage, group, everything=True, require_stable=True)
    offsets(stage, group)
    commit(stage, group, position(topic, (0, 8), (9, 1), (1, 2)), position(other, (0, 3)))
    never = Topic("no-such-topic", uuid.UUID(int=9))
    commit(stage, group, position(never, (0, 8)), position(topic, (0, 9)))
    commit(stage, group, position(never, (0, 8)), epoch=4)
    commit(stage, group, position(topic, (0, 8), metadata="x" * 4096))
    commit(stage, group, position(topic, (0, 9), metadata="x" * 4097), position(other, (0, 4)))
    commit(stage, group)
    offsets(stage, group, (never, (0,)), (topic, (0,)), (other, (0,)))


def commits_refused(stage: Stage) -> None:
    """Commits of strangers, to groups that there are and to those that there are not."""
    topic, group = stage.topic(), stage.name
    for member, epoch in (("x", -1), ("x", 3), ("", 0), ("", 3), ("x", -2)):
        commit(stage, f"{group}-{epoch}", position(topic, (0, 1)), member=member, epoch=epoch)
    commit(stage, group, position(topic, (0, 1)))
    for member, epoch in (("x", -1), ("x", 3), ("", 0), ("", 3)):
        commit(stage, group, position(topic, (0, 1)), member=member, epoch=epoch)
    commit(stage, "", position(topic, (0, 1)))
    commit(stage, "", position(topic, (0, 1)), member="x", epoch=3)
    commit(stage, group, position(topic, (0, 1)), group_instance_id="i")
    offsets(stage, "", (topic, (0,)))
    offsets(stage, f"{group}-none", (topic, (0,)))
    for name, epoch in (("x", -1), ("x", 3), (None, 3), ("", -1)):
        offsets(stage, group, (topic, (0,)), member=name, epoch=epoch)


def commits_of_topics_that_change(stage: Stage) -> None:
    """Offsets of a topic that is deleted are gone; those of its successor are its own."""
    topic, group = stage.topic(), stage.name
    commit(stage, group, position(topic, (0, 5)))
    again = stage.recreate(topic, 2)
    forgotten(stage, group, topic)
    offsets(stage, group, (topic, (0,)))
    offsets(stage, group, (again, (0,)))
    commit(stage, group, position(topic, (0, 6)))
    commit(stage, group, position(again, (0, 7), (1, 1)))
    offsets(stage, group, (topic, (0,)), (again, (0, 1)))
    offsets(stage, group, everything=True)
    stage.side.delete_topic(topic.name)
    forgotten(stage, group, topic)
    commit(stage, group, position(again, (0, 8)))
    offsets(stage, group, (again, (0,)))


def several_groups(stage: Stage) -> None:
    """Several groups in one OffsetFetch."""
    topic, group = stage.topic(), stage.name
    commit(stage, group, position(topic, (0, 5)))
    version = stage.version("OffsetFetch", least=8)
    rows = [{"name": topic.name, "topic_id": topic.id, "partition_indexes": (0,)}]
    asked: list[dict[str, Any]] = [
        {"group_id": group, "topics": rows, "member_epoch": -1, "member_id": None},
        {"group_id": f"{group}-none", "topics": None, "member_epoch": -1, "member_id": None},
        {"group_id": group, "topics": None, "member_epoch": -1, "member_id": None},
    ]
    stage.ask("a", "OffsetFetch", version, groups=asked[:2])
    stage.ask("a", "OffsetFetch", version, groups=asked)


def groups_deleted(stage: Stage) -> None:
    """DeleteGroups and what is left; groups listed and described."""
    topic, group = stage.topic(), stage.name
    commit(stage, group, position(topic, (0, 5)))
    stage.ask("a", "DescribeGroups", groups=[group, f"{group}-none", ""])
    stage.ask("a", "DeleteGroups", groups_names=[group, f"{group}-none", ""])
    offsets(stage, group, everything=True)
    stage.ask("a", "DescribeGroups", groups=[group])
    stage.ask("a", "DeleteGroups", groups_names=[group])
