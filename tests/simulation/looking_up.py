"""What the tests of look-ups share: a cluster with something in it, and how to ask."""

from collections.abc import Mapping
from typing import Any, cast

from prokurist.events.application_events import Edge, LookUpOffsets
from prokurist.types import TopicPartition
from tests.simulation.world import Member, World

ORDERS = [TopicPartition("orders", number) for number in range(3)]
TP = ORDERS[0]
END, BEGINNING = Edge.END, Edge.BEGINNING


def look_up(
    world: World,
    member: Member,
    moments: Mapping[TopicPartition, Edge | int] | None = None,
    *,
    timeout: float = 5.0,
    read_committed: bool = False,
) -> dict[TopicPartition, Any]:
    """Look up, as `end_offsets` and its sisters do."""
    wanted = {TP: END} if moments is None else moments
    call = world.call("end_offsets", timeout)
    answer = world.ask(member, LookUpOffsets(call, wanted, read_committed))
    return cast("dict[TopicPartition, Any]", answer)


def asked(world: World) -> list[tuple[int, list[int]]]:
    """Which leader was asked about which partitions, in order."""
    return [
        (
            entry.node,
            [part.partition_index for topic in entry.body.topics for part in topic.partitions],
        )
        for entry in world.cluster.journal.entries("ListOffsets")
    ]


def asked_metadata(world: World) -> int:
    """How often metadata was asked for."""
    return len(world.cluster.journal.entries("Metadata"))


def idle(member: Member) -> bool:
    """Nothing is pending anywhere but what an idle client has."""
    side = member.side
    quiet = "MetadataManager(idle, 0 topics wanted, 0 calls wait"
    return (
        not len(side.calls)
        and not side.client.waiting
        and repr(side.metadata).startswith(quiet)
    )


def filled() -> World:
    """Three brokers that lead one partition each; five records in each log, the first gone."""
    world = World(nodes=3)
    for tp in ORDERS:
        for number in range(5):
            world.control.append(tp, b"value", timestamp=1000 + 10 * number)
        world.control.delete_records(tp, 1)
    return world
