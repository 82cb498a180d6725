"""Members by the consumer protocol: joining, sharing, leaving."""

from tests.simulation.joining import Notes, grouped, member, numbers, settle
from tests.simulation.reading import drained


def test_one_member_reads_everything() -> None:
    """B114: a long poll that begins without an assignment returns soon after it comes."""
    world = grouped(records=3)
    with member(world) as consumer:
        began = world.clock.time
        records = consumer.poll(60.0)
        assert records
        assert world.clock.time - began < 1.0
        drained(consumer)
        assert numbers(consumer.assignment()) == [0, 1, 2, 3]


def test_two_members_share() -> None:
    """B146: the first gives back before the second is given."""
    world = grouped()
    first, second = Notes(), Notes()
    with member(world, listener=first) as one, member(world, listener=second) as two:
        one.poll(0.1)
        settle(one, two)
        assert first.heard == [
            ("assigned", [0, 1, 2, 3]),
            ("revoked", numbers(two.assignment())),
        ]
        assert second.heard[-1] == ("assigned", numbers(two.assignment()))
        assert not one.assignment() & two.assignment()
        assert len(one.assignment() | two.assignment()) == 4
