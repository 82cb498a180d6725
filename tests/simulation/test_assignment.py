"""What is read, as users say it: assign, seek, pause."""

from collections.abc import Callable

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import IllegalStateException
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.world import World

A, B, C = (TopicPartition("orders", number) for number in range(3))


def test_what_is_assigned_is_assigned() -> None:
    """One partition or several; of none, nothing is left."""
    with World().consumer() as consumer:
        consumer.assign(A)
        assert consumer.assignment() == {A}
        consumer.assign([A, B, A])
        assert consumer.assignment() == {A, B}
        consumer.assign([])
        assert consumer.assignment() == frozenset()


def test_a_commit_without_offsets_commits_the_present_place() -> None:
    """B34: of all that are assigned and have one, with the leader epoch that is known."""
    world = World()
    with world.consumer() as consumer:
        consumer.assign([A, B, C])
        consumer.seek(A, 5)
        consumer.seek(B, OffsetAndMetadata(6, "not kept", 0))
        consumer.commit_sync()
        assert consumer.committed([A, B, C]) == {
            A: OffsetAndMetadata(5),
            B: OffsetAndMetadata(6, "", 0),
            C: None,
        }


def test_a_commit_without_a_place_sends_nothing() -> None:
    """B15, B82: a sought end is no place before it was looked up."""
    world = World()
    with world.consumer() as consumer:
        consumer.assign(A)
        consumer.seek(A, 5)
        consumer.seek_to_end()
        consumer.commit_sync()
        consumer.seek_to_beginning([A])
        consumer.commit_sync()
        assert not world.cluster.journal.received


def test_pausing_and_resuming() -> None:
    """What is paused is told, and stays paused under a new assignment."""
    with World().consumer() as consumer:
        consumer.assign([A, B])
        consumer.pause(A)
        consumer.assign([A, C])
        assert consumer.paused() == {A}
        consumer.resume([A, C])
        assert consumer.paused() == frozenset()


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda c: c.seek(C, 1), id="seek"),
        pytest.param(lambda c: c.seek_to_beginning(C), id="seek_to_beginning"),
        pytest.param(lambda c: c.seek_to_end([A, C]), id="seek_to_end"),
        pytest.param(lambda c: c.pause(C), id="pause"),
        pytest.param(lambda c: c.resume(C), id="resume"),
    ],
)
def test_what_is_not_assigned_is_refused(act: Callable[[KafkaConsumer], object]) -> None:
    """B78: IllegalState that names the partition."""
    with World().consumer() as consumer:
        consumer.assign(A)
        with pytest.raises(IllegalStateException, match="orders-2"):
            act(consumer)


@pytest.mark.parametrize("offset", [-1, "5", None, 1.0, True])
def test_a_place_that_cannot_be_is_refused(offset: object) -> None:
    """B81: seeking below zero, or to what is no offset, is an argument error."""
    with World().consumer() as consumer:
        consumer.assign(A)
        with pytest.raises((ValueError, TypeError), match="offset is"):
            consumer.seek(A, offset)  # type: ignore[arg-type]
