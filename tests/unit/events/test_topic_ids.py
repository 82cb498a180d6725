"""What names stand for, and what that makes worthless."""

from uuid import UUID

import pytest

from prokurist.config import OffsetReset
from prokurist.events.position_state import Position
from prokurist.events.positions import PositionRequest
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.consumer_table import ConsumerTable

A, B = TopicPartition("orders", 0), TopicPartition("other", 0)
X, Y, Z = UUID(int=1), UUID(int=2), UUID(int=3)


def assigned(policy: str = "earliest") -> ConsumerTable:
    """Two partitions by hand, of which the first has come as far as 8, of topic X."""
    table = ConsumerTable(OffsetReset(policy))
    table.assigned.assign([A, B])
    table.positions.seek(A, Position(5))
    table.topic_ids.topics_are({"orders": X}, [])
    read(table, 8)
    return table


def read(table: ConsumerTable, to: int) -> None:
    """Fetch and return records of the first partition, up to an offset."""
    (wish,) = table.fetching.fetchable()
    assert table.fetching.fetched(wish, Position(to))
    assert table.fetching.advance(A, wish.ticket, Position(to))


def given(topic: UUID) -> ConsumerTable:
    """The same, given by a group by the topic's id."""
    table = ConsumerTable(OffsetReset("earliest"))
    table.assigned.subscribe(["orders", "other"], listens=False)
    table.assigned.add(0, [A], awaiting=False, ids={A: topic})
    table.positions.seek(A, Position(8))
    return table


def test_the_first_metadata_since_the_group_gave_it() -> None:
    """B196: another topic; the place was sought, and so nothing had looked before."""
    table = given(X)
    (wish,) = table.fetching.fetchable()
    assert table.fetching.fetched(wish, Position(9))
    assert table.topic_ids.topics_are({"orders": Y}, []).given_up == (A,)
    assert table.fetching.fetchable() == []
    assert table.committable.snapshot().offsets == {}


def test_the_same_again_is_no_news() -> None:
    """B196: nor is an unknown id, nor none."""
    table = assigned()
    for ids in ({"orders": X}, {}, {"other": Y}):
        assert table.topic_ids.topics_are(ids, []) == ((), (), (), (), (), ())
    assert table.committable.snapshot() == ({A: OffsetAndMetadata(8)}, {"orders": X})


def test_a_new_id_starts_at_the_reset_policy() -> None:
    """B196: with other tickets, for answers about its place and about its log."""
    table = assigned()
    (wish,) = table.fetching.fetchable()
    settled = table.positions.settled
    table.positions.end_found(A, wish.ticket, 9)
    assert table.topic_ids.topics_are({"orders": Y}, []).begun == (A,)
    assert table.positions.settled > settled
    assert not table.fetching.fetched(wish, Position(9))
    assert table.committable.snapshot().offsets == {}
    (recreated, other) = sorted(table.positions.wanted(), key=lambda each: each.partition)
    assert (recreated.partition, recreated.reset) == (A, table.positions.policy)
    assert (other.partition, other.reset) == (B, None)
    assert table.committable.offsets_of([A])[0].end is None
    table.positions.settle(recreated, Position(0))
    assert table.committable.snapshot() == ({A: OffsetAndMetadata(0)}, {"orders": Y})


def test_an_id_that_has_ended_does_not_come_back() -> None:
    """B196: a broker that lags behind tells it once more."""
    table = assigned()
    table.topic_ids.topics_are({"orders": Y}, [])
    table.positions.seek(A, Position(3))
    assert not table.topic_ids.topics_are({"orders": X}, []).begun
    assert not table.topic_ids.topics_are({"orders": Y}, []).begun
    assert table.positions.position(A) == 3
    read(table, 4)
    assert table.topic_ids.topics_are({"orders": Z}, []).begun == (A,)


def test_the_users_own_wish_stays() -> None:
    """B196: where he has sought to by a policy, and what he has paused."""
    table = assigned()
    table.positions.seek_by([A], OffsetReset("latest"))
    table.positions.pause([A], paused=True)
    table.topic_ids.topics_are({"orders": Y}, [])
    wanted = {each.partition: each.reset for each in table.positions.wanted()}
    assert wanted[A] == OffsetReset("latest")
    assert table.positions.paused() == {A}


