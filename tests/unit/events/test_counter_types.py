"""Plain numbers: what is counted where, and what a reader sees."""

import pytest

from prokurist.events.counter_types import OTHERS, Family, Histogram, Stretch
from prokurist.events.rebalances import Rebalances


def test_a_value_counts_below_the_first_bound_that_holds_it() -> None:
    """Bounds are inclusive, and what lies above all of them is counted as well."""
    histogram = Histogram((1.0, 5.0))
    for value in (0.5, 1.0, 1.1, 5.0, 99.0):
        histogram.observe(value)
    assert histogram.counts == [2, 2, 1]
    assert histogram.count == 5
    assert histogram.total == pytest.approx(106.6)
    assert repr(histogram) == "Histogram(5 values, 106.6 in all)"


def test_one_histogram_takes_in_another() -> None:
    """Bucket by bucket."""
    one, other = Histogram((1.0,)), Histogram((1.0,))
    one.observe(0.5)
    other.observe(2.0)
    one.add(other)
    assert one.counts == [1, 1]
    assert one.total == 2.5


def test_a_family_keeps_one_for_each_label() -> None:
    """A reader of the table meanwhile goes on with the one that it has."""
    family = Family(Histogram)
    first = family.of("a")
    seen = family.children
    assert family.of("a") is first
    assert family.children is seen
    family.of("b")
    assert list(seen) == ["a"]
    assert list(family.children) == ["a", "b"]
    assert repr(family) == "Family(a, b)"


def test_a_family_is_bounded() -> None:
    """What comes when it is full is counted together, and nothing is lost."""
    family = Family(Histogram, most=2)
    family.of("a")
    family.of("b")
    for label in ("c", "d", "e"):
        family.of(label).observe(1.0)
    assert list(family.children) == ["a", "b", OTHERS]
    assert family.children[OTHERS].count == 3


def test_a_stretch_counts_while_it_lasts() -> None:
    """A scrape in the middle of an outage shows it."""
    stretch = Stretch()
    assert stretch.seconds(10.0) == 0.0
    stretch.begin(10.0)
    stretch.begin(11.0)
    assert stretch.seconds(12.5) == 2.5
    assert repr(stretch) == "Stretch(0 s, going on)"
    stretch.end(13.0)
    stretch.end(20.0)
    assert stretch.seconds(30.0) == 3.0
    stretch.begin(40.0)
    assert stretch.seconds(41.0) == 4.0


def test_a_rebalance_ends_once() -> None:
    """What ends or fails without having begun is nothing."""
    rebalances = Rebalances()
    rebalances.end(1.0)
    rebalances.fail()
    assert repr(rebalances) == "Rebalances(0 finished, 0 failed)"
    rebalances.begin(2.0)
    rebalances.begin(3.0)
    rebalances.end(4.0)
    assert (rebalances.seconds.count, rebalances.seconds.total) == (1, 2.0)
    assert rebalances.ended_at == 4.0
    rebalances.begin(5.0)
    assert repr(rebalances) == "Rebalances(1 finished, 0 failed, one under way)"
    rebalances.fail()
    rebalances.end(6.0)
    assert (rebalances.seconds.count, rebalances.failed, rebalances.ended_at) == (1, 1, 4.0)
