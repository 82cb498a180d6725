"""Commits and look-ups of members by the consumer protocol: in whose name, and until when."""

import pytest

from prokurist import OffsetAndMetadata, TopicPartition, errors
from tests.simulation.joining import (
    INTERVAL,
    ORDERS,
    Notes,
    grouped,
    heartbeats,
    joined,
    member,
    settle,
)
from tests.simulation.reading import drained
from tests.simulation.world import World

A = TopicPartition("orders", 0)
STALE = 113


def commits(world: World) -> list[tuple[str, int]]:
    """Who has committed, in order: member id and epoch."""
    return [
        (entry.body.member_id, entry.body.generation_id_or_member_epoch)
        for entry in world.cluster.journal.entries("OffsetCommit")
    ]


def offsets_sent(world: World) -> list[tuple[int, int]]:
    """Every offset that a call asked to commit, with its partition."""
    return [
        (part.partition_index, part.committed_offset)
        for entry in world.cluster.journal.entries("OffsetCommit")
        for topic in entry.body.topics
        for part in topic.partitions
    ]


def put_out(world: World) -> None:
    """Have the coordinator count a member no more."""
    world.control.fail("ConsumerGroupHeartbeat", 110, times=1)


def test_a_commit_speaks_for_the_member() -> None:
    """B64: with its id and its epoch; a look-up too."""
    world = grouped()
    with joined(world) as consumer:
        consumer.commit_sync({A: OffsetAndMetadata(1)})
        me = consumer.group_metadata()
        assert commits(world) == [(me.member_id, me.generation_id)]
        consumer.committed(A)
        asked = world.cluster.journal.entries("OffsetFetch")[-1].body.groups[0]
        assert (asked.member_id, asked.member_epoch) == (me.member_id, me.generation_id)


def test_a_stale_epoch_is_followed_while_everything_is_owned() -> None:
    """B47, B64: the heartbeat tells the new one, and the commit goes with that."""
    world = grouped(payments=1)
    with joined(world) as consumer:
        before = consumer.group_metadata().generation_id
        # What moves the epoch: the coordinator has another assignment for us.
        consumer.subscribe(["orders", "payments"])
        consumer.poll(0.0)
        refused = world.control.fail("OffsetCommit", STALE, times=2, whole=True)
        consumer.commit_sync({A: OffsetAndMetadata(1)}, timeout=30.0)
        refused.undo()
        epochs = [epoch for _, epoch in commits(world)]
        assert epochs[-1] > before
        assert world.control.committed("g")[A].offset == 1


def test_a_stale_epoch_is_not_followed_for_what_is_not_owned() -> None:
    """B47: CommitFailed, at once."""
    world = grouped()
    with joined(world) as consumer:
        foreign = TopicPartition("payments", 0)
        world.control.create_topic("payments", 1)
        world.control.fail("OffsetCommit", STALE, times=1, whole=True)
        with pytest.raises(errors.CommitFailedException):
            consumer.commit_sync({foreign: OffsetAndMetadata(1)})
        assert len(commits(world)) == 1


def test_a_stale_epoch_of_an_asynchronous_commit() -> None:
    """B37: it is tried once, and its callback hears what it was."""
    world = grouped()
    told: list[BaseException | None] = []
    with joined(world) as consumer:
        world.control.fail("OffsetCommit", STALE, times=1, whole=True)
        consumer.commit_async({A: OffsetAndMetadata(1)}, lambda _, error: told.append(error))
        consumer.poll(1.0)
        consumer.poll(0.0)
        assert [type(each) for each in told] == [errors.CommitFailedException]


def test_what_a_refused_commit_says_of_the_member_holds_at_once() -> None:
    """B400: UNKNOWN_MEMBER_ID to a commit; the next poll calls `on_partitions_lost`."""
    world = grouped(records=100)
    notes = Notes()
    with member(world, listener=notes, max_poll_records=10) as consumer:
        settle(consumer, seconds=0.5)
        world.control.fail("OffsetCommit", 25, times=1, whole=True)
        with pytest.raises(errors.CommitFailedException):
            consumer.commit_sync()
        assert not consumer.poll(0.0)
        assert notes.heard == [("assigned", [0, 1, 2, 3]), ("lost", [0, 1, 2, 3])]
        settle(consumer, seconds=1.0)
        assert notes.heard[2:] == [("assigned", [0, 1, 2, 3])]


def test_a_static_member_whose_commit_is_refused_asks_at_once() -> None:
    """B400: whether another has its name, or its session was over, a heartbeat is told."""
    world = grouped()
    with joined(world, group_instance_id="me") as consumer:
        settle(consumer, seconds=1.0)
        before = len(heartbeats(world))
        world.control.fail("OffsetCommit", 25, times=1, whole=True)
        world.control.fail("ConsumerGroupHeartbeat", 82, times=1)
        with pytest.raises(errors.CommitFailedException):
            consumer.commit_sync({A: OffsetAndMetadata(1)})
        with pytest.raises(errors.FencedInstanceIdException):
            consumer.poll(0.1)
        assert len(heartbeats(world)) == before + 1