@pytest.mark.parametrize("policy", ["latest", "none"])
def test_a_place_that_was_sought_and_not_read_stays(policy: str) -> None:
    """B196: a fetch was sent for the former topic; its late answer is dropped."""
    table = assigned(policy)
    table.positions.seek(A, Position(3))
    (wish,) = table.fetching.fetchable()
    table.topic_ids.fetched_as({"orders": X})
    settled = table.positions.settled
    told = table.topic_ids.topics_are({"orders": Y}, [])
    assert (told.begun, told.unplaced, told.kept) == ((), (), (A,))
    assert table.positions.settled > settled
    assert not table.fetching.fetched(wish, Position(9))
    (again,) = table.fetching.fetchable()
    assert again.position == Position(3)
    assert table.committable.snapshot() == ({A: OffsetAndMetadata(3)}, {"orders": Y})


def test_a_place_of_which_a_fetch_was_answered_is_the_former_topics() -> None:
    """B196: without a record, too."""
    table = assigned("latest")
    table.positions.seek(A, Position(3))
    (wish,) = table.fetching.fetchable()
    assert table.fetching.fetched(wish, None, end=3)
    assert table.topic_ids.topics_are({"orders": Y}, []).begun == (A,)


def sought(table: ConsumerTable) -> PositionRequest:
    """What is to be looked up of the first partition."""
    return next(each for each in table.positions.wanted() if each.partition == A)


def test_a_validated_place_of_which_nothing_was_read_stays() -> None:
    """B196: a leader is asked by the name, and has told of the new topic, perhaps."""
    table = assigned("latest")
    table.positions.seek(A, Position(3, epoch=1))
    table.positions.confirmed(sought(table), 1)
    assert table.topic_ids.topics_are({"orders": Y}, []).kept == (A,)
    assert sought(table).confirm == Position(3, epoch=1)


def test_a_seek_by_a_policy_stays_where_nothing_was_read() -> None:
    """B196: to the beginning, say, which the leader has told of one topic or the other."""
    table = assigned("latest")
    table.positions.seek_by([A], OffsetReset("earliest"))
    table.positions.settle(sought(table), Position(0))
    told = table.topic_ids.topics_are({"orders": Y}, [])
    assert (told.begun, told.kept) == ((), (A,))
    assert sought(table).reset == OffsetReset("earliest")


@pytest.mark.parametrize("policy", ["latest", "none"])
@pytest.mark.parametrize("epoch", [None, 1])
def test_what_is_committed_is_looked_up_again_where_nothing_was_read(
    policy: str, epoch: int | None
) -> None:
    """B196: another member may have committed it of the new topic."""
    table = ConsumerTable(OffsetReset(policy))
    table.assigned.assign([A])
    table.topic_ids.topics_are({"orders": X}, [])
    unconfirmed = table.positions.settle_committed(sought(table), Position(5, epoch))
    if unconfirmed is not None:
        table.positions.confirmed(unconfirmed, 1)
    (wish,) = table.fetching.fetchable()
    told = table.topic_ids.topics_are({"orders": Y}, [])
    assert (told.begun, told.unplaced, told.kept) == ((), (), (A,))
    assert not table.fetching.fetched(wish, Position(9))
    wanted = sought(table)
    assert (wanted.reset, wanted.confirm) == (None, None)
    assert table.committable.snapshot().offsets == {}


def test_a_range_is_not_gone_on_with() -> None:
    """B196: its offsets were chosen of the former topic."""
    table = ConsumerTable(OffsetReset("none"))
    table.positions.begin_range(A, 3, 8)
    table.topic_ids.topics_are({"orders": X}, [])
    ((_, offset),) = table.topic_ids.topics_are({"orders": Y}, []).unplaced
    assert offset == 3


def test_a_sought_place_with_an_epoch_is_validated_in_the_new_topic() -> None:
    """B196: as a seek to it would have it validated."""
    table = assigned("latest")
    table.positions.seek(A, Position(3, epoch=1))
    (before,) = (each for each in table.positions.wanted() if each.partition == A)
    assert table.topic_ids.topics_are({"orders": Y}, []).kept == (A,)
    assert not table.positions.still_wanted(before)
    (after,) = (each for each in table.positions.wanted() if each.partition == A)
    assert after.confirm == Position(3, epoch=1)


def test_without_a_policy_the_place_is_told() -> None:
    """B196: and the group is asked, as for a partition that is new."""
    table = assigned("none")
    ((wanted, offset),) = table.topic_ids.topics_are({"orders": Y}, []).unplaced
    assert (wanted.partition, offset) == (A, 8)
    assert table.positions.still_wanted(wanted)
    assert wanted.reset is None


