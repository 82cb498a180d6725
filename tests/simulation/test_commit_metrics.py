"""What is counted of commits, of errors, and of the age of what is not read yet."""

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.reading import A, B, reader, written

pytestmark = pytest.mark.usefixtures("closed_at_the_end")


def of(consumer: KafkaConsumer, name: str, **labels: str) -> float | None:
    """One number, by the name without its prefix; None where there is none."""
    pairs = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return consumer.metrics().get(f"prokurist_consumer_{name}{f'{{{pairs}}}' * bool(labels)}")


def place(tp: TopicPartition) -> dict[str, str]:
    """The labels of a partition."""
    return {"topic": tp.topic, "partition": str(tp.partition)}


def test_what_is_committed_shows_with_its_lag_and_age() -> None:
    """Nothing before the first commit; the lag is what is committed, not what is read."""
    world = written(5, 2)
    consumer = reader(world, A, B)
    while consumer.poll(0.1):
        pass
    assert of(consumer, "committed_offset", **place(A)) is None
    assert of(consumer, "committed_lag_sum") is None
    assert of(consumer, "commit_age_seconds") is None
    consumer.commit_sync({A: OffsetAndMetadata(3)})
    assert of(consumer, "committed_offset", **place(A)) == 3
    assert of(consumer, "committed_lag_sum") == 2
    assert of(consumer, "records_lag_sum") == 0
    world.clock.sleep(7.0)
    assert of(consumer, "commit_age_seconds") == pytest.approx(7.0, abs=0.1)
    consumer.commit_sync()
    assert of(consumer, "committed_lag_sum") == 0
    assert of(consumer, "committed_offset", **place(B)) == 2


def test_what_the_group_has_committed_before_shows_when_it_is_looked_up() -> None:
    """A reader that goes on from there knows it without a commit of its own."""
    world = written(5)
    first = reader(world)
    first.commit_sync({A: OffsetAndMetadata(4)})
    second = reader(world)
    second.poll(0.5)
    assert of(second, "committed_offset", **place(A)) == 4
    assert of(second, "commits_total", kind="sync", result="done") is None


def test_commits_are_counted_by_kind_and_result() -> None:
    """B305: those that are taken, refused, and not answered in time."""
    world = written(5)
    consumer = reader(world, enable_auto_commit=True, auto_commit_interval_ms=1000)
    consumer.commit_sync({A: OffsetAndMetadata(1)})
    consumer.commit_async({A: OffsetAndMetadata(2)}, lambda *_: None)
    consumer.poll(1.0)
    world.clock.sleep(2.0)
    consumer.poll(0.5)
    consumer.poll(0.5)
    assert of(consumer, "commits_total", kind="sync", result="done") == 1
    assert of(consumer, "commits_total", kind="async", result="done") == 1
    assert of(consumer, "commits_total", kind="auto", result="done") == 1
    with (
        world.control.fail("OffsetCommit", 30, times=1),
        pytest.raises(errors.GroupAuthorizationException),
    ):
        consumer.commit_sync({A: OffsetAndMetadata(1)})
    with world.control.hold("OffsetCommit"), pytest.raises(errors.TimeoutException):
        consumer.commit_sync({A: OffsetAndMetadata(1)}, timeout=0.5)
    world.clock.sleep(0.01)
    assert of(consumer, "commits_total", kind="sync", result="done") == 1
    assert of(consumer, "commits_total", kind="sync", result="failed") == 1
    assert of(consumer, "commits_total", kind="sync", result="timed_out") == 1


def test_what_was_committed_of_a_former_topic_shows_no_more() -> None:
    """B492: nothing is committed of the new one yet, and its records are as old as it is."""
    world = written(3)
    consumer = reader(world, max_poll_records=1, metadata_max_age_ms=1000)
    consumer.poll(1.0)
    consumer.commit_sync()
    assert of(consumer, "committed_offset", **place(A)) == 1
    assert of(consumer, "lag_seconds", **place(A)) == 0
    world.clock.sleep(20.0)
    world.control.recreate_topic("orders")
    for _ in range(5):
        world.control.append(A, b"new")
    while not any(each.value == b"new" for each in consumer.poll(0.1)):
        pass
    assert of(consumer, "committed_offset", **place(A)) is None
    assert of(consumer, "committed_lag_sum") is None
    assert of(consumer, "lag_seconds", **place(A)) == 0
    consumer.commit_sync()
    assert of(consumer, "committed_offset", **place(A)) == 1


def test_what_was_committed_of_a_partition_that_was_given_up_shows_no_more() -> None:
    """B492: another member may have committed since, where it is not looked up again."""
    world = written(3)
    consumer = reader(world)
    consumer.commit_sync({A: OffsetAndMetadata(2)})
    consumer.assign([B])
    consumer.assign([A, B])
    consumer.seek_to_beginning()
    consumer.poll(1.0)
    assert of(consumer, "committed_offset", **place(A)) is None


def test_a_reader_without_a_group_has_no_commits() -> None:
    """No series at all, so that nothing looks like a group that does not commit."""
    consumer = reader(written(2), group_id=None)
    consumer.poll(0.5)
    assert not [name for name in consumer.metrics() if "commit" in name and "call" not in name]


def test_errors_of_polls_are_counted_by_class() -> None:
    """B306: a deserializer's apart; each poll at the same record counts, and wakeup is none."""

    def refuse(_data: bytes) -> None:
        raise ValueError("no")

    consumer = reader(written(2), value_deserializer=refuse)
    assert of(consumer, "deserialization_errors_total") == 0
    for _ in range(2):
        with pytest.raises(errors.RecordDeserializationException):
            consumer.poll(1.0)
    with pytest.raises(errors.RecordDeserializationException):
        list(consumer.records(1.0))
    assert of(consumer, "deserialization_errors_total") == 3
    assert of(consumer, "poll_errors_total", error="RecordDeserializationException") == 3
    consumer.wakeup()
    with pytest.raises(errors.WakeupException):
        consumer.poll(1.0)
    assert of(consumer, "poll_errors_total", error="WakeupException") is None


def test_the_age_of_what_is_not_read_shows_from_one_reading_to_the_next() -> None:
    """B307: as long as it was seen to lie there; 0 once it is read."""
    world = written(3)
    consumer = reader(world, max_poll_records=1)
    consumer.poll(1.0)
    assert of(consumer, "lag_seconds", **place(A)) == 0
    world.clock.sleep(20.0)
    assert of(consumer, "lag_seconds", **place(A)) == pytest.approx(20.0, abs=0.1)
    assert of(consumer, "lag_seconds_max") == pytest.approx(20.0, abs=0.1)
    while consumer.poll(0.1):
        pass
    assert of(consumer, "lag_seconds_max") == 0


def test_what_a_client_is_made_of_names_its_group() -> None:
    """By which any other series is told by group."""
    consumer = reader(written(1), client_rack="zone-1")
    (info,) = [name for name in consumer.metrics() if name.startswith("prokurist_client_info")]
    for label in ('group_id="g"', 'protocol="classic"', 'rack="zone-1"'):
        assert label in info
    assert 'implementation="native"' in info or 'implementation="pure"' in info
