"""What names stand for, and what that makes worthless."""

from uuid import UUID

import pytest

from prokurist.config import OffsetReset
from prokurist.events.assignment import PositionRequest
from prokurist.events.partition_state import Position
from prokurist.events.subscription import Subscription
from prokurist.types import OffsetAndMetadata, TopicPartition

A, B = TopicPartition("orders", 0), TopicPartition("other", 0)
X, Y, Z = UUID(int=1), UUID(int=2), UUID(int=3)


def assigned(policy: str = "earliest") -> Subscription:
    """Two partitions by hand, of which the first has come as far as 8, of topic X."""
    subscription = Subscription(OffsetReset(policy))
    subscription.assign([A, B])
    subscription.seek(A, Position(5))
    subscription.topics_are({"orders": X}, [])
    read(subscription, 8)
    return subscription


def read(subscription: Subscription, to: int) -> None:
    """Fetch and return records of the first partition, up to an offset."""
    (wish,) = subscription.fetchable()
    assert subscription.fetched(wish, Position(to))
    assert subscription.advance(A, wish.ticket, Position(to))


def given(topic: UUID) -> Subscription:
    """The same, given by a group by the topic's id."""
    subscription = Subscription(OffsetReset("earliest"))
    subscription.subscribe(["orders", "other"], listens=False)
    subscription.add(0, [A], awaiting=False, ids={A: topic})
    subscription.seek(A, Position(8))
    return subscription


def test_the_first_metadata_since_the_group_gave_it() -> None:
    """B196: another topic; the place was sought, and so nothing had looked before."""
    subscription = given(X)
    (wish,) = subscription.fetchable()
    assert subscription.fetched(wish, Position(9))
    assert subscription.topics_are({"orders": Y}, []).given_up == (A,)
    assert subscription.fetchable() == []
    assert subscription.committable().offsets == {}


def test_the_same_again_is_no_news() -> None:
    """B196: nor is an unknown id, nor none."""
    subscription = assigned()
    for ids in ({"orders": X}, {}, {"other": Y}):
        assert subscription.topics_are(ids, []) == ((), (), (), (), (), ())
    assert subscription.committable() == ({A: OffsetAndMetadata(8)}, {"orders": X})


def test_a_new_id_starts_at_the_reset_policy() -> None:
    """B196: with other tickets, for answers about its place and about its log."""
    subscription = assigned()
    (wish,) = subscription.fetchable()
    settled = subscription.settled
    subscription.end_found(A, wish.ticket, 9)
    assert subscription.topics_are({"orders": Y}, []).begun == (A,)
    assert subscription.settled > settled
    assert not subscription.fetched(wish, Position(9))
    assert subscription.committable().offsets == {}
    (recreated, other) = sorted(subscription.wanted(), key=lambda each: each.partition)
    assert (recreated.partition, recreated.reset) == (A, subscription.policy)
    assert (other.partition, other.reset) == (B, None)
    assert subscription.places([A])[0].end is None
    subscription.settle(recreated, Position(0))
    assert subscription.committable() == ({A: OffsetAndMetadata(0)}, {"orders": Y})


def test_an_id_that_has_ended_does_not_come_back() -> None:
    """B196: a broker that lags behind tells it once more."""
    subscription = assigned()
    subscription.topics_are({"orders": Y}, [])
    subscription.seek(A, Position(3))
    assert not subscription.topics_are({"orders": X}, []).begun
    assert not subscription.topics_are({"orders": Y}, []).begun
    assert subscription.position(A) == 3
    read(subscription, 4)
    assert subscription.topics_are({"orders": Z}, []).begun == (A,)


def test_the_users_own_wish_stays() -> None:
    """B196: where he has sought to by a policy, and what he has paused."""
    subscription = assigned()
    subscription.seek_by([A], OffsetReset("latest"))
    subscription.pause([A], paused=True)
    subscription.topics_are({"orders": Y}, [])
    wanted = {each.partition: each.reset for each in subscription.wanted()}
    assert wanted[A] == OffsetReset("latest")
    assert subscription.paused() == {A}


