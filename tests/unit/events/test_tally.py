"""Values by bounds."""

import math
from typing import cast

import pytest

from prokurist.events.tally import SECONDS, Tally


def test_a_value_counts_below_the_first_bound_that_holds_it() -> None:
    """Bounds are inclusive; what lies above all of them is counted too."""
    tally = Tally((1.0, 5.0))
    for value in (-1.0, 1.0, 1.1, 5, 5.1, math.inf):
        tally.observe(value)
    assert tally.counts == [2, 2, 2]
    assert tally.total == math.inf
    assert tally.bounds == (1.0, 5.0)


def test_the_default_bounds_are_seconds() -> None:
    """From half a millisecond on."""
    tally = Tally()
    tally.observe(0.0005)
    assert tally.bounds == SECONDS
    assert tally.counts == [1, *[0] * len(SECONDS)]


def test_a_value_that_is_no_number_raises_and_counts_nowhere() -> None:
    """A bug of ours becomes a TypeError, and leaves no trace in what is read."""
    tally = Tally((1.0,))
    with pytest.raises(TypeError):
        tally.observe(cast("float", "one"))
    assert (tally.counts, tally.total) == ([0, 0], 0.0)


def test_counts_that_were_read_do_not_change() -> None:
    """A later value is in the next reading only."""
    tally = Tally((1.0,))
    seen = tally.counts
    tally.observe(0.5)
    assert (seen, tally.counts) == ([0, 0], [1, 0])


def test_one_tally_is_added_to_another() -> None:
    """Bucket by bucket, and the added one stays as it is."""
    one, other = Tally((1.0,)), Tally((1.0,))
    one.observe(0.5)
    other.observe(2.0)
    one.add(other)
    assert (one.counts, one.total) == ([1, 1], 2.5)
    assert (other.counts, other.total) == ([0, 1], 2.0)
