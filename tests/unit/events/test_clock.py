"""Deadlines: one instant, made once, from a timeout that makes sense."""

import math
from datetime import timedelta

import pytest

from prokurist.events.clock import (
    NEVER,
    Deadline,
    MonotonicClock,
    as_seconds,
    epoch_milliseconds,
)


def test_a_deadline_is_an_instant_and_does_not_move() -> None:
    """What is left shrinks with the clock and never below zero."""
    deadline = Deadline.after(100.0, 2)
    assert deadline.remaining(100.0) == 2.0
    assert deadline.remaining(101.5) == 0.5
    assert deadline.remaining(103.0) == 0.0
    assert not deadline.expired(101.999)
    assert deadline.expired(102.0)


def test_never_does_not_overflow() -> None:
    """B17: an infinite timeout stays in the future for ever."""
    assert Deadline.after(100.0, math.inf) == NEVER
    assert NEVER.remaining(1e300) == math.inf
    assert not NEVER.expired(1e300)
    assert Deadline.after(0.0, 10**400) == NEVER
    assert Deadline.after(5.0, 1e308).remaining(5.0) == 1e308


def test_the_earlier_of_two() -> None:
    """Nested limits: the nearest one counts."""
    near, far = Deadline(1.0), Deadline(2.0)
    assert near.earlier(far) is near
    assert far.earlier(near) is near
    assert NEVER.earlier(far) is far


@pytest.mark.parametrize(
    ("timeout", "expected"),
    [
        (0, 0.0),
        (2, 2.0),
        (0.25, 0.25),
        (timedelta(milliseconds=1500), 1.5),
        (math.inf, math.inf),
    ],
)
def test_a_timeout_is_seconds_or_a_timedelta(
    timeout: float | timedelta, expected: float
) -> None:
    """Numbers are seconds; nothing is guessed."""
    assert as_seconds(timeout) == expected


@pytest.mark.parametrize(
    "timeout", [-1, -0.001, math.nan, -math.inf, timedelta(seconds=-1), -(10**400)]
)
def test_a_timeout_below_zero_is_refused(timeout: float | timedelta) -> None:
    """B16: a negative timeout or NaN is an argument error."""
    with pytest.raises(ValueError, match="not negative and not NaN"):
        as_seconds(timeout)


@pytest.mark.parametrize("timeout", ["2", None, True, b"two", [2]])
def test_a_timeout_of_another_type_is_refused(timeout: object) -> None:
    """Neither int nor float nor timedelta: TypeError that shows the value."""
    with pytest.raises(TypeError, match="seconds or a timedelta"):
        as_seconds(timeout)  # type: ignore[arg-type]


def test_the_clock_of_production_goes_forward() -> None:
    """Two readings in order; a pause of none or less returns at once."""
    clock = MonotonicClock()
    before = clock.now()
    clock.sleep(0)
    clock.sleep(-1)
    assert clock.now() >= before


def test_the_time_of_day_is_what_records_are_stamped_with() -> None:
    """B77: milliseconds since 1970, whole ones."""
    # From the year 2024 on, and not in seconds, microseconds or a local time's digits.
    assert 1_704_067_200_000 < epoch_milliseconds() < 10**13
