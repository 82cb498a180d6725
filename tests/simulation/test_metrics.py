"""What a client has counted, after a life in virtual time."""

import math

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.joining import grouped, joined, member, settle
from tests.simulation.reading import A, B, reader, written
from tests.simulation.world import World

pytestmark = pytest.mark.usefixtures("closed_at_the_end")

AT_1 = {A: OffsetAndMetadata(1)}


def of(consumer: KafkaConsumer, name: str, **labels: str) -> float:
    """One number, by the name without its prefix."""
    pairs = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return consumer.metrics()[f"prokurist_{name}{f'{{{pairs}}}' * bool(labels)}"]


def test_calls_that_end_well_are_counted() -> None:
    """With the requests that were written for them; nothing has timed out or been late."""
    consumer = reader(written(3))
    consumer.commit_sync(AT_1)
    consumer.commit_sync(AT_1)
    assert of(consumer, "call_seconds_count", call="commit_sync") == 2
    assert of(consumer, "call_attempts_total", call="commit_sync") == 2
    assert of(consumer, "calls_timed_out_total", call="commit_sync") == 0
    assert of(consumer, "deadline_overshoot_seconds_count") == 0
    assert of(consumer, "requests_total", api="OffsetCommit") == 2
    assert of(consumer, "request_seconds_sum", api="OffsetCommit") == pytest.approx(0.004)
    assert of(consumer, "application_wakeups_total") >= 2


def test_a_silent_broker_shows() -> None:
    """The call timed out, on time; its attempt is abandoned, and the late answer dropped."""
    world = written(3)
    consumer = reader(world)
    consumer.committed(A)
    with (
        world.control.answer_late("OffsetFetch", 2.0, times=1),
        pytest.raises(errors.TimeoutException),
    ):
        consumer.committed(A, timeout=0.5)
    assert of(consumer, "calls_timed_out_total", call="committed") == 1
    assert of(consumer, "call_attempts_total", call="committed") == 2
    assert of(consumer, "deadline_overshoot_seconds_count") == 1
    assert of(consumer, "deadline_overshoot_seconds_sum") == pytest.approx(0.0)
    world.clock.sleep(0.01)
    assert of(consumer, "attempts_abandoned_total") == 1
    assert of(consumer, "late_answers_total") == 0
    world.clock.sleep(3.0)
    assert of(consumer, "late_answers_total") == 1


def test_a_call_without_time_is_not_late() -> None:
    """It has a turn, and its deadline was over from the start."""
    consumer = reader(written(3))
    with pytest.raises(errors.TimeoutException):
        consumer.committed(A, timeout=0)
    assert of(consumer, "calls_timed_out_total", call="committed") == 1
    assert of(consumer, "deadline_overshoot_seconds_count") == 0


def test_polls_are_counted_with_what_lies_between() -> None:
    """How long they take, how often they come, and since when there was none."""
    world = written(0)
    consumer = reader(world)
    for _ in range(3):
        consumer.poll(0.5)
        world.clock.sleep(2.0)
    assert of(consumer, "consumer_poll_seconds_count") == 3
    assert of(consumer, "consumer_poll_seconds_sum") == pytest.approx(1.5)
    assert of(consumer, "consumer_poll_interval_seconds_count") == 2
    assert of(consumer, "consumer_poll_interval_seconds_sum") == pytest.approx(5.0)
    assert of(consumer, "consumer_poll_age_seconds") == pytest.approx(2.0)
    assert of(consumer, "consumer_poll_interval_limit_seconds") == 300.0


def test_records_count_when_they_are_returned() -> None:
    """By topic, with how far each partition is behind and ahead."""
    consumer = reader(written(5, 2), A, B, max_poll_records=4)
    returned = len(consumer.poll(1.0))
    assert of(consumer, "consumer_records_total", topic="orders") == returned
    while records := consumer.poll(0.1):
        returned += len(records)
    assert returned == 7
    assert of(consumer, "consumer_records_total", topic="orders") == 7
    assert of(consumer, "consumer_bytes_total", topic="orders") > 7 * 60
    consumer.seek(A, 1)
    assert of(consumer, "consumer_records_lag", topic="orders", partition="0") == 4
    assert of(consumer, "consumer_records_lag", topic="orders", partition="1") == 0
    assert of(consumer, "consumer_records_lead", topic="orders", partition="0") == 1
    assert of(consumer, "consumer_records_lag_max") == 4
    assert of(consumer, "consumer_records_lag_sum") == 4
    assert of(consumer, "consumer_records_lead_min") == 1
    assert of(consumer, "consumer_partitions") == 2
    assert of(consumer, "consumer_partitions_unlisted") == 0


def test_an_iteration_counts_what_it_has_handed_out() -> None:
    """No more than that, where it is left in the middle; and nothing twice."""
    consumer = reader(written(5))
    for record in consumer.records(1.0):
        if record.offset == 2:
            break
    assert [each.offset for each in consumer.poll(0.1)] == [3, 4]
    assert of(consumer, "consumer_records_total", topic="orders") == 5
    consumer.seek(A, 0)
    assert len(list(consumer.records(1.0))) == 5
    assert of(consumer, "consumer_records_total", topic="orders") == 10


