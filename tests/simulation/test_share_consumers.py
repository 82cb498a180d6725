"""Share consumers in virtual time: joining, and fetching."""

import pytest

from prokurist import errors
from prokurist.types import Acknowledge, TopicPartition
from tests.simulation.sharing import A, B, asked, reader, sharing, states, written
from tests.simulation.world import World


def test_a_fresh_member_gets_records_soon() -> None:
    """B790: the second heartbeat comes after half a second, and not after the interval."""
    world = sharing()
    written(world, 3)
    with reader(world) as consumer:
        began = world.clock.time
        records = consumer.poll(60.0)
        assert [each.value for each in records] == [b"0", b"1", b"2"]
        assert world.clock.time - began < 2.0
        assert [each.delivery_count for each in records] == [1, 1, 1]


def test_an_unknown_topic_is_named() -> None:
    """B791: a poll ends on time and says so; the topic is made, and its records come."""
    world = World(1, {})
    world.control.configure_share_groups(from_earliest=True)
    with reader(world) as consumer:
        began = world.clock.time
        records = consumer.poll(3.0)
        assert not records
        assert world.clock.time - began == pytest.approx(3.0, abs=0.01)
        assert "orders does not exist" in str(records.why_empty)
        world.control.create_topic("orders", 1)
        written(world, 1)
        assert [each.value for each in consumer.poll(60.0)] == [b"0"]


def test_brokers_without_share_groups_are_told_once_and_for_all() -> None:
    """B792: each poll raises it, and names the way out."""
    world = sharing()
    for key in (76, 78, 79):
        del world.cluster.offered[key]
    with reader(world) as consumer:
        for _ in range(3):
            with pytest.raises(errors.UnsupportedVersionException, match=r"Kafka 4\.1"):
                consumer.poll(5.0)


def test_an_id_of_a_consumer_group_is_refused_for_good() -> None:
    """B793: each poll raises it, until the consumer unsubscribes."""
    world = sharing()
    with world.consumer(group_id="s") as other:
        other.subscribe("orders")
        other.poll(1.0)
        with reader(world) as consumer:
            for _ in range(3):
                with pytest.raises(errors.GroupIdNotFoundException, match=r"another group\.id"):
                    consumer.poll(5.0)


def test_a_member_that_was_removed_joins_again_with_its_records() -> None:
    """B795: its id stays, and what it holds is acknowledged."""
    world = sharing()
    written(world, 2)
    with reader(world) as consumer:
        records = list(consumer.poll(60.0))
        (member,) = world.control.share_members("s")
        world.control.remove_share_member("s", member)
        world.clock.sleep(10.0)
        assert world.control.share_members("s") == [member]
        assert all(each.is_held for each in records)
        assert consumer.commit_sync(5.0) == {A: (0, 1)}
        assert states(world) == ["acknowledged"] * 2


def test_a_member_that_does_not_poll_leaves_and_joins_again() -> None:
    """B796: after max.poll.interval.ms; the next poll gets records again."""
    world = sharing()
    written(world, 1)
    with reader(world, max_poll_interval_ms=5000) as consumer:
        consumer.poll(60.0)
        world.clock.sleep(7.0)
        assert world.control.share_members("s") == []
        world.control.append(A, b"more")
        assert [each.value for each in consumer.poll(60.0)] == [b"more"]


def test_records_outside_of_the_ranges_are_not_returned() -> None:
    """B798: bytes are whole batches, and the others of a batch are not this member's."""
    world = sharing()
    world.control.append(A, *[b"%d" % nth for nth in range(10)])
    with reader(world, share_acquire_mode="record_limit", max_poll_records=3) as consumer:
        assert [each.offset for each in consumer.poll(60.0)] == [0, 1, 2]
        assert [each.offset for each in consumer.poll(60.0)] == [3, 4, 5]
        assert [each.offset for each in consumer.poll(60.0, max_records=1)] == [6]


def test_a_limit_is_rounded_up_to_whole_batches() -> None:
    """B801: with batch_optimized, the default."""
    world = sharing()
    world.control.append(A, *[b"%d" % nth for nth in range(10)])
    with reader(world, max_poll_records=3) as consumer:
        assert [each.offset for each in consumer.poll(60.0)] == list(range(10))


def test_markers_need_no_user() -> None:
    """B799: offsets without a record are acknowledged as gaps."""
    world = sharing()
    world.control.append(A, b"x", producer=7)
    world.control.end_transaction(A, 7, committed=True)
    world.control.append(A, b"y")
    with reader(world) as consumer:
        records = consumer.poll(60.0)
        assert [each.offset for each in records] == [0, 2]
        consumer.commit_sync(5.0)
        assert states(world) == ["acknowledged", "archived", "acknowledged"]


