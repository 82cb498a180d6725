"""Who we are, and when we poll."""

from collections.abc import Callable

from prokurist.events.membership import Enrolment, Identity, Presence, Role

ME = Identity(Role.MEMBER, "m", 3, by_epoch=True)


def test_an_epoch_is_no_other_membership() -> None:
    """B64: what was made in the same incarnation may follow it."""
    enrolment = Enrolment()
    enrolment.wants_in()
    enrolment.counted(ME)
    first = enrolment.identity
    enrolment.counted(Identity(Role.MEMBER, "m", 4, by_epoch=True))
    assert enrolment.identity.incarnation == first.incarnation


def test_whatever_may_give_partitions_to_others_is() -> None:
    """B64: a fence, a departure, a new generation."""
    enrolment = Enrolment()
    enrolment.wants_in()
    seen = [enrolment.identity.incarnation]
    steps: tuple[Callable[[], None], ...] = (
        lambda: enrolment.counted(ME, anew=True),
        enrolment.put_out,
        lambda: enrolment.counted(ME, anew=True),
        enrolment.alone,
    )
    for step in steps:
        step()
        seen.append(enrolment.identity.incarnation)
    assert sorted(set(seen)) == seen
    assert enrolment.identity.epoch == -1
    assert not enrolment.identity.member_id


def test_whoever_does_not_want_in_cannot_be_put_out() -> None:
    """B156: he commits as before."""
    enrolment = Enrolment()
    enrolment.put_out()
    assert enrolment.identity.role is Role.ALONE


def test_between_generations_one_is_counted() -> None:
    """Revoked, and not lost."""
    enrolment = Enrolment()
    enrolment.wants_in()
    before = enrolment.identity
    enrolment.counted(ME)
    enrolment.rebalancing()
    assert (before.is_counted, enrolment.identity.is_counted) == (False, True)
    assert enrolment.identity.member_id == "m"


def test_nobody_is_absent_inside_a_poll() -> None:
    """B118."""
    presence = Presence()
    assert presence.absent_since() is None
    presence.enter()
    presence.leave(7.0)
    assert presence.absent_since() == 7.0
    presence.enter()
    assert presence.absent_since() is None


def test_a_poll_is_asked_for_once() -> None:
    """And the first that comes has been it."""
    presence = Presence()
    presence.ask()
    presence.ask()
    assert presence.enter()
    assert not presence.enter()
