"""Scenarios that need three nodes: leaders, followers and coordinators that are elsewhere."""

import time
from typing import Any, Final

from tests.conformance.classic import PATIENCE
from tests.conformance.committing import position
from tests.conformance.reading import epochs, fetch, list_offsets, wanted
from tests.conformance.sessions import Session
from tests.conformance.sides import Topic
from tests.conformance.stage import Stage

NODES: Final = (1, 2, 3)
SETTLES_WITHIN: Final = 30.0
OFFSET_NOT_AVAILABLE: Final = 78
COPIES_WITHIN: Final = 1.0
"""Seconds for a follower to have what was written; it tells no client."""


def leaders_elsewhere(stage: Stage) -> None:
    """Each node is asked about partitions that another leads, or of which it has no copy."""
    topic = stage.placed([1, 2], [2, 3], [3, 1], [1, 3])
    for at, nodes in enumerate(((1, 2), (2, 3), (3, 1), (1, 3))):
        for node in nodes:
            caught_up(stage, node, topic, 0, at)
    metadata(stage, topic)
    for node in NODES:
        who = f"a@{node}"
        fetch(stage, wanted(topic, *((at, 0) for at in range(4))), who)
        for epoch in (0, 1):
            asked = wanted(topic, *((at, 0) for at in range(4)), current_leader_epoch=epoch)
            fetch(stage, asked, who)
        for at in range(4):
            for epoch in (-1, 0, 1):
                list_offsets(
                    stage, topic, -1, partition=at, who=who, current_leader_epoch=epoch
                )
                epochs(stage, topic, 0, current=epoch, at=at, who=who)


def epochs_of_moved_leaders(stage: Stage) -> None:
    """Leadership moves with and without a write between; old and new leader are asked."""
    topic = stage.placed([1, 2, 3])
    stage.produce(topic, b"a", b"b")
    session = Session(stage, "s@1")
    session.fetch(wanted(topic, (0, 0), current_leader_epoch=0))
    written = 2
    for number, leader in enumerate((2, 3, 1), 1):
        stage.side.move_leader(topic.name, 0, leader)
        for node in NODES:
            caught_up(stage, node, topic, written)
        metadata(stage, topic)
        session.fetch()
        if leader == 3:
            stage.produce(topic, b"c", node=3)
            written += 1
            for node in NODES:
                caught_up(stage, node, topic, written)
        for node in NODES:
            for current in (-1, number - 1, number, number + 1):
                ask_everything(stage, topic, node, current)


def ask_everything(stage: Stage, topic: Topic, node: int, current: int) -> None:
    """Offsets, epochs and records, in an epoch that the asker believes in."""
    who = f"a@{node}"
    list_offsets(stage, topic, -2, who=who, current_leader_epoch=current)
    epochs(stage, topic, 0, 1, 2, 3, 4, current=current, who=who)
    fetch(stage, wanted(topic, (0, 0), current_leader_epoch=current), who)
    if stage.version("Fetch") >= 12:
        for last in (0, 1, 2, 3):
            asked = wanted(topic, (0, 2), current_leader_epoch=current, last_fetched_epoch=last)
            fetch(stage, asked, who)


def preferred_replicas(stage: Stage) -> None:
    """A leader names the follower in the reader's rack, and the follower answers."""
    topic, alone = stage.placed([1, 2, 3]), stage.placed([1])
    stage.produce(topic, b"a", b"b")
    stage.produce(alone, b"c")
    for node in (2, 3):
        caught_up(stage, node, topic, 2)
    for rack in ("", "rack-0", "rack-1", "rack-2", "elsewhere"):
        for offset in (0, 2):
            for node in (1, 2):
                fetch(stage, wanted(topic, (0, offset)), f"a@{node}", rack_id=rack)
        fetch(stage, wanted(alone, (0, 0)), rack_id=rack)
    for offset in (-1, 3, 9):
        for node in (1, 2):
            fetch(stage, wanted(topic, (0, offset)), f"a@{node}", rack_id="rack-1")
    session = Session(stage, "s@2")
    session.fetch(wanted(topic, (0, 0)), rack_id="rack-1")
    session.fetch(wanted(topic, (0, 2)), rack_id="rack-1")
    session.fetch(rack_id="rack-1")


def ends_of_a_new_leader(stage: Stage) -> None:
    """A leader that does not know yet how far the others are: OFFSET_NOT_AVAILABLE.

    One of three in sync is frozen, so what is written is not readable; the next leader's high
    watermark stays below the beginning of its epoch.
    """
    topic = stage.placed([1, 2, 3])
    stage.produce(topic, b"a", b"b")
    for node in NODES:
        caught_up(stage, node, topic, 2)
    with stage.side.stopped(3):
        stage.produce(topic, b"c", acks=1)
        time.sleep(COPIES_WITHIN)
        stage.side.move_leader(topic.name, 0, 2, settled=False)
        leads(stage, 2, topic)
        assert code_of(stage, 2, topic, -1) == OFFSET_NOT_AVAILABLE
        for stamp in (-1, -2, -3, 0):
            list_offsets(stage, topic, stamp, who="a@2")
            list_offsets(stage, topic, stamp, who="a@2", current_leader_epoch=1)
        for offset in (0, 2, 3, 4):
            fetch(stage, wanted(topic, (0, offset)), "a@2")
        epochs(stage, topic, 0, 1, who="a@2")
    stage.side.until_in_sync(topic.name, 0, 3)
    caught_up(stage, 2, topic, 3)
    list_offsets(stage, topic, -1, -2, -3, 0, who="a@2")
    fetch(stage, wanted(topic, (0, 2)), "a@2")