def test_a_released_record_comes_again_and_counts() -> None:
    """B802: its delivery count is 1 at first, and 2 then."""
    world = sharing()
    written(world, 1)
    with reader(world) as consumer:
        (record,) = consumer.poll(60.0)
        record.release()
        (again,) = consumer.poll(60.0)
        assert (record.delivery_count, again.delivery_count) == (1, 2)
        assert not record.is_held
        assert again.is_held


def test_a_frozen_broker_does_not_hold_back_the_others() -> None:
    """B803: their records come within fetch.max.wait.ms, poll by poll."""
    world = sharing(nodes=2, partitions=2)
    leaders = {tp: world.control.leader(tp)[0] for tp in (A, B)}
    assert leaders[A] != leaders[B]
    with reader(world) as consumer:
        while len(consumer.assignment()) < 2:
            consumer.poll(1.0)
        coordinator = world.control.coordinator("s")
        frozen = next(tp for tp in (A, B) if leaders[tp] != coordinator)
        lively = B if frozen == A else A
        world.control.freeze(leaders[frozen])
        for nth in range(5):
            world.control.append(lively, b"%d" % nth)
            began = world.clock.time
            assert [each.value for each in consumer.poll(5.0)] == [b"%d" % nth]
            assert world.clock.time - began < 0.6
        world.control.thaw()


def test_nothing_is_fetched_without_a_poll() -> None:
    """B804: a lock would run meanwhile, and no turn is made for it."""
    world = sharing()
    with reader(world) as consumer:
        consumer.poll(1.0)
        world.clock.sleep(1.0)
        written(world, 3)
        world.clock.sleep(2.0)
        assert states(world) == []
        assert len(consumer.poll(5.0)) == 3


def test_an_undecodable_record_costs_its_neighbours_nothing() -> None:
    """B807: it is raised once a delivery, and released; marks taken before it are sent."""
    world = sharing()
    for each in (b"1", b"x", b"3"):
        world.control.append(A, each)
    with reader(world, value_deserializer=int) as consumer:
        records = list(consumer.poll(60.0))
        assert [each.value for each in records] == [1, 3]
        with pytest.raises(errors.RecordDeserializationException, match="acknowledge"):
            consumer.poll(5.0)
        # The network thread has sent nothing meanwhile.
        world.clock.sleep(0.5)
        consumer.acknowledge("orders", 0, 1, Acknowledge.REJECT)
        assert not consumer.poll(1.0)
        assert states(world) == ["acknowledged", "archived", "acknowledged"]


def test_a_damaged_batch_is_rejected_and_raised_once() -> None:
    """B806: and reading goes on behind it."""
    world = sharing()
    written(world, 3)
    world.control.damage(A, 1)
    with reader(world) as consumer:
        assert [each.offset for each in consumer.poll(60.0)] == [0, 2]
        with pytest.raises(errors.CorruptRecordException, match="rejected"):
            consumer.poll(5.0)
        assert not consumer.poll(1.0)
        assert states(world) == ["acknowledged", "archived", "acknowledged"]


def test_any_error_of_a_partition_is_tried_again() -> None:
    """B808: also one that no table has, and the other partitions go on."""
    world = sharing(partitions=2)
    written(world, 1, A)
    written(world, 1, B)
    with reader(world) as consumer:
        fault = world.control.fail("ShareFetch", 999, topic="orders", partition=0, times=None)
        assert [each.partition for each in consumer.poll(60.0)] == [1]
        before = asked(world)
        assert not consumer.poll(3.0)
        assert asked(world) - before < 40
        fault.undo()
        assert [each.partition for each in consumer.poll(60.0)] == [0]


def test_a_partition_that_is_taken_away_is_acknowledged() -> None:
    """B797: and nothing new of it comes."""
    world = sharing(partitions=2)
    written(world, 1, A)
    with reader(world) as consumer:
        (record,) = consumer.poll(60.0)
        with reader(world) as other:
            while len(consumer.assignment()) > 1:
                other.poll(1.0)
                world.clock.sleep(1.0)
            lost = A if A not in consumer.assignment() else B
            world.control.append(lost, b"new")
            record.accept()
            consumer.commit_sync(5.0)
            assert states(world)[0] == "acknowledged"
            assert not [each for each in consumer.poll(2.0) if each.partition == lost.partition]


def test_an_exact_limit_holds_over_several_brokers() -> None:
    """B800: with record_limit a poll never returns more, whoever has answered."""
    world = sharing(nodes=3, partitions=3)
    for nth in range(3):
        written(world, 9, TopicPartition("orders", nth))
    with reader(world, share_acquire_mode="record_limit", max_poll_records=4) as consumer:
        sizes: list[int] = []
        while sum(sizes) < 27:
            sizes.append(len(consumer.poll(10.0)))
        assert max(sizes) <= 4
