"""What is stored and what is outstanding: which of it may be committed, and when it goes."""

import pytest

from prokurist.config import OffsetReset
from prokurist.errors import IllegalStateException
from prokurist.events.hand import make_hand
from prokurist.events.outstanding import Tracking
from prokurist.events.partition_state import Position
from prokurist.events.subscription import Subscription
from prokurist.types import OffsetAndMetadata, TopicPartition

A, B = (TopicPartition("orders", number) for number in range(2))
LATEST = OffsetReset("latest")


def storing(*partitions: TopicPartition, most: int = 0, uncommitted: int = 100) -> Subscription:
    """Partitions at offset 0; records are tracked if there is a bound."""
    made = Subscription(LATEST, stores=True)
    if most:
        made.track(Tracking(most, uncommitted))
    made.assign(partitions or (A,))
    for tp in partitions or (A,):
        made.seek(tp, Position(0))
    return made


def ticket(subscription: Subscription, tp: TopicPartition = A) -> int:
    """Under which records of a partition are returned now."""
    return next(wish.ticket for wish in subscription.fetchable() if wish.partition == tp)


def returns(
    subscription: Subscription, *offsets: int, epoch: int = 1, tp: TopicPartition = A
) -> None:
    """A poll returns records of these offsets."""
    assert subscription.advance(
        tp,
        ticket(subscription, tp),
        Position(offsets[-1] + 1, epoch),
        handed=((offsets, epoch),),
    )


def committable(subscription: Subscription, tp: TopicPartition = A) -> int | None:
    """Up to where a partition would be committed."""
    at = subscription.committable().offsets.get(tp)
    return None if at is None else at.offset


def test_what_is_returned_is_not_committed() -> None:
    """With offsets stored, only those are; nothing at all before the first."""
    subscription = storing()
    returns(subscription, 0, 1, 2)
    assert subscription.committable().offsets == {}
    kept = OffsetAndMetadata(2, "half of it", 1)
    subscription.store({A: kept})
    assert subscription.committable().offsets == {A: kept}
    subscription.store({A: OffsetAndMetadata(1)})
    assert committable(subscription) == 1


def test_all_are_stored_or_none() -> None:
    """A partition that is not assigned refuses the whole call, and is named."""
    subscription = storing()
    with pytest.raises(IllegalStateException, match="store_offsets of orders-1, which is not"):
        subscription.store({A: OffsetAndMetadata(4), B: OffsetAndMetadata(4)})
    assert committable(subscription) is None


@pytest.mark.parametrize("how", ["seek", "seek_by", "reset", "assign", "truncated"])
def test_what_reads_elsewhere_forgets_what_was_stored(how: str) -> None:
    """After a seek, a reset, another assignment, and a log that was cut back before it."""
    subscription = storing()
    subscription.store({A: OffsetAndMetadata(7)})
    if how == "seek":
        subscription.seek(A, Position(3))
    elif how == "seek_by":
        subscription.seek_by([A], LATEST)
    elif how == "reset":
        subscription.reset(A, ticket(subscription))
    elif how == "assign":
        subscription.assign([B])
        subscription.assign([A])
    else:
        subscription.seek(A, Position(9, 1))
        subscription.store({A: OffsetAndMetadata(7)})
        [wanted] = subscription.wanted()
        subscription.diverged(A, wanted.ticket, 0, 5)
        assert subscription.position(A) == 5
    assert committable(subscription) is None


def test_a_validation_and_a_cut_beyond_it_keep_what_was_stored() -> None:
    """Another leader alone changes nothing about what is done."""
    subscription = storing()
    subscription.seek(A, Position(9, 1))
    subscription.store({A: OffsetAndMetadata(4)})
    assert subscription.leaders_are({A: 5}) is False
    [wanted] = subscription.wanted()
    assert committable(subscription) == 4
    subscription.diverged(A, wanted.ticket, 0, 5)
    assert committable(subscription) == 4


def test_storing_before_the_position_is_known() -> None:
    """What a listener stores of a new partition stays when its place has been looked up."""
    subscription = Subscription(LATEST, stores=True)
    subscription.assign([A])
    subscription.store({A: OffsetAndMetadata(4)})
    [wanted] = subscription.wanted()
    assert subscription.need_reset(wanted, LATEST)
    assert subscription.settle(wanted, Position(9))
    assert committable(subscription) == 4


