"""What is stored and what is outstanding: which of it may be committed, and when it goes."""

import pytest

from prokurist.config import OffsetReset
from prokurist.errors import IllegalStateException
from prokurist.events.committable import Tracking
from prokurist.events.hand import make_hand
from prokurist.events.position_state import Position
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.consumer_table import ConsumerTable

A, B = (TopicPartition("orders", number) for number in range(2))
LATEST = OffsetReset("latest")


def storing(
    *partitions: TopicPartition, most: int = 0, uncommitted: int = 100
) -> ConsumerTable:
    """Partitions at offset 0; records are tracked if there is a bound."""
    made = ConsumerTable(LATEST, stores=True)
    if most:
        made.committable.track(Tracking(most, uncommitted))
    made.assigned.assign(partitions or (A,))
    for tp in partitions or (A,):
        made.positions.seek(tp, Position(0))
    return made


def ticket(table: ConsumerTable, tp: TopicPartition = A) -> int:
    """Under which records of a partition are returned now."""
    return next(wish.ticket for wish in table.fetching.fetchable() if wish.partition == tp)


def returns(
    table: ConsumerTable, *offsets: int, epoch: int = 1, tp: TopicPartition = A
) -> None:
    """A poll returns records of these offsets."""
    assert table.fetching.advance(
        tp,
        ticket(table, tp),
        Position(offsets[-1] + 1, epoch),
        handed=((offsets, epoch),),
    )


def committable(table: ConsumerTable, tp: TopicPartition = A) -> int | None:
    """Up to where a partition would be committed."""
    at = table.committable.snapshot().offsets.get(tp)
    return None if at is None else at.offset


def test_what_is_returned_is_not_committed() -> None:
    """With offsets stored, only those are; nothing at all before the first."""
    table = storing()
    returns(table, 0, 1, 2)
    assert table.committable.snapshot().offsets == {}
    kept = OffsetAndMetadata(2, "half of it", 1)
    table.committable.store({A: kept})
    assert table.committable.snapshot().offsets == {A: kept}
    table.committable.store({A: OffsetAndMetadata(1)})
    assert committable(table) == 1


def test_all_are_stored_or_none() -> None:
    """A partition that is not assigned refuses the whole call, and is named."""
    table = storing()
    with pytest.raises(IllegalStateException, match="store_offsets of orders-1, which is not"):
        table.committable.store({A: OffsetAndMetadata(4), B: OffsetAndMetadata(4)})
    assert committable(table) is None


@pytest.mark.parametrize("how", ["seek", "seek_by", "reset", "assign", "truncated"])
def test_what_reads_elsewhere_forgets_what_was_stored(how: str) -> None:
    """After a seek, a reset, another assignment, and a log that was cut back before it."""
    table = storing()
    table.committable.store({A: OffsetAndMetadata(7)})
    if how == "seek":
        table.positions.seek(A, Position(3))
    elif how == "seek_by":
        table.positions.seek_by([A], LATEST)
    elif how == "reset":
        table.fetching.reset(A, ticket(table))
    elif how == "assign":
        table.assigned.assign([B])
        table.assigned.assign([A])
    else:
        table.positions.seek(A, Position(9, 1))
        table.committable.store({A: OffsetAndMetadata(7)})
        [wanted] = table.positions.wanted()
        table.positions.diverged(A, wanted.ticket, 0, 5)
        assert table.positions.position(A) == 5
    assert committable(table) is None


def test_a_validation_and_a_cut_beyond_it_keep_what_was_stored() -> None:
    """Another leader alone changes nothing about what is done."""
    table = storing()
    table.positions.seek(A, Position(9, 1))
    table.committable.store({A: OffsetAndMetadata(4)})
    assert table.positions.leaders_are({A: 5}) is False
    [wanted] = table.positions.wanted()
    assert committable(table) == 4
    table.positions.diverged(A, wanted.ticket, 0, 5)
    assert committable(table) == 4


def test_storing_before_the_position_is_known() -> None:
    """What a listener stores of a new partition stays when its place has been looked up."""
    table = ConsumerTable(LATEST, stores=True)
    table.assigned.assign([A])
    table.committable.store({A: OffsetAndMetadata(4)})
    [wanted] = table.positions.wanted()
    assert table.positions.need_reset(wanted, LATEST)
    assert table.positions.settle(wanted, Position(9))
    assert committable(table) == 4