def test_a_commit_refused_in_close_joins_no_more() -> None:
    """B400, B161: partitions are lost, and not revoked; no heartbeat follows."""
    world = grouped(records=5)
    notes = Notes()
    consumer = member(world, listener=notes, enable_auto_commit=True)
    settle(consumer, seconds=1.0)
    before = len(heartbeats(world))
    world.control.fail("OffsetCommit", 25, times=1, whole=True)
    consumer.close(5.0)
    assert [what for what, _ in notes.heard] == ["assigned", "lost"]
    assert len(heartbeats(world)) == before


def test_a_commit_that_outlives_its_membership_fails() -> None:
    """B64: it is never sent with a newer stamp."""
    world = grouped()
    with joined(world) as consumer:
        world.control.fail("OffsetCommit", 14, times=None)
        told: list[BaseException | None] = []
        world.at(
            world.clock.time + 1.0,
            lambda: put_out(world),
        )
        with pytest.raises(errors.CommitFailedException, match="no longer"):
            consumer.commit_sync({A: OffsetAndMetadata(1)}, timeout=30.0)
        assert not told
        assert len({epoch for _, epoch in commits(world)}) == 1


def test_no_member_commits_before_it_has_joined() -> None:
    """B64: who has subscribed and not joined has nothing to commit."""
    world = grouped()
    with member(world) as consumer:
        with pytest.raises(errors.CommitFailedException, match="not yet"):
            consumer.commit_sync({A: OffsetAndMetadata(1)})
        assert not commits(world)


def test_a_stale_epoch_of_a_look_up() -> None:
    """B71: asked again with the new one while a member; otherwise it is said."""
    world = grouped()
    with joined(world) as consumer:
        world.control.fail("OffsetFetch", STALE, times=2, whole=True)
        assert consumer.committed(A, 10.0) == {A: None}
        world.control.fail("OffsetFetch", STALE, times=None, whole=True)
        world.at(
            world.clock.time + 1.0,
            lambda: put_out(world),
        )
        consumer.commit_async({A: OffsetAndMetadata(1)})
        with pytest.raises(errors.TimeoutException):
            consumer.committed(A, 0.5)


def handed_over(world: World, **keys: object) -> tuple[list[int], list[str]]:
    """Two members, of which the first gives back while it works on what it was given."""
    first = member(world, enable_auto_commit=True, max_poll_records=3, **keys)
    second = member(world)
    while not (given := first.poll(1.0)):
        continue
    second.poll(0.1)
    world.clock.sleep(2 * INTERVAL)  # The user works; the group has decided.
    assert not second.assignment()
    before = len(world.cluster.journal.entries("OffsetCommit"))
    for _ in range(60):
        first.poll(0.1)
        second.poll(0.1)
    wire = [entry.api for entry in world.cluster.journal.entries()]
    assert len(second.assignment()) == 2
    seen = [record.offset for record in given]
    first.close()
    second.close()
    return seen, wire[before:]


def test_what_is_revoked_is_committed_before() -> None:
    """B58, CONTRACT 6.3: as far as it was returned when the next poll began; and all else."""
    world = grouped(partitions=4, records=50)
    seen, _ = handed_over(world, auto_commit_interval_ms=1_000_000)
    assert seen == [0, 1, 2]
    first = world.cluster.journal.entries("OffsetCommit")[0].body
    committed = {
        part.partition_index: part.committed_offset
        for topic in first.topics
        for part in topic.partitions
    }
    assert sorted(committed.values()) == [0, 0, 0, 3]


def test_that_commit_does_not_wait_for_the_one_of_the_interval() -> None:
    """B58: which is in flight, and may be of an earlier moment."""
    world = grouped(partitions=4, records=50)
    world.control.delay("OffsetCommit", 1.0)
    seen, _ = handed_over(world, auto_commit_interval_ms=100)
    assert seen


def test_that_commit_is_not_undone_by_an_older_one() -> None:
    """B58: one that waits to be tried again meanwhile is not tried for what goes."""
    world = grouped(partitions=1, payments=1, records=6)

    listener = Notes(revoked=lambda _: world.clock.sleep(3.0))
    with member(
        world,
        listener=listener,
        enable_auto_commit=True,
        auto_commit_interval_ms=1000,
        retry_backoff_ms=2000,
        retry_backoff_max_ms=2000,
        max_poll_records=3,
    ) as first:
        while not first.poll(0.1):
            continue
        world.clock.sleep(1.0)
        world.control.fail("OffsetCommit", 14, times=1)
        first.poll(0.0)  # What has been returned before, and is refused for now.
        assert first.position(A) == 6
        first.subscribe("payments", listener)
        settle(first, seconds=1.0)
        assert {tp.topic for tp in first.assignment()} == {"payments"}
        assert [offset for _, offset in offsets_sent(world)] == [3, 6]
        assert world.control.committed("g")[A].offset == 6


