"""Scenarios of groups of the classic protocol: members that join, sync, beat and leave."""

from datetime import timedelta
from typing import Any

from tests.broker import group_scripts
from tests.conformance.stage import Stage
from tests.unit.testing.cluster.scene import Scene

PATIENCE = timedelta(seconds=60)


def scene(stage: Stage, partitions: int = group_scripts.PARTITIONS) -> Scene:
    """One group on the stage, with a topic."""
    return Scene(stage, stage.name, stage.topic(partitions).name, PATIENCE)


def classic_strangers(stage: Stage) -> None:
    """Requests of members that the group does not know."""
    group_scripts.strangers(scene(stage))


def classic_generations(stage: Stage) -> None:
    """A second member comes, the first one goes."""
    group_scripts.two_generations(scene(stage))


def classic_static_members(stage: Stage) -> None:
    """A static member comes back under its name."""
    group_scripts.static_names(scene(stage))


def classic_versions(stage: Stage) -> None:
    """One member through its life, in each version of each request."""
    topic, group = stage.topic(), stage.name
    values: dict[str, Any] = {
        "group_id": group,
        "session_timeout": PATIENCE,
        "rebalance_timeout": PATIENCE,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"r"}],
    }
    body = stage.ask("a", "JoinGroup", member_id="", **values)
    if body.error_code == 79:
        body = stage.ask("a", "JoinGroup", member_id=body.member_id, **values)
    me: dict[str, Any] = {"group_id": group, "member_id": body.member_id, "generation_id": 1}
    stage.ask("b", "DescribeGroups", groups=[group])
    stage.ask("b", "Heartbeat", **me)
    names: dict[str, Any] = {"protocol_type": "consumer", "protocol_name": "range"}
    parts = [{"member_id": body.member_id, "assignment": b"all"}]
    stage.ask("a", "SyncGroup", **me, **names, assignments=parts)
    stage.ask("b", "Heartbeat", **me)
    stage.ask("b", "Heartbeat", **{**me, "generation_id": 5})
    stage.ask("b", "Heartbeat", **{**me, "member_id": "x"})
    stage.ask("b", "DescribeGroups", groups=[group])
    for epoch in (1, 0, -1):
        rows = [{"partition_index": 0, "committed_offset": 3, "committed_metadata": ""}]
        stage.ask(
            "b",
            "OffsetCommit",
            group_id=group,
            member_id=body.member_id,
            generation_id_or_member_epoch=epoch,
            topics=[{"name": topic.name, "topic_id": topic.id, "partitions": rows}],
        )
    stage.ask("b", "JoinGroup", member_id="x", **values)
    stage.ask("b", "JoinGroup", member_id="", **{**values, "protocol_type": "other"})
    leaving: dict[str, Any] = {
        "member_id": body.member_id,
        "members": [{"member_id": body.member_id}],
    }
    stage.ask("b", "LeaveGroup", group_id=group, **leaving)
    stage.ask("b", "LeaveGroup", group_id=group, **leaving)
    stage.ask("b", "DescribeGroups", groups=[group])


def classic_full_group(stage: Stage) -> None:
    """More members than there may be."""
    group = scene(stage)
    one = group.join("a")
    group.sync("a", one, 1, parts={one: b"all"})
    group.send_join("b", version=3)
    group.send_join("c", version=3)
    stage.settle(group.group)
    group.send_join("d", version=3)
    stage.settle(group.group)
    group.send_join("a", one)
    stage.settle(group.group)
    group.state()


def classic_timeouts_refused(stage: Stage) -> None:
    """Session time-outs, protocols and names that a broker does not take."""
    group = scene(stage)
    for milliseconds in (0, -1, 99, 100, 1_800_000, 1_800_001):
        group.join("a", session_timeout=timedelta(milliseconds=milliseconds), version=9)
        group.group += "+"
    for name in ("", "a"):
        group.join("a", protocol_type=name)
        group.group += "+"
    group.group = ""
    group.join("a")
    group.beat("x", 1)
    group.sync("a", "x", 1)
    group.leave(("x", None))