def test_a_commit_ends_before_the_lowest_outstanding_record() -> None:
    """Out of order, over gaps, with the epoch of the record before."""
    subscription = storing(most=10)
    assert committable(subscription) == 0
    returns(subscription, 0, 1, 4, epoch=1)
    returns(subscription, 9, 10, epoch=2)
    assert subscription.finish(A, 1)
    assert subscription.finish(A, 4)
    assert committable(subscription) == 0
    assert subscription.outstanding() == (3, 2, frozenset())
    assert subscription.finish(A, 0)
    assert subscription.committable().offsets == {A: OffsetAndMetadata(9, "", 1)}
    assert subscription.finish(A, 9)
    assert subscription.committable().offsets == {A: OffsetAndMetadata(10, "", 2)}
    assert subscription.finish(A, 10)
    assert subscription.committable().offsets == {A: OffsetAndMetadata(11, "", 2)}


def test_what_was_skipped_behind_the_last_record_is_committed_too() -> None:
    """Markers of transactions are no records, and hold nothing back."""
    subscription = storing(most=10)
    returns(subscription, 0)
    assert subscription.advance(A, ticket(subscription), Position(5, 1))
    assert committable(subscription) == 0
    assert subscription.finish(A, 0)
    assert committable(subscription) == 5


def test_a_record_in_hand_is_outstanding() -> None:
    """One of an iteration is from the moment in which it is handed out."""

    class Record:
        offset = 3
        leader_epoch = 1

    subscription = storing(most=10)
    hand = make_hand(subscription.steady, (), lambda: 0.0)
    assert subscription.hand_out(A, ticket(subscription), Record(), hand)
    assert committable(subscription) == 3
    assert subscription.finish(A, 3)
    assert committable(subscription) == 4


def test_told_twice_and_told_too_late() -> None:
    """Both are counted, each apart, and change nothing."""
    subscription = storing(A, B, most=10)
    returns(subscription, 0, 1, 2)
    tracking = subscription.tracking
    assert tracking is not None
    assert subscription.finish(A, 1)
    assert not subscription.finish(A, 1)
    assert (tracking.counted, tracking.twice, tracking.given_up) == (1, 1, 0)
    assert not subscription.finish(B, 0)
    assert not subscription.finish(TopicPartition("other", 0), 0)
    assert not subscription.finish(A, 17)
    assert (tracking.counted, tracking.twice, tracking.given_up) == (1, 1, 3)
    subscription.assign([B])
    subscription.assign([A, B])
    assert not subscription.finish(A, 2)
    assert (tracking.counted, tracking.twice, tracking.given_up) == (1, 1, 4)
    assert subscription.outstanding() == (0, 0, frozenset())


def test_a_seek_forgets_what_is_outstanding() -> None:
    """What was returned before it holds nothing back, and counts no more."""
    subscription = storing(most=10)
    returns(subscription, 0, 1, 2)
    subscription.seek(A, Position(50))
    assert committable(subscription) == 50
    assert not subscription.finish(A, 1)
    returns(subscription, 50)
    assert committable(subscription) == 50


def test_what_an_interrupted_poll_had_is_not_outstanding() -> None:
    """It is returned again; what earlier polls returned stays outstanding."""
    subscription = storing(most=10)
    returns(subscription, 0, 1)
    bookmark = subscription.bookmark(A, ticket(subscription))
    assert bookmark is not None
    returns(subscription, 2, 3)
    subscription.take_back(A, bookmark)
    assert subscription.outstanding().records == 2
    assert subscription.finish(A, 0)
    assert subscription.finish(A, 1)
    assert committable(subscription) == 2


def test_the_bounds() -> None:
    """One for all together; and one for what stands behind one record that is not done."""
    subscription = storing(A, B, most=5, uncommitted=3)
    returns(subscription, 0, 1, tp=A)
    assert (subscription.room(), subscription.room_of(A)) == (3, 1)
    assert not subscription.take_held_up()
    returns(subscription, 2, tp=A)
    assert subscription.finish(A, 1)
    assert subscription.finish(A, 2)
    assert (subscription.room(), subscription.room_of(A)) == (4, 0)
    assert subscription.room_of(B) == 3
    assert subscription.outstanding() == (1, 2, frozenset({A}))
    assert subscription.take_held_up()
    assert not subscription.take_held_up()
    assert subscription.finish(A, 0)
    assert subscription.room_of(A) == 3


def test_a_tracker_begins_before_anything_is_read() -> None:
    """It would not know of what was returned before; and there is one."""
    subscription = storing()
    with pytest.raises(IllegalStateException, match="call it before subscribe and assign"):
        subscription.track(Tracking(1, 1))
    subscription = storing(most=1)
    with pytest.raises(IllegalStateException, match="was called before"):
        subscription.track(Tracking(1, 1))


def test_a_range_is_not_tracked() -> None:
    """It commits nothing, and its end is its own."""
    subscription = Subscription(LATEST, stores=True)
    subscription.track(Tracking(1, 1))
    subscription.begin_range(A, 0, 10)
    returns(subscription, 0, 1, 2)
    assert subscription.outstanding() == (0, 0, frozenset())
    assert subscription.committable().offsets == {}