def test_that_commit_gives_up_with_the_group() -> None:
    """B59: after the rebalance timeout the partitions go all the same."""
    world = grouped(partitions=4, records=50)
    world.control.fail("OffsetCommit", 14, times=None)
    with (
        joined(
            world, enable_auto_commit=True, max_poll_interval_ms=10_000, max_poll_records=3
        ) as first,
        member(world) as second,
    ):
        first.poll(1.0)
        began = world.clock.time
        while len(second.assignment()) != 2:
            settle(first, second, seconds=1.0)
            assert world.clock.time - began < 25.0
        assert world.clock.time - began > 8.0
        world.control.heal()


def test_that_commit_does_not_wait_for_a_topic_that_is_gone() -> None:
    """B60: no further try, and the partitions go."""
    world = grouped(partitions=4, records=50)
    world.control.fail("OffsetCommit", 3, times=None)
    with (
        joined(world, enable_auto_commit=True, max_poll_records=3) as first,
        member(world) as second,
    ):
        first.poll(1.0)
        began = world.clock.time
        while len(second.assignment()) != 2:
            settle(first, second, seconds=1.0)
        assert world.clock.time - began < 4 * INTERVAL
        world.control.heal()


def test_that_commit_follows_a_stale_epoch() -> None:
    """B47: it is tried again with the newer one, regardless of what moved it."""
    world = grouped(partitions=4, records=50)
    world.control.fail("OffsetCommit", STALE, times=2, whole=True)
    handed_over(world, auto_commit_interval_ms=1_000_000)
    assert world.control.committed("g")


def test_without_auto_commit_nothing_is_committed() -> None:
    """B56: not at a revocation, and not at the end."""
    world = grouped(records=5)
    with joined(world) as first, member(world) as second:
        drained(first)
        settle(first, second)
        assert len(second.assignment()) == 2
    assert not commits(world)


def test_the_listener_commits_what_goes() -> None:
    """B159: in `revoked`, in the name of the member that it still is."""
    world = grouped(records=5)

    def revoked(partitions: frozenset[TopicPartition]) -> None:
        first.commit_sync({tp: OffsetAndMetadata(first.position(tp)) for tp in partitions})

    with member(world, listener=Notes(revoked=revoked)) as first, member(world) as second:
        drained(first)
        settle(first, second)
        gone = second.assignment()
        assert len(gone) == 2
        assert {tp for tp in ORDERS if tp in world.control.committed("g")} == gone
        assert drained(second) == {}


def test_a_fatal_error_of_the_membership_goes_before_all_others() -> None:
    """B164: and stays; the others come when it is forgiven, or are logged."""
    world = grouped()
    with joined(world) as consumer:
        world.control.fail("ConsumerGroupHeartbeat", 29, times=1)
        world.clock.sleep(INTERVAL + 0.1)
        world.control.fail("ConsumerGroupHeartbeat", 81, times=1)
        world.clock.sleep(INTERVAL + 0.1)
        for _ in range(3):
            with pytest.raises(errors.GroupMaxSizeReachedException):
                consumer.poll(0.1)


def test_the_coordinator_moves_and_nothing_is_lost() -> None:
    """B134: members live on at the next one, with their epochs."""
    world = grouped(nodes=2, records=20)
    with joined(world, enable_auto_commit=True) as consumer:
        drained(consumer, 0.2)
        before = consumer.group_metadata()
        now = world.control.coordinator("g")
        world.control.move_coordinator("g", 3 - (now or 1))
        settle(consumer, seconds=4 * INTERVAL)
        assert consumer.group_metadata().member_id == before.member_id
        assert [each.member_epoch for each in heartbeats(world)].count(0) == 1
        consumer.commit_sync()
        assert world.control.committed("g")[A].offset == 20


@pytest.mark.parametrize(
    "keys",
    [
        {"group_protocol": "consumer"},
        {
            "group_protocol": "classic",
            "partition_assignment_strategy": "cooperative-sticky",
            "heartbeat_interval_ms": 1000,
        },
    ],
    ids=["consumer", "cooperative"],
)
def test_what_stays_is_committed_when_more_comes(keys: dict[str, str | int]) -> None:
    """B58: once, before what comes is assigned; no answer is waited for."""
    world = grouped(partitions=1, payments=1, records=6)
    held = world.control.hold("OffsetCommit")
    with member(
        world, enable_auto_commit=True, auto_commit_interval_ms=1_000_000, **keys
    ) as consumer:
        read = 0
        while read < 6:
            read += len(list(consumer.poll(0.1)))
        consumer.subscribe(["orders", "payments"])
        while len(consumer.assignment()) < 2:
            consumer.poll(0.1)
        consumer.poll(0.5)
        assert len(world.cluster.journal.entries("OffsetCommit")) == 1
        held.undo()
        consumer.poll(0.5)
        assert world.control.committed("g")[ORDERS[0]].offset == 6
