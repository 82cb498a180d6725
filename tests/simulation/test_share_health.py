"""Health of share consumers in virtual time."""

from prokurist import MembershipState
from tests.simulation.sharing import reader, sharing, written


def test_a_share_consumer_tells_its_membership_and_its_locks() -> None:
    """B834: out, then stable with an epoch; what is held, and until when."""
    world = sharing(lock_duration=30.0)
    written(world, 5)
    consumer = reader(world)
    before = consumer.health()
    assert (before.membership.state, before.membership.epoch) == (MembershipState.OUT, -1)
    assert (before.poll_age, before.held, before.first_lock_ends) == (None, 0, None)
    records = list(consumer.poll(60.0))
    world.clock.sleep(2.0)
    health = consumer.health()
    assert (health.membership.protocol, health.membership.state) == (
        "share",
        MembershipState.STABLE,
    )
    assert health.membership.member_id
    assert health.membership.epoch > 0
    assert health.membership.heartbeat_age is not None
    assert health.membership.heartbeat_age < 6.0
    assert health.coordinator is not None
    assert health.poll_age is not None
    assert 1.9 < health.poll_age < 2.1
    assert health.held == 5
    assert health.first_lock_ends is not None
    assert 20.0 < health.first_lock_ends <= 28.0
    for record in records:
        record.accept()
    consumer.commit_sync(5.0)
    assert (consumer.health().held, consumer.health().first_lock_ends) == (0, None)
    consumer.close(5.0)
    assert consumer.health().membership.state is MembershipState.OUT
