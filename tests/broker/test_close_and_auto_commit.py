"""Automatic commits and the ends of a consumer against a real Kafka."""

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Asking
from tests.broker.watching import LATE, Watch, interrupt, waiting, when

pytestmark = pytest.mark.kafka


@pytest.fixture
def tp(prokurist_topic: str) -> TopicPartition:
    """A partition of a topic of the test's own; its name is that of the group, too."""
    return TopicPartition(prokurist_topic, 0)


@pytest.fixture
def other(prokurist_kafka: RealKafka, tp: TopicPartition) -> Iterator[KafkaConsumer]:
    """A second consumer, which only looks what is committed."""
    with KafkaConsumer(bootstrap_servers=prokurist_kafka.bootstrap, group_id=tp.topic) as it:
        it.committed(tp, timeout=20)
        yield it


def reading(
    kafka: RealKafka, tp: TopicPartition, interval_ms: int = 200, *interceptors: object
) -> KafkaConsumer:
    """A consumer that stands at 5, of a log without records: it stays there, being paused."""
    consumer = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        group_id=tp.topic,
        auto_commit_interval_ms=interval_ms,
        interceptor_classes=interceptors,
    )
    consumer.assign(tp)
    consumer.pause(tp)
    consumer.seek(tp, 5)
    consumer.poll(0)
    return consumer


def test_polls_commit_and_so_does_the_end(
    prokurist_kafka: RealKafka, tp: TopicPartition, other: KafkaConsumer, eventually: Asking
) -> None:
    """B52, B62, B178: while a poll waits, and in close; interceptors hear of it."""

    class Recorder:
        told: list[int] = []  # noqa: RUF012 - one test, one recorder

        def on_commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
            self.told.append(offsets[tp].offset)

    with reading(prokurist_kafka, tp, 200, Recorder()) as consumer:
        began = time.monotonic()
        eventually(lambda: consumer.poll(1.0) or len(Recorder.told) >= 3)
        assert other.committed(tp, timeout=20) == {tp: OffsetAndMetadata(5)}
        consumer.seek(tp, 9)
    assert other.committed(tp, timeout=20) == {tp: OffsetAndMetadata(9)}
    # One for each interval, and those of the beginning and the end.
    assert len(Recorder.told) <= (time.monotonic() - began) / 0.2 + 2
    assert set(Recorder.told[:-1]) == {5}
    assert Recorder.told[-1] == 9


def test_leaving_by_an_exception_commits_nothing(
    prokurist_kafka: RealKafka, tp: TopicPartition, other: KafkaConsumer
) -> None:
    """CONTRACT §5: what was returned last may not have been worked on."""
    consumer = reading(prokurist_kafka, tp, 60_000)
    with pytest.raises(ZeroDivisionError), consumer:
        raise ZeroDivisionError
    assert other.committed(tp, timeout=20) == {tp: None}


def test_a_commit_that_is_cut_off_is_made_again(
    prokurist_kafka: RealKafka, tp: TopicPartition, other: KafkaConsumer, eventually: Asking
) -> None:
    """B54: the network fails under it; between polls the thread goes on trying."""
    with reading(prokurist_kafka, tp) as consumer:
        consumer.committed(tp, timeout=20)
        prokurist_kafka.freeze()
        # The poll that began the reading has made one if its interval was over by then.
        written = commits(consumer)
        eventually(lambda: consumer.poll(0.1) or commits(consumer) > written)
        prokurist_kafka.proxy().reset()
        prokurist_kafka.heal()
        prokurist_kafka.thaw()
        # Thawed, the broker may take the first one all the same.
        eventually(lambda: commits(consumer) > written + 1)
        eventually(lambda: other.committed(tp, timeout=20) == {tp: OffsetAndMetadata(5)})


def commits(consumer: KafkaConsumer) -> float:
    """How many it has written."""
    return consumer.metrics().get('prokurist_requests_total{api="OffsetCommit"}', 0)


@pytest.mark.parametrize("timeout", [0.0, 1.0])
def test_a_frozen_broker_does_not_delay_close(
    prokurist_kafka: RealKafka,
    tp: TopicPartition,
    timeout: float,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B179, B180: in time, without an exception; the log says what is not known."""
    consumer = reading(prokurist_kafka, tp, 60_000)
    consumer.committed(tp, timeout=20)
    prokurist_kafka.freeze()
    with Watch(0.0, timeout + LATE):
        consumer.close(timeout)
    assert "before the last offsets were known to be committed" in caplog.text


def test_a_close_without_time_writes_its_commit(
    prokurist_kafka: RealKafka, tp: TopicPartition, other: KafkaConsumer, eventually: Asking
) -> None:
    """B179: on a warm connection."""
    consumer = reading(prokurist_kafka, tp, 60_000)
    consumer.committed(tp, timeout=20)
    consumer.close(0)
    eventually(lambda: other.committed(tp, timeout=20) == {tp: OffsetAndMetadata(5)})


def test_an_interrupt_in_close(
    prokurist_kafka: RealKafka, tp: TopicPartition, eventually: Asking
) -> None:
    """B187: Ctrl-C ends the waiting; all is released, and it is raised at the end."""
    consumer = reading(prokurist_kafka, tp, 60_000)
    consumer.committed(tp, timeout=20)
    prokurist_kafka.freeze()
    with pytest.raises(KeyboardInterrupt), Watch(0.0), when(waiting, interrupt):
        consumer.close(20)
    eventually(lambda: not consumer.health().alive)


def test_a_script_that_ends_commits(
    prokurist_kafka: RealKafka, tp: TopicPartition, other: KafkaConsumer
) -> None:
    """CONTRACT, rule 11: interpreter exit commits, leaves nothing and says nothing."""
    code = """
import sys
from prokurist import KafkaConsumer, TopicPartition
tp = TopicPartition(sys.argv[2], 0)
consumer = KafkaConsumer(bootstrap_servers=sys.argv[1], group_id=tp.topic)
consumer.assign(tp)
consumer.pause(tp)
consumer.seek(tp, 5)
consumer.poll(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, prokurist_kafka.bootstrap, tp.topic],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert other.committed(tp, timeout=20) == {tp: OffsetAndMetadata(5)}
