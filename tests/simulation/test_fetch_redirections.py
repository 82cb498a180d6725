"""Answers that send a fetch elsewhere: what is readable is read, without a hot loop."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from prokurist.network_thread.fetch.response_handler import (
    FetchResponseHandler as FetchResponses,
)
from prokurist.network_thread.wire.fetch import FetchAnswer
from prokurist.types import Node, OffsetAndMetadata, TopicPartition
from tests.simulation.reading import A, drained, fetches, offsets, reader, written
from tests.simulation.world import World

RACKS = ("west", "east", "north")


def in_racks() -> World:
    """Three records of a partition that broker 1 leads; followers in other racks serve."""
    world = written(3, nodes=3)
    for number, rack in enumerate(RACKS, 1):
        broker = world.cluster.state.broker(number)
        broker.node = Node(number, broker.node.host, broker.node.port, rack)
    world.control.let_followers_serve()
    return world


def asked(world: World, since: int = 0) -> Counter[int]:
    """How many fetches each broker got."""
    return Counter(node for node, _ in fetches(world)[since:])


def metadata_requests(world: World) -> int:
    """How many there were."""
    return len(world.cluster.journal.entries("Metadata"))


@pytest.mark.parametrize("policy", ["latest", "earliest"])
def test_a_position_of_a_reset_has_no_epoch(policy: str) -> None:
    """B92: the epoch in a ListOffsets answer may be one in which nothing is written.

    It is neither sent in a Fetch nor committed, and the records of the next epoch come.
    """
    world = written(0, nodes=2)
    world.control.move_leader(A)
    with reader(world, auto_offset_reset=policy) as consumer:
        assert consumer.position(A) == 0
        consumer.commit_sync()
        assert consumer.committed(A) == {A: OffsetAndMetadata(0)}
        for _ in range(2):
            world.control.move_leader(A)
            consumer.poll(1.0)
        world.control.append(A, b"x")
        assert drained(consumer, 3.0) == {A: [0]}
        sent = [
            part.last_fetched_epoch
            for entry in world.cluster.journal.entries("Fetch")
            for topic in entry.body.topics
            for part in topic.partitions
        ]
        assert set(sent) == {-1}


def test_a_committed_epoch_that_no_log_knows() -> None:
    """B92: a position that another client has committed so is read on from."""
    world = written(3, nodes=2)
    for _ in range(3):
        world.control.move_leader(A)
    with reader(world, group_id="g") as consumer:
        consumer.commit_sync({A: OffsetAndMetadata(3, leader_epoch=1)})
    world.control.append(A, b"x")
    with reader(world, group_id="g") as consumer:
        assert drained(consumer) == {A: [3]}
        world.control.move_leader(A)
        world.control.append(A, b"x")
        assert drained(consumer, 3.0) == {A: [4]}


def test_a_follower_that_lacks_the_offset_and_is_named_again() -> None:
    """B110: leader and follower are asked in turns with a growing back-off between."""
    world = in_racks()
    with reader(world, client_rack="east") as consumer:
        assert drained(consumer) == {A: [0, 1, 2]}
        fault = world.control.fail("Fetch", 1, times=None, node=2)
        before = len(fetches(world))
        assert not consumer.poll(5.0)
        assert 4 <= len(fetches(world)) - before <= 24
        fault.undo()
        world.control.append(A, b"x")
        assert drained(consumer, 3.0) == {A: [3]}


@pytest.mark.parametrize("code", [3, 6, 74, 75])
def test_a_follower_that_refuses_and_is_named_again(code: int) -> None:
    """B110: the same of one that knows of no such partition, or of another epoch."""
    world = in_racks()
    with reader(world, client_rack="east") as consumer:
        assert drained(consumer) == {A: [0, 1, 2]}
        world.control.fail("Fetch", code, times=None, node=2)
        before, requests = len(fetches(world)), metadata_requests(world)
        assert not consumer.poll(5.0)
        assert len(fetches(world)) - before <= 24
        assert metadata_requests(world) - requests <= 12


def test_a_replica_that_metadata_lack() -> None:
    """B110: metadata, and the leader, are asked once for each back-off until it is known."""
    world = in_racks()
    with reader(world, client_rack="east") as consumer:
        metadata = world.members[0].side.metadata
        assert drained(consumer) == {A: [0, 1, 2]}
        take = metadata._take
        known = False

        def without(answer: Any) -> None:
            """Brokers that do not know yet that their neighbour is back."""
            if not known:
                answer = replace(
                    answer, brokers=tuple(each for each in answer.brokers if each.id != 2)
                )
            take(answer)

        metadata._take = without  # type: ignore[method-assign]
        metadata.request_update()
        consumer.poll(0.7)
        world.control.append(A, b"x")
        before, requests = len(fetches(world)), metadata_requests(world)
        consumer.poll(3.0)
        assert asked(world, before)[1] <= 12
        assert 2 <= metadata_requests(world) - requests <= 14
        known = True
        assert drained(consumer, 2.0) == {A: [3]}
        assert fetches(world)[-1][0] == 2


@pytest.mark.parametrize("named", [1, 2, 7])
def test_a_leader_that_sends_no_records_and_names_a_broker(
    named: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B110: itself, one that names it, one that is none: a back-off for each round trip."""
    world = in_racks()
    judge, is_wrong = FetchResponses.judge, True

    def wrong(self: Any, sent: Any, answer: FetchAnswer, asked: Any, node: Node) -> Any:
        rows = tuple(
            replace(row, records=row.records[:0], preferred_replica=named)
            for row in answer.partitions
        )
        return judge(
            self, sent, replace(answer, partitions=rows) if is_wrong else answer, asked, node
        )

    monkeypatch.setattr(FetchResponses, "judge", wrong)
    with reader(world, client_rack="east") as consumer:
        requests = metadata_requests(world)
        assert not consumer.poll(10.0)
        assert len(fetches(world)) <= 30
        assert metadata_requests(world) - requests <= 20
        is_wrong = False
        assert drained(consumer, 2.0) == {A: [0, 1, 2]}


def test_a_partition_that_metadata_lack() -> None:
    """B106: metadata are asked for at each back-off, and it is read once they know it."""
    world = written(1)
    new = TopicPartition("orders", 3)
    with reader(world, A) as consumer:
        assert drained(consumer) == {A: [0]}
        consumer.assign([A, new])
        consumer.seek(new, 0)
        before = metadata_requests(world)
        consumer.poll(10.0)
        assert 5 <= metadata_requests(world) - before <= 20
        world.control.add_partitions("orders", 4)
        world.control.append(new, b"x")
        began = world.clock.time
        while not (got := offsets(consumer.poll(5.0))):
            assert world.clock.time - began < 5
        assert got == {new: [0]}
        assert world.clock.time - began < 2.0


def test_a_partition_that_older_metadata_lack() -> None:
    """B106: one that is there by now is read at once, without a look-up of its position."""
    world = written(1)
    new = TopicPartition("orders", 3)
    with reader(world, A) as consumer:
        assert drained(consumer) == {A: [0]}
        world.control.add_partitions("orders", 4)
        world.control.append(new, b"x")
        consumer.assign([A, new])
        consumer.seek(new, 0)
        before, began = metadata_requests(world), world.clock.time
        while not (got := offsets(consumer.poll(1.0))):
            pass
        assert got == {new: [0]}
        assert world.clock.time - began < 0.6
        assert metadata_requests(world) - before == 1
