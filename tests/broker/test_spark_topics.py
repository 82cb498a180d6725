"""The driver's part of Spark's source while topics of a real Kafka are deleted and created."""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing

import pytest

from prokurist.events.clock import MonotonicClock
from prokurist.spark.errors import DataLossException
from prokurist.spark.source.driver_queries import DriverQueries
from prokurist.spark.source.options import Settings
from prokurist.spark.source.stream_offsets import Stream
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Producing
from tests.broker.grouping import write

pytestmark = pytest.mark.kafka


class Triggers:
    """A stream, each of whose ends is the next one's start, as with Spark.

    Attributes:
        rows: How many rows were planned of each topic.
        end: How far the stream has come.
    """

    def __init__(self, kafka: RealKafka, *topics: str, fails: bool, **more: str) -> None:
        settings = Settings.of(
            {
                "kafka.bootstrap.servers": kafka.bootstrap,
                "subscribe": ",".join(topics),
                "startingOffsets": "earliest",
                "failOnDataLoss": str(fails).lower(),
            }
            | more
        )
        queries = DriverQueries(settings.client, settings.group)
        self.stream = Stream(settings, queries, MonotonicClock())
        self.rows: Counter[str] = Counter()
        self.end = self.stream.initial()

    def trigger(self) -> None:
        """Plan what is new."""
        end = self.stream.latest(self.end, limited=False)
        if end != self.end:
            for piece in self.stream.ranges(self.end, end):
                self.rows[piece.partition.topic] += piece.size
        self.end = end

    def until(self, done: Callable[[], bool]) -> None:
        """Go on until something is so."""
        deadline = time.monotonic() + 60.0
        while not done():
            assert time.monotonic() < deadline, (self.end, self.rows)
            self.trigger()
            time.sleep(0.2)


def test_one_of_several_topics_is_deleted_and_created_again(
    prokurist_kafka: RealKafka, producer_of: Producing
) -> None:
    """The other is read on, each row once; the place is kept, and the new topic read whole."""
    kafka = prokurist_kafka
    gone, live = (kafka.unique_topic() for _ in range(2))
    write(producer_of(kafka.bootstrap), gone, 5, 1)
    write(producer_of(kafka.bootstrap), live, 100, 1)
    stream = Triggers(kafka, gone, live, fails=False)
    with closing(stream.stream):
        stream.trigger()
        assert stream.rows == {gone: 5, live: 100}
        kafka.delete_topic(gone)
        write(producer_of(kafka.bootstrap), live, 10, 1)
        stream.until(lambda: stream.rows[live] == 110)
        time.sleep(6.0)
        stream.trigger()
        assert stream.end[gone] == {"0": 5}
        kafka.create_topic(gone)
        write(producer_of(kafka.bootstrap), gone, 9, 1)
        write(producer_of(kafka.bootstrap), live, 10, 1)
        stream.until(lambda: stream.rows[gone] == 14)
        stream.trigger()
        assert stream.rows == {gone: 14, live: 120}


def test_a_deleted_topic_is_named_at_once(
    prokurist_kafka: RealKafka, producer_of: Producing
) -> None:
    """With failOnDataLoss the error says which, within seconds and not after a minute."""
    kafka = prokurist_kafka
    gone, live = (kafka.unique_topic() for _ in range(2))
    for each in (gone, live):
        write(producer_of(kafka.bootstrap), each, 5, 1)
    stream = Triggers(kafka, gone, live, fails=True)
    with closing(stream.stream):
        stream.trigger()
        kafka.delete_topic(gone)
        with pytest.raises(DataLossException, match=f"{gone}-0 is there no more"):
            stream.until(lambda: False)
        assert stream.end[gone] == stream.end[live] == {"0": 5}


def test_a_place_behind_an_open_transaction(
    prokurist_kafka: RealKafka, producer_of: Producing
) -> None:
    """B496: a stream that turns to read_committed waits for it, and tells of no loss."""
    kafka = prokurist_kafka
    topic = kafka.unique_topic()
    open_one = producer_of(kafka.bootstrap, transactional_id=f"tx-{topic}")
    open_one.init_transactions(30)
    open_one.begin_transaction()
    write(open_one, topic, 4, 1)
    write(producer_of(kafka.bootstrap), topic, 6, 1)
    first = Triggers(kafka, topic, fails=True)
    with closing(first.stream):
        first.trigger()
    assert first.end[topic] == {"0": 10}
    stream = Triggers(kafka, topic, fails=True, **{"kafka.isolation.level": "read_committed"})
    stream.end = first.end
    with closing(stream.stream):
        stream.trigger()
        assert stream.end == first.end
        open_one.commit_transaction(30)
        write(producer_of(kafka.bootstrap), topic, 3, 1)
        stream.until(lambda: stream.end[topic] == {"0": 14})
    assert stream.rows == {topic: 4}
