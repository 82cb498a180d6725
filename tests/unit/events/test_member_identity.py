"""Who we are, and when we poll."""

from collections.abc import Callable

from prokurist.events.member_identity import Identity, MemberIdentity, PollActivity, Role

ME = Identity(Role.MEMBER, "m", 3, by_epoch=True)


def test_an_epoch_is_no_other_membership() -> None:
    """B64: what was made in the same incarnation may follow it."""
    member_identity = MemberIdentity()
    member_identity.wants_in()
    member_identity.counted(ME)
    first = member_identity.identity
    member_identity.counted(Identity(Role.MEMBER, "m", 4, by_epoch=True))
    assert member_identity.identity.incarnation == first.incarnation


def test_each_event_that_may_move_partitions_is() -> None:
    """B64: a fence, a departure, a new generation."""
    member_identity = MemberIdentity()
    member_identity.wants_in()
    seen = [member_identity.identity.incarnation]
    steps: tuple[Callable[[], None], ...] = (
        lambda: member_identity.counted(ME, reassigned=True),
        member_identity.put_out,
        lambda: member_identity.counted(ME, reassigned=True),
        member_identity.alone,
    )
    for step in steps:
        step()
        seen.append(member_identity.identity.incarnation)
    assert sorted(set(seen)) == seen
    assert member_identity.identity.epoch == -1
    assert not member_identity.identity.member_id


def test_a_client_outside_groups_cannot_be_fenced() -> None:
    """B156: he commits as before."""
    member_identity = MemberIdentity()
    member_identity.put_out()
    assert member_identity.identity.role is Role.ALONE


def test_between_generations_one_is_counted() -> None:
    """Revoked, and not lost."""
    member_identity = MemberIdentity()
    member_identity.wants_in()
    before = member_identity.identity
    member_identity.counted(ME)
    member_identity.rebalancing()
    assert (before.is_counted, member_identity.identity.is_counted) == (False, True)
    assert member_identity.identity.member_id == "m"


def test_a_member_is_present_inside_a_poll() -> None:
    """B118."""
    poll_activity = PollActivity()
    assert poll_activity.absent_since() is None
    poll_activity.enter()
    poll_activity.leave(7.0)
    assert poll_activity.absent_since() == 7.0
    poll_activity.enter()
    assert poll_activity.absent_since() is None


def test_a_poll_is_asked_for_once() -> None:
    """And the first that comes has been it."""
    poll_activity = PollActivity()
    poll_activity.ask()
    poll_activity.ask()
    assert poll_activity.enter()
    assert not poll_activity.enter()
