"""Where records without a key go."""

from random import Random

from prokurist.events.accumulator.appending import TopicQueues
from prokurist.events.accumulator.partition_queue import PartitionQueue
from prokurist.events.accumulator.sticky_partitioner import StickyPartitioner


def topic_led_by(*leaders: int | None) -> TopicQueues:
    """A topic whose partitions have these leaders."""
    topic = TopicQueues("orders")
    for number, leader in enumerate(leaders):
        queue = PartitionQueue("orders", number)
        queue.leader = leader
        topic.queues.append(queue)
    return topic


def chosen(sticky: StickyPartitioner, topic: TopicQueues, times: int) -> list[int]:
    """The partitions that are chosen one after the other."""
    found: list[int] = []
    for _ in range(times):
        sticky.choose(topic)
        found.append(topic.sticky.partition)
    return found


def test_each_partition_has_its_turn_in_a_round() -> None:
    """Shares are even, and the order of rounds differs."""
    topic = topic_led_by(1, 2, 3)
    found = chosen(StickyPartitioner(Random(1), adaptive=False), topic, 30)  # noqa: S311
    rounds = [tuple(found[each : each + 3]) for each in range(0, 30, 3)]
    assert {frozenset(each) for each in rounds} == {frozenset({0, 1, 2})}
    assert len(set(rounds)) > 1


def test_partitions_that_cannot_be_written_get_nothing() -> None:
    """B239: without a leader, or led by a broker that took nothing for too long."""
    topic = topic_led_by(1, None, 2, 3)
    sticky = StickyPartitioner(Random(1), adaptive=False)  # noqa: S311 - a lot
    sticky.unavailable = {2}
    assert set(chosen(sticky, topic, 20)) == {0, 3}
    sticky.unavailable = {1, 2, 3}
    topic.round = []
    assert set(chosen(sticky, topic, 20)) == {0, 2, 3}, "then any that has a leader"


def test_a_partition_with_a_longer_queue_gets_less() -> None:
    """As `partitioner.adaptive.partitioning.enable` says; without that, as much."""
    for adaptive, share in ((True, 10), (False, 30)):
        topic = topic_led_by(1, 2, 3)
        topic.queues[0].closed.extend([None] * 9)
        found = chosen(StickyPartitioner(Random(1), adaptive=adaptive), topic, 90)  # noqa: S311
        assert (found.count(0) <= share) if adaptive else (found.count(0) == share)


def test_partitions_in_the_same_rack_are_preferred() -> None:
    """As far as they can be written."""
    topic = topic_led_by(1, 2, 3)
    sticky = StickyPartitioner(Random(1), adaptive=False)  # noqa: S311 - a lot
    sticky.preferred = {2}
    assert set(chosen(sticky, topic, 9)) == {1}
    sticky.unavailable = {2}
    topic.round = []
    assert set(chosen(sticky, topic, 9)) == {0, 2}