@pytest.mark.parametrize("policy", ["latest", "none"])
def test_a_place_that_was_sought_and_not_read_stays(policy: str) -> None:
    """B196: a fetch was sent for the former topic; its late answer is dropped."""
    subscription = assigned(policy)
    subscription.seek(A, Position(3))
    (wish,) = subscription.fetchable()
    subscription.fetched_as({"orders": X})
    settled = subscription.settled
    told = subscription.topics_are({"orders": Y}, [])
    assert (told.begun, told.unplaced, told.kept) == ((), (), (A,))
    assert subscription.settled > settled
    assert not subscription.fetched(wish, Position(9))
    (again,) = subscription.fetchable()
    assert again.position == Position(3)
    assert subscription.committable() == ({A: OffsetAndMetadata(3)}, {"orders": Y})


def test_a_place_of_which_a_fetch_was_answered_is_the_former_topics() -> None:
    """B196: without a record, too."""
    subscription = assigned("latest")
    subscription.seek(A, Position(3))
    (wish,) = subscription.fetchable()
    assert subscription.fetched(wish, None, end=3)
    assert subscription.topics_are({"orders": Y}, []).begun == (A,)


def sought(subscription: Subscription) -> PositionRequest:
    """What is to be looked up of the first partition."""
    return next(each for each in subscription.wanted() if each.partition == A)


def test_a_validated_place_of_which_nothing_was_read_stays() -> None:
    """B196: a leader is asked by the name, and has told of the new topic, perhaps."""
    subscription = assigned("latest")
    subscription.seek(A, Position(3, epoch=1))
    subscription.confirmed(sought(subscription), 1)
    assert subscription.topics_are({"orders": Y}, []).kept == (A,)
    assert sought(subscription).confirm == Position(3, epoch=1)


def test_a_seek_by_a_policy_stays_where_nothing_was_read() -> None:
    """B196: to the beginning, say, which the leader has told of one topic or the other."""
    subscription = assigned("latest")
    subscription.seek_by([A], OffsetReset("earliest"))
    subscription.settle(sought(subscription), Position(0))
    told = subscription.topics_are({"orders": Y}, [])
    assert (told.begun, told.kept) == ((), (A,))
    assert sought(subscription).reset == OffsetReset("earliest")


@pytest.mark.parametrize("policy", ["latest", "none"])
@pytest.mark.parametrize("epoch", [None, 1])
def test_what_is_committed_is_looked_up_again_where_nothing_was_read(
    policy: str, epoch: int | None
) -> None:
    """B196: another member may have committed it of the new topic."""
    subscription = Subscription(OffsetReset(policy))
    subscription.assign([A])
    subscription.topics_are({"orders": X}, [])
    unconfirmed = subscription.settle_committed(sought(subscription), Position(5, epoch))
    if unconfirmed is not None:
        subscription.confirmed(unconfirmed, 1)
    (wish,) = subscription.fetchable()
    told = subscription.topics_are({"orders": Y}, [])
    assert (told.begun, told.unplaced, told.kept) == ((), (), (A,))
    assert not subscription.fetched(wish, Position(9))
    wanted = sought(subscription)
    assert (wanted.reset, wanted.confirm) == (None, None)
    assert subscription.committable().offsets == {}


def test_a_range_is_not_gone_on_with() -> None:
    """B196: its offsets were chosen of the former topic."""
    subscription = Subscription(OffsetReset("none"))
    subscription.begin_range(A, 3, 8)
    subscription.topics_are({"orders": X}, [])
    ((_, offset),) = subscription.topics_are({"orders": Y}, []).unplaced
    assert offset == 3


def test_a_sought_place_with_an_epoch_is_validated_in_the_new_topic() -> None:
    """B196: as a seek to it would have it validated."""
    subscription = assigned("latest")
    subscription.seek(A, Position(3, epoch=1))
    (before,) = (each for each in subscription.wanted() if each.partition == A)
    assert subscription.topics_are({"orders": Y}, []).kept == (A,)
    assert not subscription.still_wanted(before)
    (after,) = (each for each in subscription.wanted() if each.partition == A)
    assert after.confirm == Position(3, epoch=1)


def test_without_a_policy_the_place_is_told() -> None:
    """B196: and the group is asked, as for a partition that is new."""
    subscription = assigned("none")
    ((wanted, offset),) = subscription.topics_are({"orders": Y}, []).unplaced
    assert (wanted.partition, offset) == (A, 8)
    assert subscription.still_wanted(wanted)
    assert wanted.reset is None


