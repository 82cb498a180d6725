"""Lags in virtual time: asked for once, in the background."""

from tests.simulation.looking_up import ORDERS, asked, filled

A, B, _ = ORDERS


def test_the_lag_is_asked_for_once() -> None:
    """B94: None first, then a number, after one look-up in the background."""
    world = filled()
    with world.consumer() as consumer:
        consumer.assign(A)
        consumer.seek(A, 2)
        world.control.answer_late("ListOffsets", 1.0, times=1)
        for _ in range(5):
            assert consumer.current_lag(A) is None
            world.clock.sleep(0.1)
        world.clock.sleep(1.0)
        assert consumer.current_lag(A) == 3
        assert len(asked(world)) == 1
        consumer.seek(A, 9)
        assert consumer.current_lag(A) == 0
        consumer.seek_to_end(A)
        assert consumer.current_lag(A) is None
        consumer.assign(B)
        consumer.assign(A)
        assert consumer.current_lag(A) is None


def test_a_lag_that_could_not_be_found_is_asked_for_again() -> None:
    """B94: an error leaves None, and the next question asks again; no poll raises it."""
    world = filled()
    with world.consumer() as consumer:
        consumer.assign(A)
        consumer.seek(A, 2)
        with world.control.deny(topic="orders"):
            assert consumer.current_lag(A) is None
            world.clock.sleep(1.0)
            assert not consumer.poll(0)
        assert consumer.current_lag(A) is None
        world.clock.sleep(1.0)
        assert consumer.current_lag(A) == 3


def test_a_lag_belongs_to_its_assignment() -> None:
    """B90: an end that was asked for under an older assignment is dropped."""
    world = filled()
    with world.consumer() as consumer:
        consumer.assign(A)
        world.control.answer_late("ListOffsets", 1.0, times=1)
        assert consumer.current_lag(A) is None
        consumer.assign(B)
        consumer.assign(A)
        consumer.seek(A, 2)
        world.clock.sleep(2.0)
        assert consumer.current_lag(A) is None
