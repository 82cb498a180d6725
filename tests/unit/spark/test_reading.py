"""Where a task goes on that meets records which are gone, and where it does not."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from prokurist.errors import (
    LogTruncationException,
    OffsetOutOfRangeException,
    TimeoutException,
)
from prokurist.events.clock import epoch_milliseconds
from prokurist.spark import worker_clients
from prokurist.spark.failures import DataLossException
from prokurist.spark.ranges import OffsetRange
from prokurist.spark.reading import Piece, read
from prokurist.spark.worker_clients import CLIENTS
from prokurist.types import TopicPartition

TP = TopicPartition("orders", 0)


class PaperConsumer:
    """A consumer whose first ranges cannot be read.

    Attributes:
        asked: Where the ranges that were asked for began.
    """

    def __init__(self, error: Exception, times: int) -> None:
        self.asked: list[int] = []
        self._error = error
        self._times = times

    def read_range(
        self,
        _partition: TopicPartition,
        start: int,
        _end: int,
        _timeout: float,
        *,
        stall_timeout: float,
    ) -> Iterator[Any]:
        """Nothing, but for the first times."""
        assert stall_timeout == 20.0
        self.asked.append(start)
        if len(self.asked) <= self._times:
            raise self._error
        return iter(())

    def close(self, _timeout: float, /) -> None:
        """It is needed no more."""


def asked(
    monkeypatch: pytest.MonkeyPatch, error: Exception, *, fails: bool, times: int = 1
) -> list[int]:
    """Where a task of 2 to 9 begins to read, and begins again."""
    consumer = PaperConsumer(error, times)

    def made(_config: Mapping[str, str], **_keys: Any) -> PaperConsumer:
        return consumer

    monkeypatch.setattr(worker_clients, "made", made)
    give_up_at = epoch_milliseconds() + 60_000
    wanted = OffsetRange(TP, 2, 9)
    try:
        list(read(Piece(wanted, {}, ("offset",), 1000, 20.0, 60.0, give_up_at, fails)))
    finally:
        CLIENTS.close()
    return consumer.asked


def out_of_range(position: int, log_start: int | None) -> OffsetOutOfRangeException:
    """What `read_range` says of a position that is not in the log."""
    return OffsetOutOfRangeException(
        "gone", offsets={TP: position}, log_start=log_start, log_end=4
    )


@pytest.mark.parametrize(
    ("position", "log_start", "begun"),
    [(2, 4, [2, 4]), (5, 7, [2, 7]), (5, 3, [2]), (2, 9, [2]), (2, 12, [2])],
    ids=["at once", "later", "of a shorter log", "all of it", "more than it"],
)
def test_what_is_gone_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, position: int, log_start: int, begun: list[int]
) -> None:
    """And no more than that; what was read once is not read again."""
    assert asked(monkeypatch, out_of_range(position, log_start), fails=False) == begun


def test_what_may_be_left_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody could say in time where the log begins, another attempt has to ask."""
    with pytest.raises(OffsetOutOfRangeException, match="gone"):
        asked(monkeypatch, out_of_range(2, None), fails=False)


@pytest.mark.parametrize("times", [1, 2])
def test_a_log_that_is_another_is_read_as_it_is_now(
    monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """What this worker knew may have been an older one; a second time it is over."""
    error = LogTruncationException("other", offsets={TP: 5})
    assert asked(monkeypatch, error, fails=False, times=times) == [2, 5]


@pytest.mark.parametrize("log_start", [4, None])
def test_a_loss_is_an_error_unless_it_may_be(
    monkeypatch: pytest.MonkeyPatch, log_start: int | None
) -> None:
    """Whether or not it is known how much is gone."""
    with pytest.raises(DataLossException, match=r"records of orders-0@2\.\.9 are gone"):
        asked(monkeypatch, out_of_range(2, log_start), fails=True)


def test_what_takes_too_long_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is passed over for it."""
    with pytest.raises(TimeoutException):
        asked(monkeypatch, TimeoutException("nobody answers"), fails=False)
