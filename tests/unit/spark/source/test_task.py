"""Where a task goes on that meets records which are gone, and where it does not."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import fields
from typing import Any

import pytest

from prokurist.errors import (
    LogTruncationException,
    OffsetOutOfRangeException,
    TimeoutException,
)
from prokurist.spark.errors import DataLossException
from prokurist.spark.offset_ranges import OffsetRange
from prokurist.spark.source import task, worker_consumers
from prokurist.spark.source.batch_planning import pieces
from prokurist.spark.source.options import Settings
from prokurist.spark.source.task import Piece, read
from prokurist.spark.source.worker_consumers import CLIENTS
from prokurist.types import PartitionInfo, TopicPartition
from tests.unit.spark.stream_bench import StandingClock

TP = TopicPartition("orders", 0)


class PaperConsumer:
    """A consumer whose first ranges cannot be read.

    Attributes:
        asked: Where the ranges that were asked for began.
        patience: The seconds that the last one was given for each wait, with those for a look
            at the end of its log.
        last: That end; None while no leader answers.
        lists: Whether each list of topics has the partition; the last one stands.
    """

    def __init__(self, error: Exception, times: int) -> None:
        self.asked: list[int] = []
        self.patience: float = 0.0
        self.last: int | None = None
        self.lists: list[bool] = [True]
        self._error = error
        self._times = times

    def read_range(
        self,
        _partition: TopicPartition,
        start: int,
        _end: int,
        *,
        stall_timeout: float,
    ) -> Iterator[Any]:
        """Nothing, but for the first times."""
        self.patience = stall_timeout
        self.asked.append(start)
        if len(self.asked) <= self._times:
            raise self._error
        return iter(())

    def list_topics(
        self, seconds: float, *, topics: Collection[str]
    ) -> dict[str, list[PartitionInfo]]:
        """Of the topic partition 1 alone, where the other one is not listed."""
        del seconds
        has = self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]
        return {each: [PartitionInfo(each, 0 if has else 1, None)] for each in topics}

    def end_offsets(
        self, partitions: Collection[TopicPartition], seconds: float, /
    ) -> dict[TopicPartition, int]:
        """The end of the log."""
        self.patience += seconds
        if self.last is None:
            raise TimeoutException("no leader answers")
        return dict.fromkeys(partitions, self.last)

    def close(self, _timeout: float, /) -> None:
        """It is needed no more."""


@pytest.fixture(autouse=True)
def standing(monkeypatch: pytest.MonkeyPatch) -> StandingClock:
    """The clock of a task's look at the end, which stands."""
    clock = StandingClock()
    monkeypatch.setattr(task, "CLOCK", clock)
    return clock


def asked(
    monkeypatch: pytest.MonkeyPatch, error: Exception, *, fails: bool, times: int = 1
) -> list[int]:
    """Where a task of 2 to 9 begins to read, and begins again."""
    consumer = PaperConsumer(error, times)

    def made(_config: Mapping[str, str], **_keys: Any) -> PaperConsumer:
        return consumer

    monkeypatch.setattr(worker_consumers, "made", made)
    try:
        list(read(piece(fails=fails)))
    finally:
        CLIENTS.close()
    return consumer.asked


def piece(stall: float = 20.0, budget: float = 60.0, *, fails: bool = True) -> Piece:
    """A task's piece: offsets 2 to 9."""
    client = {"bootstrap.servers": "b:9092"}
    return Piece(OffsetRange(TP, 2, 9), client, ("offset",), 1000, stall, budget, fails)


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
    """Where no broker said in time where the log begins, another attempt has to ask."""
    with pytest.raises(OffsetOutOfRangeException, match="gone"):
        asked(monkeypatch, out_of_range(2, None), fails=False)


@pytest.mark.parametrize("times", [1, 2])
def test_a_log_that_is_another_is_read_as_it_is_now(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, times: int
) -> None:
    """What this worker knew may have been an older one; a second time it is over."""
    error = LogTruncationException("other", offsets={TP: 5})
    assert asked(monkeypatch, error, fails=False, times=times) == [2, 5]
    assert "reading goes on at offset 5" in caplog.text
    assert ("reading ends here" in caplog.text) is (times == 2)


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
        asked(monkeypatch, TimeoutException("no broker answers"), fails=False)