def test_what_has_no_place_is_looked_up_again() -> None:
    """B196: in the group, as before; an answer that is under way counts no more."""
    table = assigned()
    before = next(each for each in table.positions.wanted() if each.partition == B)
    table.topic_ids.topics_are({"other": X}, [])
    table.topic_ids.topics_are({"other": Y}, [])
    assert not table.positions.still_wanted(before)
    after = next(each for each in table.positions.wanted() if each.partition == B)
    assert after.reset is None


def test_what_is_held_by_its_id_is_given_up() -> None:
    """B196: another may have the new one; it is told once, and committed no more."""
    table = given(X)
    table.topic_ids.topics_are({"orders": X}, [])
    told = table.topic_ids.topics_are({"orders": Y}, [])
    assert (told.given_up, told.disputed) == ((A,), (A,))
    assert not table.fetching.fetchable()
    assert table.committable.snapshot().offsets == {}
    assert table.topic_ids.topics_are({"orders": Y}, []).given_up == ()
    assert table.assigned.owned() == {A}


def test_what_the_group_gave_is_read_on_when_metadata_name_it_again() -> None:
    """B196: a broker that lagged named the former topic; what was fetched is fetched again."""
    table = given(Y)
    table.topic_ids.topics_are({"orders": Y}, [])
    (wish,) = table.fetching.fetchable()
    assert table.fetching.fetched(wish, Position(20))
    assert table.topic_ids.topics_are({"orders": X}, []).given_up == (A,)
    assert table.topic_ids.topics_are({"orders": Y}, []) == ((), (), (), (), (), ())
    (again,) = table.fetching.fetchable()
    assert again.position == Position(8)
    assert again.ticket != wish.ticket
    assert table.committable.snapshot() == ({A: OffsetAndMetadata(8)}, {"orders": Y})
    assert table.topic_ids.topics_are({"orders": Z}, []).given_up == (A,)


def test_what_the_group_revokes_stays_revoked_for_any_metadata() -> None:
    """B196: the group's word is the last."""
    table = given(Y)
    table.topic_ids.topics_are({"orders": Y}, [])
    table.topic_ids.topics_are({"orders": X}, [])
    assert table.topic_ids.topics_are({"orders": X}, []).disputed == (A,)
    table.assigned.give_up(0, [A])
    assert table.topic_ids.topics_are({"orders": Y}, []).disputed == ()
    assert not table.fetching.fetchable()


def test_metadata_that_lag_behind_the_group() -> None:
    """B196: what the group gives by a newer id is not put in doubt by an older one."""
    table = given(Y)
    table.topic_ids.topics_are({"orders": X}, [])
    table.topic_ids.topics_are({"orders": Y}, [])
    assert table.committable.snapshot() == ({A: OffsetAndMetadata(8)}, {"orders": Y})
    assert len(table.fetching.fetchable()) == 1


def test_what_is_absent_is_committed_only_if_it_is_asked_for() -> None:
    """B196: and until it is said to be there."""
    table = assigned()
    assert table.topic_ids.topics_are({}, ["orders"]).absent == (A,)
    assert table.committable.snapshot(unasked=True).offsets == {}
    assert table.committable.snapshot().offsets.keys() == {A}
    table.topic_ids.topics_are({"orders": X}, [])
    assert table.committable.snapshot(unasked=True).offsets.keys() == {A}


def test_what_is_fetched_by_an_id_is_of_that() -> None:
    """B196: a place that was sought before its id is known."""
    table = ConsumerTable(OffsetReset("earliest"))
    table.assigned.assign([A])
    table.positions.seek(A, Position(8))
    assert table.committable.snapshot().topics == {}
    table.topic_ids.fetched_as({"orders": X})
    assert table.committable.snapshot().topics == {"orders": X}
    read(table, 9)
    assert table.topic_ids.topics_are({"orders": Y}, []).begun == (A,)


@pytest.mark.parametrize("back", [[A, B], [A]])
def test_what_is_assigned_no_more_is_forgotten(back: list[TopicPartition]) -> None:
    """B196: who assigns it again begins with what he hears then."""
    table = assigned()
    table.assigned.assign([B])
    table.topic_ids.topics_are({}, [])
    table.assigned.assign(back)
    table.positions.seek(A, Position(2))
    assert not table.topic_ids.topics_are({"orders": Y}, []).begun
    assert table.positions.position(A) == 2
