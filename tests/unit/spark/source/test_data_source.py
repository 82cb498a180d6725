"""What Spark's questions to a batch become; without a Java."""

import pickle
import sys
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark", "4.0", reason="PySpark is not installed")

from pyspark import TaskContext
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import LongType, StringType, StructType

from prokurist.errors import ConfigException
from prokurist.spark.data_source import KafkaDataSource
from prokurist.spark.sink.foreach_batch import query_of
from prokurist.spark.sink.stream_writer import StreamWriter
from prokurist.spark.source import batch_reader as module
from prokurist.spark.source.filter_ranges import FilterRanges
from prokurist.spark.source.options import Settings

GIVEN = {"kafka.bootstrap.servers": "b:9092", "subscribe": "orders"}


def columns(*names: str) -> StructType:
    """A schema of the user's."""
    kinds = {"offset": LongType(), "topic": StringType()}
    wanted = StructType()
    for each in names:
        wanted = wanted.add(each, kinds[each])
    return wanted


def test_it_is_called_as_it_is_written() -> None:
    """And says what it has, with headers where they are asked for."""
    assert KafkaDataSource.name() == "prokurist"
    assert "headers" not in KafkaDataSource(dict(GIVEN)).schema()
    assert "headers" in KafkaDataSource(GIVEN | {"includeHeaders": "true"}).schema()


def test_an_option_that_is_none_is_refused_at_once() -> None:
    """Before a request is sent."""
    with pytest.raises(ConfigException, match="subscribe"):
        KafkaDataSource(GIVEN | {"subscrive": "bills"}).schema()


def test_an_option_of_writing_is_refused_where_is_read() -> None:
    """B751: and one of reading where is written."""
    with pytest.raises(ConfigException, match="topic is an option for writing"):
        KafkaDataSource(GIVEN | {"topic": "bills"}).schema()
    rows = StructType().add("value", StringType())
    with pytest.raises(ConfigException, match="subscribe is an option for reading"):
        KafkaDataSource(dict(GIVEN)).writer(rows, overwrite=False)


def test_a_topic_is_never_overwritten() -> None:
    """B759: the error has the mode to write instead; a stream's complete mode appends."""
    rows = StructType().add("value", StringType())
    given = {"kafka.bootstrap.servers": "b:9092", "topic": "bills"}
    with pytest.raises(ConfigException, match=r"never overwritten: write .mode\("):
        KafkaDataSource(given).writer(rows, overwrite=True)
    assert isinstance(KafkaDataSource(given).streamWriter(rows, overwrite=True), StreamWriter)
    once = {"delivery": "exactly_once", "exactlyOnceId": "billing"}
    with pytest.raises(ConfigException, match="needs exactlyOnceRun"):
        KafkaDataSource(given | once).writer(rows, overwrite=False)


def test_a_batch_has_the_columns_of_the_user_s_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """In his order; what is planned is a task each."""

    def planned(settings: Settings, wanted: tuple[str, ...], _: FilterRanges) -> list[object]:
        return [settings, wanted]

    monkeypatch.setattr(module, "planned", planned)
    source = KafkaDataSource(dict(GIVEN))
    reader = pickle.loads(pickle.dumps(source.reader(columns("offset", "topic"))))
    settings, wanted = (each.value for each in reader.partitions())
    assert settings == Settings.of(GIVEN)
    assert wanted == ("offset", "topic")


def test_a_batch_of_nothing_has_a_task_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark makes one in any case."""
    monkeypatch.setattr(module, "planned", lambda *_: [])
    monkeypatch.setattr(module, "read", lambda *task: iter((task,)))
    reader = KafkaDataSource(dict(GIVEN)).reader(columns("offset"))
    (nothing,) = reader.partitions()
    assert nothing.value is None
    assert list(reader.read(nothing)) == []
    assert list(reader.read(InputPartition("piece"))) == [("piece", 0)]


def test_a_task_knows_which_attempt_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """By Spark's own context: what an attempt may wait depends on those before it."""
    context = TaskContext()
    monkeypatch.setattr(TaskContext, "_taskContext", context)
    monkeypatch.setattr(context, "_attemptNumber", 2)
    monkeypatch.setattr(module, "read", lambda *task: iter((task,)))
    reader = KafkaDataSource(dict(GIVEN)).reader(columns("offset"))
    assert list(reader.read(InputPartition("piece"))) == [("piece", 2)]


def test_a_stream_has_them_too() -> None:
    """Where PySpark has streams of this kind."""
    pytest.importorskip("pyspark", "4.2", reason="PySpark 4.2 is not installed")
    reader = KafkaDataSource(dict(GIVEN)).streamReader(columns("offset"))
    copy = pickle.loads(pickle.dumps(reader))
    assert copy.__getstate__() == (Settings.of(GIVEN), ("offset",))


def test_a_pyspark_without_stream_writers_has_another_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B762: the error names it."""
    monkeypatch.setitem(sys.modules, "prokurist.spark.sink.stream_writer", None)
    rows = StructType().add("value", StringType())
    source = KafkaDataSource({"kafka.bootstrap.servers": "b:9092", "topic": "bills"})
    with pytest.raises(ConfigException, match=r"4\.1 or later.*foreachBatch\("):
        source.streamWriter(rows, overwrite=False)


def test_a_session_of_spark_connect_does_not_tell_its_query() -> None:
    """B764: there is no context to ask."""
    frame: Any = SimpleNamespace(sparkSession=SimpleNamespace(_client=None))
    assert query_of(frame) == ""


@pytest.mark.parametrize(
    ("step", "given"),
    [
        ("initialOffset", ()),
        ("prepareForTriggerAvailableNow", ()),
        ("getDefaultReadLimit", ()),
        ("latestOffset", ({}, None)),
        ("partitions", ({}, {})),
    ],
)
def test_a_stream_is_refused_by_its_first_step(step: str, given: tuple[Any, ...]) -> None:
    """B761: where `streamReader` raises, Spark's runner shows an error of its own instead."""
    options = GIVEN | {"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "1"}
    reader = KafkaDataSource(options).streamReader(columns("offset"))
    with pytest.raises(ConfigException, match="maxOffsetsPerTrigger"):
        getattr(reader, step)(*given)
    reader.stop()
