"""What Spark's questions to a stream become, and its signal; without a Java."""

import pickle
import signal
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark", "4.2", reason="PySpark 4.2 is not installed")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from prokurist.spark.offset_ranges import OffsetRange
from prokurist.spark.rate_limits import TriggerLimits
from prokurist.spark.source import stream_reader as module
from prokurist.spark.source.options import Settings
from prokurist.spark.source.stream_reader import StreamReader, leave
from prokurist.types import TopicPartition

AT: dict[str, Any] = {"orders": {"0": 4}}


class PaperStream:
    """What is asked, and answered with.

    Attributes:
        told: In order.
        there: What there is to read.
    """

    def __init__(self, settings: Settings, _brokers: object, _clock: object) -> None:
        self.limits = TriggerLimits.of(settings.given)
        self.told: list[object] = []
        self.there: list[OffsetRange] = []

    def freeze(self) -> None:
        """See `Stream`."""
        self.told.append("freeze")

    def initial(self) -> dict[str, Any]:
        """See `Stream`."""
        self.told.append("initial")
        return AT

    def latest(self, start: Mapping[str, Any], *, limited: bool) -> dict[str, Any]:
        """See `Stream`."""
        self.told.append(limited)
        return dict(start)

    def ranges(self, _start: Mapping[str, Any], _end: Mapping[str, Any]) -> list[OffsetRange]:
        """See `Stream`."""
        return self.there

    def close(self) -> None:
        """See `Stream`."""
        self.told.append("close")


@pytest.fixture(autouse=True)
def signals(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, object]]:
    """What is done about signals."""
    found: list[tuple[int, object]] = []
    monkeypatch.setattr(module, "Stream", PaperStream)

    def heed(number: int, what: object) -> None:
        found.append((number, what))

    paper = SimpleNamespace(signal=heed, SIGTERM=signal.SIGTERM, SIG_IGN=signal.SIG_IGN)
    monkeypatch.setattr(module, "signal", paper)
    return found


def reader(**options: str) -> StreamReader:
    """What Spark asks."""
    given = {"kafka.bootstrap.servers": "b:9092", "subscribe": "orders", **options}
    return StreamReader(Settings.of(given), ("offset",))


def paper(of: StreamReader) -> Any:
    """What answers it."""
    return of._stream


def test_limits_are_said_in_spark_s_words() -> None:
    """What it has no word for, the most and the least at once, the stream knows itself."""
    assert reader().getDefaultReadLimit() == ReadAllAvailable()
    assert reader(maxOffsetsPerTrigger="9").getDefaultReadLimit() == ReadMaxRows(9)
    assert reader(minOffsetsPerTrigger="3").getDefaultReadLimit() == ReadMinRows(3)
    both = reader(maxOffsetsPerTrigger="9", minOffsetsPerTrigger="3")
    assert both.getDefaultReadLimit() == ReadMaxRows(9)


def test_who_is_to_read_all_is_not_limited() -> None:
    """A trigger `once`, regardless of the options."""
    asked = reader(maxOffsetsPerTrigger="9")
    asked.latestOffset(AT, ReadMaxRows(9))
    asked.latestOffset(AT, ReadAllAvailable())
    assert paper(asked).told == [True, False]


def test_a_trigger_of_nothing_has_a_task_of_nothing() -> None:
    """Spark makes a task in any case."""
    asked = reader()
    (nothing,) = asked.partitions(AT, AT)
    assert list(asked.read(nothing)) == []
    paper(asked).there = [OffsetRange(TopicPartition("orders", 0), 4, 6)]
    (piece,) = asked.partitions(AT, AT)
    assert piece.value.range == OffsetRange(TopicPartition("orders", 0), 4, 6)
    assert piece.value.columns == ("offset",)


def test_a_copy_begins_nothing_and_is_whole() -> None:
    """Spark pickles one for the sake of its `read`, after it has asked the other."""
    asked = reader(maxOffsetsPerTrigger="9")
    asked.initialOffset()
    copy = pickle.loads(pickle.dumps(asked))
    assert paper(copy).told == []
    assert copy.getDefaultReadLimit() == ReadMaxRows(9)
    assert copy.latestOffset(AT, ReadMaxRows(9)) == AT


@pytest.mark.parametrize(
    "ask",
    [
        lambda asked: asked.prepareForTriggerAvailableNow(),
        lambda asked: asked.initialOffset(),
        lambda asked: asked.latestOffset(AT, ReadAllAvailable()),
    ],
    ids=["freeze", "initial", "latest"],
)
def test_each_step_that_may_wait_is_interrupted_by_spark_s_signal(
    ask: Any, signals: list[tuple[int, object]]
) -> None:
    """It is heeded from the first question on, and not where no request is sent."""
    asked = reader()
    asked.getDefaultReadLimit()
    assert not signals
    ask(asked)
    ask(asked)
    assert signals == [(signal.SIGTERM, leave)]


def test_a_signal_ends_the_process_once(signals: list[tuple[int, object]]) -> None:
    """Spark sends it twice, and the second one is not to interrupt the closing."""
    with pytest.raises(SystemExit) as caught:
        leave(signal.SIGTERM, None)
    assert caught.value.code == 0
    assert signals == [(signal.SIGTERM, signal.SIG_IGN)]


def test_the_end_closes_the_client() -> None:
    """Spark says so where an exception comes up, and the signal is made one."""
    asked = reader()
    asked.stop()
    assert paper(asked).told == ["close"]
    # What is done is told by the brokers' groups, if at all.
    asked.commit(AT)
    assert paper(asked).told == ["close"]
