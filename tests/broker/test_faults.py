"""What becomes of a real Kafka's answers: late, cut, never; and a coordinator that dies."""

import time

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TimeoutException, TopicPartition, errors
from prokurist.testing.kafka import RealKafka
from prokurist.timeline import Recording, record
from tests.broker.conftest import Ours
from tests.broker.watching import LATE, Watch, when
from tests.every_call import TP, WITH_DEADLINE
from tests.stopwatch import Stopwatch

pytestmark = pytest.mark.kafka

AT_7 = {TP: OffsetAndMetadata(7)}


def test_late_answers_are_dropped_and_no_connection_with_them(
    ours: Ours, orders: RealKafka
) -> None:
    """B3, B8, B212: every call ends before its answer comes; the connections stay."""
    consumer = ours(request_timeout_ms=20_000)
    for call in WITH_DEADLINE.values():
        call(consumer, 20)
    consumer.poll(0.5)  # Opens the connection for fetches, which wait_until_ready needs too.
    consumer.seek_to_end()
    before = orders.proxy().connections()
    with orders.proxy().delay(0.5, "to_client"):
        for call in WITH_DEADLINE.values():
            with Watch(0.1), pytest.raises(TimeoutException):
                call(consumer, 0.1)
        # Behind all those answers, on the same connections.
        assert consumer.committed(TP, timeout=20) == AT_7
        assert consumer.end_offsets(TP, timeout=20) == {TP: 0}
    assert orders.proxy().connections() == before


def test_each_attempt_ends_at_request_timeout_and_the_next_has_a_new_connection(
    ours: Ours, orders: RealKafka
) -> None:
    """B7: answers that take longer than an attempt may: several attempts, several connects."""
    consumer = ours(request_timeout_ms=300)
    # A new connection has its own, longer time for being greeted.
    with orders.proxy().delay(0.6, "to_client"):
        with Stopwatch() as took, pytest.raises(TimeoutException) as caught:
            consumer.list_topics(timeout=7.0)
        assert took.seconds >= 7.0
        assert took.own < 7.0 + LATE
        attempts = [each for each in caught.value.attempts if each.ended is not None]
        assert len(attempts) >= 2
        assert {each.outcome for each in attempts} == {"disconnected"}
        lengths = [(each.ended or 0) - each.started for each in attempts]
        # A later one may share its connection with a refresh whose time is over sooner.
        assert lengths[0] >= 0.29
        assert max(lengths) - took.kept < LATE
    assert "orders" in consumer.list_topics(timeout=20)


def test_a_request_timeout_takes_all_in_flight_on_its_connection_along(
    ours: Ours, orders: RealKafka
) -> None:
    """B207: what was sent after it fails as disconnected with it, in the order of sending."""
    consumer = ours(request_timeout_ms=8000)
    orders.proxy().swallow("to_client")
    told: list[tuple[int, BaseException | None]] = []

    def callback(_: object, error: errors.KafkaException | None) -> None:
        told.append((len(told), None if error is None else error.__cause__))

    began = time.monotonic()
    with Stopwatch() as took:
        for _ in range(2):
            consumer.commit_async(AT_7, callback)
            time.sleep(1.0)
        begun = time.monotonic() - began
        with Watch(10.0), pytest.raises(TimeoutException) as caught:
            consumer.commit_sync(AT_7, timeout=10.0)
        ended = time.monotonic() - began
    assert [(number, type(cause)) for number, cause in told] == [
        (0, errors.DisconnectException),
        (1, errors.DisconnectException),
    ]
    first = caught.value.attempts[0]
    assert first.outcome == "disconnected"
    # It was written 2 s after the first, which is the one whose time was over.
    assert first.ended is not None
    assert caught.value.elapsed is not None
    # Between the two lies when the call began.
    assert ended - caught.value.elapsed + first.ended >= 8.0 - 0.01
    assert begun + first.ended < 8.0 + LATE + took.kept
    orders.heal()
    consumer.commit_sync(AT_7, timeout=20)


@pytest.mark.parametrize("end", ["cut", "reset"])
def test_a_connection_that_ends_with_a_request_on_it(
    ours: Ours, orders: RealKafka, end: str
) -> None:
    """B4, B72: the attempt fails with it, the next one succeeds, in the same call."""
    consumer = ours()
    proxy = orders.proxy()
    silence = proxy.swallow("to_client")

    def end_it() -> None:
        proxy.cut() if end == "cut" else proxy.reset()
        silence.heal()

    with record(consumer) as recording, when(lambda: commits(recording), end_it):
        consumer.commit_sync(AT_7, timeout=60)
    assert commits(recording) == 2
    assert consumer.committed(TP, timeout=20) == AT_7


def commits(recording: Recording) -> int:
    """How many attempts at a commit have been written."""
    return sum(
        each.event == "attempt_began" and each.keys["request"] == "OffsetCommit"
        for each in recording.entries
    )


def test_a_coordinator_that_dies_is_replaced(prokurist_cluster: RealKafka) -> None:
    """B44: forgotten, found again, and the commit goes to the next one, in one call."""
    topic = prokurist_cluster.unique_topic("moved", replication_factor=3)
    tp = TopicPartition(topic, 0)
    with KafkaConsumer(
        bootstrap_servers=prokurist_cluster.bootstrap, group_id=topic, request_timeout_ms=5000
    ) as consumer:
        consumer.commit_sync({tp: OffsetAndMetadata(1)}, timeout=20)
        old = consumer.health().coordinator
        prokurist_cluster.kill(prokurist_cluster.coordinator(topic))
        consumer.commit_sync({tp: OffsetAndMetadata(2)}, timeout=60)
        assert consumer.committed(tp, timeout=60) == {tp: OffsetAndMetadata(2)}
        assert consumer.health().coordinator not in (old, None)
