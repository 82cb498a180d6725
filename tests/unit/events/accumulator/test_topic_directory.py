"""The queues of a topic, as an answer tells its partitions."""

from uuid import UUID

import pytest

from prokurist.events.accumulator.batch_limits import BatchLimits
from prokurist.events.accumulator.implementation import TopicQueues
from prokurist.events.accumulator.topic_directory import TopicDirectory
from prokurist.events.cluster import Cluster, PartitionView, TopicView

HUGE = 2**31 - 1


def ignore(_topic: TopicQueues) -> None:
    """Ignore new leaders."""


def cluster(*numbers: int, topic: UUID | None = None) -> Cluster:
    """A cluster with a topic of these partitions."""
    partitions = {number: PartitionView(number, leader=1) for number in numbers}
    return Cluster(topics={"t": TopicView("t", id=topic, partitions=partitions)})


@pytest.mark.parametrize(
    ("numbers", "leaders"),
    [
        ((0, 1, 2), [1, 1, 1]),
        ((0, 1, HUGE), [1, 1, None]),
        ((HUGE,), [None]),
        ((-1, 0, -HUGE), [1, None, None]),
        ((0, 2), [1, None]),
        ((2, 1, 0), [1, 1, 1]),
    ],
)
def test_a_topic_has_as_many_queues_as_the_answer_has_rows(
    numbers: tuple[int, ...], leaders: list[int | None]
) -> None:
    """B433: whatever numbers they have; one that is missing has no leader."""
    topics: dict[str, TopicQueues] = {}
    directory = TopicDirectory(topics, BatchLimits(1000), ignore)
    directory.update(cluster(*numbers), ["t"])
    assert [each.partition for each in topics["t"].queues] == list(range(len(numbers)))
    assert [each.leader for each in topics["t"].queues] == leaders
    assert directory.leaderless == ({"t"} if None in leaders else set())


def test_a_topic_that_was_created_again_may_have_larger_batches() -> None:
    """B430, B431: the limit of the former topic ends with it; so it does with an idle one."""
    topics: dict[str, TopicQueues] = {}
    limits = BatchLimits(1000)
    directory = TopicDirectory(topics, limits, ignore)
    directory.update(cluster(0, topic=UUID(int=1)), ["t"])
    limits.refuse("t", 400, 0.0)
    directory.update(cluster(0, 1, topic=UUID(int=1)), ["t"])
    assert limits.of("t") == 300
    directory.update(cluster(0, topic=UUID(int=2)), ["t"])
    assert limits.of("t") == 1000
    limits.refuse("t", 400, 0.0)
    directory.forget("t")
    assert limits.of("t") == 1000
