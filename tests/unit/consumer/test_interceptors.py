"""What interceptors do to records."""

import pytest

from prokurist.consumer.interceptors import Interceptors
from tests.recorded_events import logged


class Adding:
    """Adds to what it is shown."""

    def __init__(self, what: int) -> None:
        self.what = what

    def on_consume(self, records: list[int]) -> list[int]:
        """One more."""
        return [*records, self.what]


class Raising:
    """Cannot cope."""

    def on_consume(self, records: list[int]) -> list[int]:
        """Fails."""
        raise ValueError(f"cannot cope with {records}")


def test_each_sees_what_the_one_before_it_returned() -> None:
    """In the order of the configuration; one without the method is passed over."""
    assert Interceptors([Adding(2), object(), Adding(3)]).on_consume([1]) == [1, 2, 3]


def test_after_an_error_the_records_are_those_of_before(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is logged, with the interceptor's name."""
    objects = [Adding(2), Raising(), Adding(3)]
    assert Interceptors(objects, logged()).on_consume([1]) == [1, 2, 3]
    assert "Raising" in caplog.text
    assert "cannot cope" in caplog.text


def test_none_at_all() -> None:
    """Costs nothing, and returns the very records."""
    records = [1]
    assert Interceptors(()).on_consume(records) is records