def test_what_has_no_place_is_looked_up_again() -> None:
    """B196: in the group, as before; an answer that is under way counts no more."""
    subscription = assigned()
    before = next(each for each in subscription.wanted() if each.partition == B)
    subscription.topics_are({"other": X}, [])
    subscription.topics_are({"other": Y}, [])
    assert not subscription.still_wanted(before)
    after = next(each for each in subscription.wanted() if each.partition == B)
    assert after.reset is None


def test_what_is_held_by_its_id_is_given_up() -> None:
    """B196: another may have the new one; it is told once, and committed no more."""
    subscription = given(X)
    subscription.topics_are({"orders": X}, [])
    told = subscription.topics_are({"orders": Y}, [])
    assert (told.given_up, told.disputed) == ((A,), (A,))
    assert not subscription.fetchable()
    assert subscription.committable().offsets == {}
    assert subscription.topics_are({"orders": Y}, []).given_up == ()
    assert subscription.owned() == {A}


def test_what_the_group_gave_is_read_on_when_metadata_name_it_again() -> None:
    """B196: a broker that lagged named the former topic; what was fetched is fetched again."""
    subscription = given(Y)
    subscription.topics_are({"orders": Y}, [])
    (wish,) = subscription.fetchable()
    assert subscription.fetched(wish, Position(20))
    assert subscription.topics_are({"orders": X}, []).given_up == (A,)
    assert subscription.topics_are({"orders": Y}, []) == ((), (), (), (), (), ())
    (again,) = subscription.fetchable()
    assert again.position == Position(8)
    assert again.ticket != wish.ticket
    assert subscription.committable() == ({A: OffsetAndMetadata(8)}, {"orders": Y})
    assert subscription.topics_are({"orders": Z}, []).given_up == (A,)


def test_what_the_group_revokes_stays_revoked_for_any_metadata() -> None:
    """B196: the group's word is the last."""
    subscription = given(Y)
    subscription.topics_are({"orders": Y}, [])
    subscription.topics_are({"orders": X}, [])
    assert subscription.topics_are({"orders": X}, []).disputed == (A,)
    subscription.give_up(0, [A])
    assert subscription.topics_are({"orders": Y}, []).disputed == ()
    assert not subscription.fetchable()


def test_metadata_that_lag_behind_the_group() -> None:
    """B196: what the group gives by a newer id is not put in doubt by an older one."""
    subscription = given(Y)
    subscription.topics_are({"orders": X}, [])
    subscription.topics_are({"orders": Y}, [])
    assert subscription.committable() == ({A: OffsetAndMetadata(8)}, {"orders": Y})
    assert len(subscription.fetchable()) == 1


def test_what_is_absent_is_committed_only_if_it_is_asked_for() -> None:
    """B196: and until it is said to be there."""
    subscription = assigned()
    assert subscription.topics_are({}, ["orders"]).absent == (A,)
    assert subscription.committable(unasked=True).offsets == {}
    assert subscription.committable().offsets.keys() == {A}
    subscription.topics_are({"orders": X}, [])
    assert subscription.committable(unasked=True).offsets.keys() == {A}


def test_what_is_fetched_by_an_id_is_of_that() -> None:
    """B196: a place that was sought before its id is known."""
    subscription = Subscription(OffsetReset("earliest"))
    subscription.assign([A])
    subscription.seek(A, Position(8))
    assert subscription.committable().topics == {}
    subscription.fetched_as({"orders": X})
    assert subscription.committable().topics == {"orders": X}
    read(subscription, 9)
    assert subscription.topics_are({"orders": Y}, []).begun == (A,)


@pytest.mark.parametrize("back", [[A, B], [A]])
def test_what_is_assigned_no_more_is_forgotten(back: list[TopicPartition]) -> None:
    """B196: who assigns it again begins with what he hears then."""
    subscription = assigned()
    subscription.assign([B])
    subscription.topics_are({}, [])
    subscription.assign(back)
    subscription.seek(A, Position(2))
    assert not subscription.topics_are({"orders": Y}, []).begun
    assert subscription.position(A) == 2
