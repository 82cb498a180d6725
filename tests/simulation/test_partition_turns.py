"""Turns between partitions: who has much does not hold back who has little, nor the reverse."""

from tests.simulation.reading import A, B, C, drained, offsets, reader, written


def test_every_partition_has_its_turn() -> None:
    """A partition of which much is buffered does not hold back the others."""
    world = written(40)
    with reader(world, A, B, C, max_poll_records=10, max_partition_fetch_bytes=500) as consumer:
        assert consumer.poll(1.0).partitions() == [A]
        world.clock.sleep(1.0)
        for tp in (B, C):
            world.control.append(tp, b"x")
        world.clock.sleep(2.0)
        assert set(consumer.poll(0).partitions()) == {A, B, C}


def test_who_has_little_waits_for_one_full_poll() -> None:
    """However many polls it takes to return what another one has."""
    world = written(100, 1, 1)
    with reader(world, A, B, C, max_poll_records=10) as consumer:
        assert offsets(consumer.poll(1.0)) == {A: list(range(10))}
        assert offsets(consumer.poll(0)) == {B: [0], C: [0], A: list(range(10, 18))}
        assert drained(consumer, 0) == {A: list(range(18, 100))}


def test_who_has_much_has_every_other_poll() -> None:
    """Regardless of the others meanwhile, and however short that is."""
    world = written(100)
    with reader(world, A, B, max_poll_records=1) as consumer:
        consumer.poll(1.0)
        turns = []
        for _ in range(8):
            world.control.append(B, b"x")
            world.clock.sleep(1.0)
            turns.append(A in consumer.poll(0).partitions())
        assert 4 <= sum(turns) < 8