def test_a_commit_ends_before_the_lowest_outstanding_record() -> None:
    """Out of order, over gaps, with the epoch of the record before."""
    table = storing(most=10)
    assert committable(table) == 0
    returns(table, 0, 1, 4, epoch=1)
    returns(table, 9, 10, epoch=2)
    assert table.committable.finish(A, 1)
    assert table.committable.finish(A, 4)
    assert committable(table) == 0
    assert table.committable.outstanding() == (3, 2, frozenset())
    assert table.committable.finish(A, 0)
    assert table.committable.snapshot().offsets == {A: OffsetAndMetadata(9, "", 1)}
    assert table.committable.finish(A, 9)
    assert table.committable.snapshot().offsets == {A: OffsetAndMetadata(10, "", 2)}
    assert table.committable.finish(A, 10)
    assert table.committable.snapshot().offsets == {A: OffsetAndMetadata(11, "", 2)}


def test_what_was_skipped_behind_the_last_record_is_committed_too() -> None:
    """Markers of transactions are no records, and hold nothing back."""
    table = storing(most=10)
    returns(table, 0)
    assert table.fetching.advance(A, ticket(table), Position(5, 1))
    assert committable(table) == 0
    assert table.committable.finish(A, 0)
    assert committable(table) == 5


def test_a_record_in_hand_is_outstanding() -> None:
    """One of an iteration is from the moment in which it is handed out."""

    class Record:
        offset = 3
        leader_epoch = 1

    table = storing(most=10)
    hand = make_hand(table.assigned.steady, (), lambda: 0.0)
    assert table.fetching.hand_out(A, ticket(table), Record(), hand)
    assert committable(table) == 3
    assert table.committable.finish(A, 3)
    assert committable(table) == 4


def test_told_twice_and_told_too_late() -> None:
    """Both are counted, each apart, and change nothing."""
    table = storing(A, B, most=10)
    returns(table, 0, 1, 2)
    tracking = table.committable.tracking
    assert tracking is not None
    assert table.committable.finish(A, 1)
    assert not table.committable.finish(A, 1)
    assert (tracking.counted, tracking.twice, tracking.given_up) == (1, 1, 0)
    assert not table.committable.finish(B, 0)
    assert not table.committable.finish(TopicPartition("other", 0), 0)
    assert not table.committable.finish(A, 17)
    assert (tracking.counted, tracking.twice, tracking.given_up) == (1, 1, 3)
    table.assigned.assign([B])
    table.assigned.assign([A, B])
    assert not table.committable.finish(A, 2)
    assert (tracking.counted, tracking.twice, tracking.given_up) == (1, 1, 4)
    assert table.committable.outstanding() == (0, 0, frozenset())


def test_a_seek_forgets_what_is_outstanding() -> None:
    """What was returned before it holds nothing back, and counts no more."""
    table = storing(most=10)
    returns(table, 0, 1, 2)
    table.positions.seek(A, Position(50))
    assert committable(table) == 50
    assert not table.committable.finish(A, 1)
    returns(table, 50)
    assert committable(table) == 50


def test_what_an_interrupted_poll_had_is_not_outstanding() -> None:
    """It is returned again; what earlier polls returned stays outstanding."""
    table = storing(most=10)
    returns(table, 0, 1)
    bookmark = table.fetching.bookmark(A, ticket(table))
    assert bookmark is not None
    returns(table, 2, 3)
    table.fetching.take_back(A, bookmark)
    assert table.committable.outstanding().records == 2
    assert table.committable.finish(A, 0)
    assert table.committable.finish(A, 1)
    assert committable(table) == 2


def test_the_bounds() -> None:
    """One for all together; and one for what stands behind one record that is not done."""
    table = storing(A, B, most=5, uncommitted=3)
    returns(table, 0, 1, tp=A)
    assert (table.committable.room(), table.committable.room_of(A)) == (3, 1)
    assert not table.committable.take_held_up()
    returns(table, 2, tp=A)
    assert table.committable.finish(A, 1)
    assert table.committable.finish(A, 2)
    assert (table.committable.room(), table.committable.room_of(A)) == (4, 0)
    assert table.committable.room_of(B) == 3
    assert table.committable.outstanding() == (1, 2, frozenset({A}))
    assert table.committable.take_held_up()
    assert not table.committable.take_held_up()
    assert table.committable.finish(A, 0)
    assert table.committable.room_of(A) == 3


def test_a_tracker_begins_before_anything_is_read() -> None:
    """It would not know of what was returned before; and there is one."""
    table = storing()
    with pytest.raises(IllegalStateException, match="call it before subscribe and assign"):
        table.committable.track(Tracking(1, 1))
    table = storing(most=1)
    with pytest.raises(IllegalStateException, match="was called before"):
        table.committable.track(Tracking(1, 1))


def test_a_range_is_not_tracked() -> None:
    """It commits nothing, and its end is its own."""
    table = ConsumerTable(LATEST, stores=True)
    table.committable.track(Tracking(1, 1))
    table.positions.begin_range(A, 0, 10)
    returns(table, 0, 1, 2)
    assert table.committable.outstanding() == (0, 0, frozenset())
    assert table.committable.snapshot().offsets == {}
