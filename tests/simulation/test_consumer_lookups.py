"""The public look-ups in virtual time; what the managers do is tested beside them."""

from collections.abc import Callable

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.types import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition
from tests.simulation.world import World

A, B = (TopicPartition("orders", number) for number in range(2))


def with_records() -> World:
    """Three records in one partition, none in the other."""
    world = World(nodes=2)
    for timestamp in (1000, 2000, 3000):
        world.control.append(A, b"v", timestamp=timestamp)
    return world


def test_edges_and_times() -> None:
    """B87: one partition or several; None where no record is that young."""
    with with_records().consumer() as consumer:
        assert consumer.beginning_offsets(A) == {A: 0}
        assert consumer.end_offsets([A, B]) == {A: 3, B: 0}
        assert consumer.offsets_for_times({A: 1500, B: 1500}) == {
            A: OffsetAndTimestamp(1, 2000, 0),
            B: None,
        }


def test_topics() -> None:
    """B195: partitions in order; none for a topic that does not exist."""
    with with_records().consumer() as consumer:
        assert [each.partition for each in consumer.partitions_for("orders")] == [0, 1, 2]
        assert consumer.partitions_for("nothing") == []
        assert list(consumer.list_topics()) == ["orders"]


def test_nothing_asked_is_nothing_sent() -> None:
    """B14, for offsets: empty in, empty out."""
    world = World()
    with world.consumer() as consumer:
        assert consumer.beginning_offsets([], timeout=0) == {}
        assert consumer.offsets_for_times({}) == {}
        assert not world.cluster.journal.received


def test_without_time_nothing_is_sent() -> None:
    """B10, B11: TimeoutException at once; a pending wake-up goes first."""
    world = World()
    with world.consumer() as consumer:
        consumer.wakeup()
        with pytest.raises(errors.WakeupException):
            consumer.list_topics(timeout=0)
        for call in (
            lambda: consumer.list_topics(timeout=0),
            lambda: consumer.beginning_offsets(A, timeout=0),
            lambda: consumer.end_offsets(A, timeout=0),
            lambda: consumer.offsets_for_times({A: 1}, timeout=0),
        ):
            with pytest.raises(errors.TimeoutException, match="no time to wait"):
                call()
        assert not world.cluster.journal.received


@pytest.mark.parametrize("operation", ["end_offsets", "list_topics", "partitions_for"])
def test_silence_ends_at_the_deadline(operation: str) -> None:
    """B2, B22: with all brokers frozen, on time, naming what it was about."""
    world = with_records()
    with world.consumer() as consumer:
        consumer.end_offsets([A, B])
        world.control.freeze()
        began = world.clock.time
        calls: dict[str, Callable[[], object]] = {
            "end_offsets": lambda: consumer.end_offsets([A, B], timeout=0.3),
            "list_topics": lambda: consumer.list_topics(timeout=0.3),
            "partitions_for": lambda: consumer.partitions_for("elsewhere", timeout=0.3),
        }
        with pytest.raises(errors.TimeoutException, match=operation):
            calls[operation]()
        assert world.clock.time == pytest.approx(began + 0.3)


@pytest.mark.parametrize("timestamps", [{A: -1}, {A: "1"}, {"orders": 1}, [A]])
def test_times_that_cannot_be_are_refused(timestamps: object) -> None:
    """B88: an argument error before anything happens."""
    with World().consumer() as consumer, pytest.raises((ValueError, TypeError)):
        consumer.offsets_for_times(timestamps)  # type: ignore[arg-type]


def test_a_client_without_a_group_looks_up_what_needs_none() -> None:
    """B51, B258: only commits and what was committed need a group."""
    with with_records().consumer(group_id=None) as consumer:
        assert consumer.end_offsets(A) == {A: 3}
        with pytest.raises(errors.InvalidGroupIdException):
            consumer.committed(A)


@pytest.mark.parametrize(
    "commit",
    [
        KafkaConsumer.commit_sync,
        KafkaConsumer.commit_async,
        lambda consumer: consumer.commit_sync({}),
        lambda consumer: consumer.commit_async({A: OffsetAndMetadata(1)}),
    ],
    ids=["commit_sync", "commit_async", "commit_sync of nothing", "commit_async of offsets"],
)
def test_a_client_without_a_group_commits_nothing(
    commit: Callable[[KafkaConsumer], None],
) -> None:
    """B51: InvalidGroupId at once, also while there is nothing to be committed yet."""
    world = with_records()
    with world.consumer(group_id=None) as consumer:
        consumer.assign(A)
        with pytest.raises(errors.InvalidGroupIdException, match=r"set group\.id"):
            commit(consumer)