def test_an_unknown_coordinator_counts_while_it_lasts() -> None:
    """A scrape in the middle of it sees how long a call has waited by now."""
    world = written(1)
    consumer = reader(world)
    seen: list[float] = []
    with world.control.fail("FindCoordinator", 15, times=None):
        began = world.clock.time
        for moment in (2.0, 3.0):
            world.at(
                began + moment,
                lambda: seen.append(of(consumer, "consumer_coordinator_unknown_seconds_total")),
            )
        with pytest.raises(errors.TimeoutException):
            consumer.committed(A, timeout=4.0)
    assert seen == [pytest.approx(2.0, abs=0.1), pytest.approx(3.0, abs=0.1)]
    world.clock.sleep(10.0)
    total = of(consumer, "consumer_coordinator_unknown_seconds_total")
    assert total == pytest.approx(4.0, abs=0.1)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_counts_its_rebalances(protocol: str) -> None:
    """One to join; another when another member comes. Heartbeats have an age, too."""
    world = grouped()
    first = joined(world, group_protocol=protocol)
    settle(first, seconds=5.0)
    assert of(first, "consumer_member") == 1
    assert of(first, "consumer_rebalance_seconds_count") == 1
    assert of(first, "consumer_rebalance_age_seconds") > 3.0
    assert of(first, "consumer_partitions") == 4
    assert of(first, "consumer_heartbeat_age_seconds") <= 3.1
    second = member(world, group_protocol=protocol)
    settle(first, second, seconds=20.0)
    assert of(first, "consumer_rebalance_seconds_count") >= 2
    assert of(first, "consumer_partitions") == 2
    assert of(first, "consumer_rebalances_failed_total") == 0
    first.close()
    assert of(first, "consumer_member") == 0


def test_what_close_took_is_told_by_phase() -> None:
    """Also after it: a closed consumer still says what it has counted."""
    world = World()
    consumer = world.consumer()
    consumer.assign([A])
    consumer.close()
    for phase in ("last commit", "leave", "network thread"):
        assert of(consumer, "close_phase_seconds_count", phase=phase) == 1
    assert of(consumer, "network_thread_alive") == 0


def test_the_loop_counts_its_turns() -> None:
    """Each has worked and waited; left alone, the loop turns no more."""
    world = written(3)
    consumer = reader(world)
    consumer.poll(1.0)
    consumer.committed(A)
    world.clock.sleep(20.0)
    turns, empty = of(consumer, "loop_turns_total"), of(consumer, "loop_empty_turns_total")
    assert 5 < turns < 100
    assert 0 <= empty < turns / 2
    world.clock.sleep(1.0)
    assert of(consumer, "loop_turns_total") == turns
    assert of(consumer, "loop_busy_seconds_count") == turns - 1
    assert of(consumer, "event_queue_seconds_count") >= 2
    assert of(consumer, "events_waiting") == 0
    assert of(consumer, "loop_lateness_seconds") == 0


def test_connections_are_counted() -> None:
    """Those that come up, and those that go."""
    world = written(3)
    consumer = reader(world)
    consumer.poll(1.0)
    ready = of(consumer, "connections")
    assert ready >= 2
    assert of(consumer, "connections_opened_total") == ready
    assert of(consumer, "node_sent_bytes_total", node_id="1") > 100
    assert of(consumer, "node_received_bytes_total", node_id="1") > 100
    consumer.close()
    assert of(consumer, "connections") == 0
    assert of(consumer, "connections_closed_total") == ready


def test_every_number_is_a_number() -> None:
    """Of a client that has done nothing yet as well."""
    consumer = World().consumer()
    assert all(isinstance(each, float) for each in consumer.metrics().values())
    assert not any(math.isnan(each) for each in consumer.metrics().values())


def test_names_of_topics_are_written_so_that_they_can_be_read() -> None:
    """A quote in a label does not end it."""
    consumer = World().consumer()
    consumer._collector.topics.of('a"b\\c\nd').records += 1
    assert 'prokurist_consumer_records_total{topic="a\\"b\\\\c\\nd"}' in consumer.metrics()


def test_more_partitions_than_have_series_are_summed_up() -> None:
    """Bounded, and told: the rest is a number of its own."""
    world = World(topics={"wide": 1200})
    consumer = world.consumer(fetches=False)
    consumer.assign([TopicPartition("wide", number) for number in range(1200)])
    for number in range(1200):
        consumer.seek(TopicPartition("wide", number), number)
        consumer._committable.assigned.rows[TopicPartition("wide", number)].end = 1200
    metrics = consumer.metrics()
    lags = [name for name in metrics if name.startswith("prokurist_consumer_records_lag{")]
    assert len(lags) == 1000
    assert metrics["prokurist_consumer_partitions_unlisted"] == 200
    assert metrics["prokurist_consumer_partitions"] == 1200
    assert metrics["prokurist_consumer_records_lag_sum"] == sum(range(1, 1201))
    assert metrics["prokurist_consumer_records_lag_max"] == 1200


def test_a_quota_shows() -> None:
    """By the request in whose answer silence was asked for."""
    world = written(3)
    consumer = reader(world)
    with world.control.throttle("OffsetFetch", 0.5):
        consumer.committed(A)
    consumer.committed(B)
    assert of(consumer, "throttle_seconds_total", api="OffsetFetch") == pytest.approx(0.5)
    assert of(consumer, "throttle_seconds_total", api="FindCoordinator") == 0
    # The second look-up had to wait until it was over.
    assert of(consumer, "request_queue_seconds_sum") >= 0.5


def test_a_broker_that_dies_shows() -> None:
    """What was on its way is lost, and each try to connect fails."""
    world = written(3)
    consumer = reader(world)
    consumer.poll(0.1)
    world.control.kill(1)
    with pytest.raises(errors.TimeoutException):
        consumer.committed(A, timeout=3.0)
    assert of(consumer, "node_requests_lost_total", node_id="1") >= 1
    assert of(consumer, "connections_failed_total") >= 2
    assert of(consumer, "connections") == 0
    sent = of(consumer, "node_requests_total", node_id="1")
    answered = of(consumer, "node_request_seconds_count", node_id="1")
    assert sent == answered + of(consumer, "node_requests_lost_total", node_id="1")
