"""The age of what is not done, from where a log ended at which time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.metrics.log_ends import MOST_SAMPLES, LogEnds


def ends(*samples: tuple[int, float], done: int = 0) -> LogEnds:
    """A history: each sample is an end and when it was seen."""
    log = LogEnds()
    for end, now in samples:
        log.seen(end, now, done)
    return log


def test_before_the_first_look_nothing_is_known() -> None:
    """Neither the end nor an age."""
    assert (LogEnds().end, LogEnds().age(3, 10.0)) == (None, None)


def test_who_is_at_the_end_has_no_age() -> None:
    """Also who is beyond what was seen last."""
    log = ends((100, 10.0))
    assert (log.age(100, 50.0), log.age(120, 50.0)) == (0.0, 0.0)


def test_between_two_looks_records_have_come_evenly() -> None:
    """Offset 150 was written halfway between the looks that saw 100 and 200."""
    log = ends((100, 10.0), (200, 20.0), done=100)
    assert log.age(150, 20.0) == pytest.approx(5.0)
    assert log.age(100, 20.0) == pytest.approx(10.0)


def test_the_age_rises_without_further_looks() -> None:
    """A broker that is out of reach does not stop it."""
    log = ends((100, 10.0), (200, 20.0), done=150)
    assert log.age(150, 80.0) == pytest.approx(65.0)


def test_what_was_there_before_the_first_look_is_as_old_as_that_at_least() -> None:
    """More cannot be known."""
    assert ends((100, 10.0)).age(5, 25.0) == pytest.approx(15.0)


def test_a_quiet_time_does_not_make_what_comes_after_it_older() -> None:
    """Nothing came for 90 s, then ten records: they are at most 10 s old."""
    log = ends(*((100, float(at)) for at in range(10, 101, 10)), (110, 110.0), done=100)
    assert log.age(100, 110.0) == pytest.approx(10.0)
    # Nor does it take the place of what came before it.
    assert len(ends(*((100, float(at)) for at in range(50)))._samples) == 2


def test_a_truncated_log_starts_again() -> None:
    """A topic that was created again has offsets from 0 on."""
    log = ends((100, 10.0), (5, 20.0), (9, 30.0))
    assert log.end == 9
    assert log.age(7, 30.0) == pytest.approx(5.0)
    assert ends((100, 10.0), (5, 20.0)).age(3, 30.0) == pytest.approx(10.0)


def test_the_history_is_bounded_and_reaches_back_all_the_same() -> None:
    """After a day of looks every 10 s the age of the first record is still known."""
    log = LogEnds()
    for look in range(8640):
        log.seen(look * 10, look * 10.0, 0)
    assert len(log._samples) <= MOST_SAMPLES
    assert log.age(0, 86390.0) == pytest.approx(86390.0)


def test_what_is_done_is_forgotten() -> None:
    """One sample before the reader's place is enough."""
    log = ends((100, 10.0), (200, 20.0), (300, 30.0))
    log.seen(400, 40.0, 250)
    assert log._samples == ((200, 20.0), (300, 30.0), (400, 40.0))


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=300),
    st.integers(0, 3000),
    st.data(),
)
def test_ages_are_true_up_to_the_distance_of_looks(
    steps: list[int], done: int, data: st.DataObject
) -> None:
    """For any history, a later offset is never older, and an age lies within the history."""
    log, end = LogEnds(), 0
    for at, step in enumerate(steps):
        end += step
        log.seen(end, float(at), min(done, end))
    now = float(len(steps))
    age, later = log.age(done, now), log.age(done + data.draw(st.integers(0, 100)), now)
    assert age is not None
    assert later is not None
    assert 0.0 <= later <= age <= now
