"""What is read out of Spark's progress: queries, batches, and which sources are Kafka's."""

import json
from typing import Any

import pytest

from prokurist.spark.watcher.progress import NotKafkaOffsets, Query, QueryBatch
from prokurist.types import TopicPartition

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
JVM = "KafkaV2[Subscribe[a]]"
PYTHON = "org.apache.spark.sql.execution.python.streaming.PythonMicroBatchStream@1b"


def progress(*sources: tuple[str, str], **others: Any) -> dict[str, Any]:
    """A progress as PySpark has it."""
    return {
        "id": "0d",
        "runId": "1e",
        "name": "bills",
        "timestamp": "2026-11-22T10:00:00.000Z",
        "batchId": 7,
        "durationMs": {"addBatch": 900, "triggerExecution": 1500},
        "numInputRows": 12,
        "sources": [
            {"description": description, "endOffset": end, "numInputRows": 6}
            for description, end in sources
        ],
    } | others


def test_a_batch_is_read_as_it_is() -> None:
    """Whose it is, its number, its rows, how long it took and when it was over."""
    batch = QueryBatch.of(progress((JVM, '{"a": {"0": 5}}')))
    assert batch.query == Query("0d", "1e", "bills")
    assert (batch.number, batch.rows, batch.seconds) == (7, 12, 1.5)
    assert batch.ended == 1795341601.5
    assert batch.ends() == {A0: 5}


@pytest.mark.parametrize(
    "description", [JVM, "KafkaSource[Subscribe[a]]", "KafkaSourceV1[Assign[a-0]]", PYTHON]
)
def test_kafka_sources_are_known(description: str) -> None:
    """The JVM's by how they describe themselves, one of Python by the form of its offsets."""
    end = '{"a": {"0": 5, "1": 0}}'
    assert QueryBatch.of(progress((description, end))).ends() == {A0: 5, A1: 0}


@pytest.mark.parametrize(
    "end",
    ["1234", "null", "None", "", "[]", '{"logOffset": 3}', '{"a": 5}', '{"a": {"x": 5}}'],
)
def test_other_sources_are_left_alone(end: str) -> None:
    """A rate source's offset is a number, a file source's a log offset, none is null."""
    assert QueryBatch.of(progress((PYTHON, end))).ends() == {}


def test_words_of_ours_in_the_offsets_are_none_of_a_topic() -> None:
    """Our source's first end has its start beside it."""
    end = json.dumps({"a": {"0": 5}, "$later": {"0": 1}})
    assert QueryBatch.of(progress((PYTHON, end))).ends() == {A0: 5}


def test_an_end_of_the_jvms_that_cannot_be_read_is_an_error() -> None:
    """It names the source and what it said."""
    batch = QueryBatch.of(progress((JVM, '{"a": {"0": "five"}}')))
    with pytest.raises(NotKafkaOffsets, match=r"KafkaV2.*five"):
        batch.ends()


def test_sources_are_taken_together() -> None:
    """What two of them read is done as far as both have come; others are beside it."""
    batch = QueryBatch.of(
        progress(
            (JVM, '{"a": {"0": 5, "1": 1}}'),
            (JVM, '{"a": {"0": 3}, "b": {"0": 9}}'),
            ("RateStreamV2[rowsPerSecond=1]", "17"),
        )
    )
    assert batch.ends() == {A0: 3, A1: 1, TopicPartition("b", 0): 9}


def test_what_may_be_missing() -> None:
    """Through Connect there is no sum of rows; a query has no name; a time is no time."""
    batch = QueryBatch.of(
        progress(
            (JVM, "null"),
            (JVM, "null"),
            numInputRows=None,
            name=None,
            timestamp="soon",
            durationMs={},
        )
    )
    assert (batch.rows, batch.ended, batch.seconds) == (12, None, 0.0)
    assert batch.query.label == "0d"


IDLE = {"latestOffset": 5, "triggerExecution": 5}
STANDS = '{"a": {"0": 5}}'


def idle(number: int, **more: Any) -> dict[str, Any]:
    """A progress of a trigger that had nothing to do, as Spark tells it."""
    told = progress((JVM, STANDS), batchId=number, numInputRows=0, durationMs=IDLE)
    told["sources"][0]["startOffset"] = STANDS
    return told | more


def test_an_idle_trigger_has_the_number_of_the_next_batch() -> None:
    """The batch that is done is the one before, which ended where the trigger stands."""
    batch = QueryBatch.done(idle(3))
    assert batch is not None
    assert (batch.number, batch.ends(), batch.ended) == (2, {A0: 5}, None)
    assert QueryBatch.done(idle(0)) is None


@pytest.mark.parametrize(
    "more",
    [{"numInputRows": 4}, {"durationMs": IDLE | {"addBatch": 1}}],
    ids=["rows", "a batch without rows"],
)
def test_a_trigger_that_did_something_has_the_number_of_its_batch(
    more: dict[str, Any],
) -> None:
    """Also where the batch was empty, such as one that only moves a watermark."""
    batch = QueryBatch.done(idle(3, **more))
    assert batch is not None
    assert batch.number == 3


def test_a_trigger_that_moved_was_not_idle() -> None:
    """With any durations that Spark gives, as it does in continuous processing."""
    moved = idle(3)
    moved["sources"][0]["startOffset"] = None
    batch = QueryBatch.done(moved)
    assert batch is not None
    assert batch.number == 3