def leads(stage: Stage, node: int, topic: Topic) -> None:
    """Wait until a node leads: that the log begins somewhere it says as soon as it does."""
    until = time.monotonic() + SETTLES_WITHIN
    while time.monotonic() < until:
        if code_of(stage, node, topic, -2) == 0:
            return
        time.sleep(0.02)
    raise AssertionError(f"node {node} does not lead {topic.name}")


def code_of(stage: Stage, node: int, topic: Topic, stamp: int) -> int:
    """The code with which a node looks a timestamp up in the first partition."""
    row = {"partition_index": 0, "timestamp": stamp, "current_leader_epoch": -1}
    topics = [{"name": topic.name, "partitions": [row]}]
    told = stage.quietly(
        f"me@{node}", "ListOffsets", 5, replica_id=-1, topics=topics, isolation_level=0
    )
    return int(told.topics[0].partitions[0].error_code)


def death_of_a_broker(stage: Stage) -> None:
    """What it led is led by others, or by none, until it is back; epochs tell how often."""
    topic, alone = stage.placed([3, 1], [1, 3]), stage.placed([3])
    stage.produce(topic, b"a", b"b", partition=0, node=3)
    stage.produce(topic, b"a", b"b", partition=1, node=1)
    stage.produce(alone, b"a", b"b", node=3)
    caught_up(stage, 1, topic, 2, 0)
    stage.close()
    with stage.side.killed(3, topic.name, alone.name):
        leads(stage, 1, topic)
        caught_up(stage, 1, topic, 2, 1)
        ask_the_living(stage, topic, 2)
        ask_the_living(stage, alone, 1)
        for at in (0, 1):
            stage.produce(topic, b"c", partition=at)
        stage.close()
    for at in (0, 1):
        caught_up(stage, 1, topic, 3, at)
    caught_up(stage, 3, alone, 2)
    ask_the_living(stage, topic, 2)
    ask_the_living(stage, alone, 1)


def ask_the_living(stage: Stage, topic: Topic, partitions: int) -> None:
    """What two nodes say of the partitions of a topic."""
    for node in (1, 2):
        who = f"a@{node}"
        stage.ask(
            who, "Metadata", topics=[{"name": topic.name}], allow_auto_topic_creation=False
        )
        fetch(stage, wanted(topic, *((at, 0) for at in range(partitions))), who)
        for at in range(partitions):
            for current in (-1, 0, 1, 2):
                list_offsets(
                    stage, topic, -1, partition=at, who=who, current_leader_epoch=current
                )
                epochs(stage, topic, 0, 1, current=current, at=at, who=who)


def coordinators_elsewhere(stage: Stage) -> None:
    """Each request of a group at nodes that do not coordinate it."""
    topic, group = stage.placed([1]), stage.name
    coordinator = stage.quietly("me@1", "FindCoordinator", 4, coordinator_keys=[group])
    here = coordinator.coordinators[0].node_id - stage.side.first_node + 1
    elsewhere = next(node for node in NODES if node != here)
    who = f"a@{elsewhere}"
    member: dict[str, Any] = {"group_id": group, "member_id": "m"}
    stage.look("found by each node", [_found(stage, node, group) == here for node in NODES])
    stage.ask(
        who,
        "JoinGroup",
        group_id=group,
        session_timeout=PATIENCE,
        rebalance_timeout=PATIENCE,
        member_id="",
        protocol_type="consumer",
        protocols=[{"name": "range", "metadata": b"r"}],
    )
    stage.ask(who, "SyncGroup", **member, generation_id=1, assignments=[])
    stage.ask(who, "Heartbeat", **member, generation_id=1)
    stage.ask(who, "LeaveGroup", **member, members=[{"member_id": "m"}])
    rows = [position(topic, (0, 1))]
    stage.ask(
        who,
        "OffsetCommit",
        group_id=group,
        member_id="",
        generation_id_or_member_epoch=-1,
        topics=rows,
    )
    asked = [{"name": topic.name, "topic_id": topic.id, "partition_indexes": (0,)}]
    groups = [{"group_id": group, "topics": asked, "member_id": None, "member_epoch": -1}]
    stage.ask(who, "OffsetFetch", group_id=group, topics=asked, groups=groups)
    stage.ask(who, "DescribeGroups", groups=[group])
    stage.ask(who, "DeleteGroups", groups_names=[group])


def _found(stage: Stage, node: int, group: str) -> int:
    told = stage.quietly(f"me@{node}", "FindCoordinator", 4, coordinator_keys=[group])
    return int(told.coordinators[0].node_id) - stage.side.first_node + 1


def metadata(stage: Stage, topic: Topic) -> None:
    """What each node says of a topic."""
    for node in NODES:
        stage.ask(
            f"a@{node}",
            "Metadata",
            topics=[{"name": topic.name}],
            allow_auto_topic_creation=False,
        )


def caught_up(stage: Stage, node: int, topic: Topic, least: int, at: int = 0) -> None:
    """Wait until a node serves records up to an offset, as leader or as follower.

    A follower learns of the high watermark half a second after a write; when exactly is a
    matter of time and not of the protocol.
    """
    until = time.monotonic() + SETTLES_WITHIN
    while time.monotonic() < until:
        told = stage.quietly(
            f"me@{node}",
            "Fetch",
            12,
            topics=wanted(topic, (at, 0)),
            replica_id=-1,
            max_wait=PATIENCE * 0,
            min_bytes=0,
            max_bytes=1,
            session_epoch=-1,
            forgotten_topics_data=[],
        )
        partition = told.responses[0].partitions[0]
        if partition.error_code == 0 and partition.high_watermark >= least:
            return
        time.sleep(0.02)
    raise AssertionError(f"node {node} does not catch up with {topic.name}")