@pytest.mark.parametrize(
    ("last", "fails", "raised"),
    [
        (None, False, TimeoutException),
        (3, False, TimeoutException),
        (2, False, None),
        (2, True, DataLossException),
    ],
    ids=["no leader answers", "there is more", "it is shorter", "which is an error"],
)
def test_a_range_whose_log_ends_before_it(
    monkeypatch: pytest.MonkeyPatch,
    *,
    last: int | None,
    fails: bool,
    raised: type[Exception] | None,
) -> None:
    """B510: only what its leader says that it does not have is gone."""
    consumer = PaperConsumer(TimeoutException("no records were added"), 1)
    consumer.last = last

    def made(_config: Mapping[str, str], **_keys: Any) -> PaperConsumer:
        return consumer

    monkeypatch.setattr(worker_consumers, "made", made)
    try:
        with pytest.raises(raised) if raised else nullcontext():
            assert list(read(piece(fails=fails))) == []
    finally:
        CLIENTS.close()
    assert consumer.asked == [2]


@pytest.mark.parametrize(
    ("lists", "fails", "raised"),
    [
        ([False, True], False, TimeoutException),
        ([False], False, None),
        ([False], True, DataLossException),
    ],
    ids=["a broker lags", "it is deleted", "which is an error"],
)
def test_a_range_of_a_topic_that_stays_deleted(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    standing: StandingClock,
    *,
    lists: list[bool],
    fails: bool,
    raised: type[Exception] | None,
) -> None:
    """B486: two lists without it, and the range is gone; the words name topic and way out."""
    consumer = PaperConsumer(TimeoutException("no records were added"), 1)
    consumer.lists = lists

    def made(_config: Mapping[str, str], **_keys: Any) -> PaperConsumer:
        return consumer

    monkeypatch.setattr(worker_consumers, "made", made)
    gone = "brokers list no partition orders-0. The topic 'orders' was deleted"
    try:
        with pytest.raises(raised) if raised else nullcontext() as caught:
            assert list(read(piece(fails=fails))) == []
    finally:
        CLIENTS.close()
    assert standing.time == 101.0
    if raised is None:
        assert f"records of orders-0@2..9 may be gone, and reading ends here: {gone}" in (
            caplog.text
        )
    if raised is DataLossException:
        text = str(caught.value)  # type: ignore[union-attr]
        assert gone in text
        assert "Set failOnDataLoss to false to read what is left" in text


def test_a_piece_holds_no_moment() -> None:
    """Spark plans a frame once and may read its pieces hours later."""
    assert piece() == piece()
    assert {each.name for each in fields(Piece)} == {
        "range",
        "client",
        "columns",
        "batch_bytes",
        "stall",
        "budget",
        "fail_on_data_loss",
    }


@pytest.mark.parametrize(
    ("stall", "budget", "waits"),
    [(60.0, 300.0, [60.0, 60.0, 37.5, 18.75]), (60.0, 16.0, [8.0, 4.0, 2.0, 1.0])],
    ids=["by default", "a small budget"],
)
def test_the_attempts_of_a_task_share_its_budget(
    monkeypatch: pytest.MonkeyPatch, stall: float, budget: float, waits: list[float]
) -> None:
    """However many Spark makes of them, a silent broker costs less than the budget."""
    consumer = PaperConsumer(TimeoutException("no answer"), 1000)

    def made(_config: Mapping[str, str], **_keys: Any) -> PaperConsumer:
        return consumer

    monkeypatch.setattr(worker_consumers, "made", made)
    given = []
    for attempt in range(4):
        with pytest.raises(TimeoutException) as caught:
            list(read(piece(stall, budget), attempt))
        given.append(consumer.patience)
        assert f"Attempt {attempt} of this task waits" in caught.value.__notes__[-1]
    CLIENTS.close()
    assert given == waits
    assert sum(piece(stall, budget).patience(each) for each in range(5000)) <= budget


def test_an_attempt_outlasts_the_replacement_of_a_leader_by_default() -> None:
    """A frozen leader is replaced after nine seconds, and its client may wait thirty more."""
    settings = Settings.of({"kafka.bootstrap.servers": "b:9092", "subscribe": "t"})
    (task,) = pieces(settings, ("offset",), [OffsetRange(TP, 2, 9)])
    assert task.patience(0) > 9 + 30
