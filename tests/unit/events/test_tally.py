"""Values by bounds: one suite for both twins, and a differential test between them."""

import math
from typing import Protocol, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.events import tally as pure
from prokurist.events.counters import Histogram


class Twin(Protocol):
    """A module with a `Tally`."""

    @property
    def Tally(self) -> type[pure.Tally]:  # noqa: N802 - it is a class
        """See `tally`."""
        ...


def native() -> Twin:
    """The native twin, or a skip where there is none."""
    found: Twin = pytest.importorskip(
        "prokurist.events._native_tally",
        reason="the native twin is not built",
        exc_type=ImportError,
    )
    return found


@pytest.fixture(params=["python", "native"])
def twin(request: pytest.FixtureRequest) -> Twin:
    """Each twin in turn; the native one only where it was built."""
    return pure if request.param == "python" else native()


def test_a_value_counts_below_the_first_bound_that_holds_it(twin: Twin) -> None:
    """Bounds are inclusive; what lies above all of them, or is no number, is counted too."""
    tally = twin.Tally((1.0, 5.0))
    for value in (-1.0, 1.0, 1.1, 5, 5.1, math.inf):
        tally.observe(value)
    assert tally.counts == [2, 2, 2]
    assert tally.total == math.inf
    assert tally.bounds == (1.0, 5.0)


def test_the_bounds_are_seconds_without_a_word(twin: Twin) -> None:
    """From half a millisecond on."""
    tally = twin.Tally()
    tally.observe(0.0005)
    assert tally.bounds == pure.SECONDS
    assert tally.counts == [1, *[0] * len(pure.SECONDS)]


def test_what_is_no_number_counts_nowhere(twin: Twin) -> None:
    """A mistake of ours is heard of, and leaves no trace in what is read."""
    tally = twin.Tally((1.0,))
    with pytest.raises(TypeError):
        tally.observe(cast("float", "one"))
    assert (tally.counts, tally.total) == ([0, 0], 0.0)


def test_a_reader_has_what_he_has_read(twin: Twin) -> None:
    """What is counted afterwards is not slipped under him."""
    tally = twin.Tally((1.0,))
    seen = tally.counts
    tally.observe(0.5)
    assert (seen, tally.counts) == ([0, 0], [1, 0])


def test_one_takes_in_another(twin: Twin) -> None:
    """Bucket by bucket, and that one stays as it is."""
    one, other = twin.Tally((1.0,)), twin.Tally((1.0,))
    one.observe(0.5)
    other.observe(2.0)
    one.add(other)
    assert (one.counts, one.total) == ([1, 1], 2.5)
    assert (other.counts, other.total) == ([0, 1], 2.0)


BOUNDS = st.lists(st.floats(allow_nan=False), min_size=0, max_size=40).map(
    lambda drawn: tuple(sorted(drawn))
)


@given(bounds=BOUNDS, values=st.lists(st.floats() | st.sampled_from(pure.SECONDS)))
def test_the_twins_agree(bounds: tuple[float, ...], values: list[float]) -> None:
    """On all values there are, those on a bound and those that are none among them."""
    one, other = pure.Tally(bounds), native().Tally(bounds)
    for value in (*values, *bounds):
        one.observe(value)
        other.observe(value)
    assert other.counts == one.counts
    assert repr(other.total) == repr(one.total)


def test_histograms_are_of_the_twin_that_was_chosen() -> None:
    """As for records: the native one where it was built, or what the variable says."""
    from prokurist.records.implementation import CHOICE

    module = {"native": "prokurist.events._native_tally", "python": "prokurist.events.tally"}
    assert Histogram.__mro__[1].__module__ == module[CHOICE.name]
