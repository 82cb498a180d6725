"""Our consumer over real sockets, where no real Kafka errs on command.

The embedded broker refuses what a test wants refused, and tells what was on the
wire, and when.
"""

import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TimeoutException, TopicPartition, errors
from prokurist.testing.broker import EmbeddedBroker
from tests.stopwatch import Stopwatch

TP = TopicPartition("orders", 0)
AT_7 = {TP: OffsetAndMetadata(7)}
LATE = 1.0
"""Far above anything measured, far below any timeout: these machines are shared."""


@pytest.fixture
def consumer(broker: EmbeddedBroker) -> Iterator[KafkaConsumer]:
    """A consumer with its coordinator found and connected."""
    with KafkaConsumer(bootstrap_servers=broker.bootstrap, group_id="g") as made:
        made.committed(TP, timeout=20)
        yield made


def pauses(broker: EmbeddedBroker) -> list[float]:
    """Seconds between one commit and the next, as the broker saw them."""
    arrived = [entry.at for entry in broker.requests("OffsetCommit")]
    return [later - earlier for earlier, later in pairwise(arrived)]


def test_the_pauses_between_attempts_grow(
    broker: EmbeddedBroker, consumer: KafkaConsumer
) -> None:
    """B4, B29, B43: loading is waited for: 100, 200, 400 ms ±20 %, at the same coordinator."""
    broker.fail("OffsetCommit", 14, times=3)
    with Stopwatch() as took:
        consumer.commit_sync(AT_7, timeout=20)
    for pause, base in zip(pauses(broker), [0.1, 0.2, 0.4], strict=True):
        assert 0.8 * base - 0.005 <= pause
        assert pause - took.kept < 1.2 * base + LATE
    assert len(broker.requests("FindCoordinator")) == 1


def test_after_a_success_the_first_pause_is_the_base_again(
    broker: EmbeddedBroker, consumer: KafkaConsumer
) -> None:
    """B30: what the call before it came to, 400 ms, is not where the next one begins."""
    firsts: list[float] = []
    until = time.monotonic() + 20
    # A machine that stands still lengthens pauses; none of those that grew is ever short.
    while len(firsts) < 3 or min(firsts[1:]) >= 0.3:
        broker.forget_requests()
        broker.fail("OffsetCommit", 14, times=3)
        consumer.commit_sync(AT_7, timeout=20)
        firsts.append(pauses(broker)[0])
        assert time.monotonic() < until, firsts


def test_no_backoff_is_no_pause_and_no_spinning(broker: EmbeddedBroker) -> None:
    """B31: twenty refusals cost no time; silence costs hardly a turn."""
    with KafkaConsumer(
        bootstrap_servers=broker.bootstrap, group_id="g", retry_backoff_ms=0
    ) as consumer:
        consumer.committed(TP, timeout=20)
        broker.fail("OffsetCommit", 14, times=20)
        with Stopwatch() as took:
            consumer.commit_sync(AT_7, timeout=20)
        assert took.own < LATE
        assert len(broker.requests("OffsetCommit")) == 21
        with broker.hold():
            turns = consumer.health().turns
            with pytest.raises(TimeoutException):
                consumer.committed(TP, timeout=0.4)
            assert consumer.health().turns - turns < 20


def test_what_is_in_flight_is_not_sent_again(
    broker: EmbeddedBroker, consumer: KafkaConsumer
) -> None:
    """B32: one request, answered half a second later."""
    with broker.answer_late("OffsetCommit", 0.5):
        consumer.commit_sync(AT_7, timeout=20)
    assert len(broker.requests("OffsetCommit")) == 1


def test_what_timed_out_unsent_never_reaches_the_broker(
    broker: EmbeddedBroker, consumer: KafkaConsumer
) -> None:
    """B24: no coordinator, then one: the commit that was given up is not on the wire."""
    broker.fail("OffsetCommit", 16, times=1)
    with broker.fail("FindCoordinator", 15, times=None), pytest.raises(TimeoutException):
        # Time enough for the commit that is refused, on a busy machine, too.
        consumer.commit_sync(AT_7, timeout=4)
    sent = len(broker.requests("OffsetCommit"))
    consumer.committed(TP, timeout=20)
    time.sleep(0.3)
    assert len(broker.requests("OffsetCommit")) == sent == 1
    assert broker.committed("g") == {}


@pytest.mark.parametrize("code", [15, 16, 7])
def test_the_coordinator_has_moved(
    broker: EmbeddedBroker, consumer: KafkaConsumer, code: int
) -> None:
    """B44, B45: looked up again after each of these, and the commit goes to the new one."""
    old = broker.coordinator("g")
    assert old is not None
    broker.fail("OffsetCommit", code, times=1)
    broker.move_coordinator("g", old % 3 + 1)
    consumer.commit_sync(AT_7, timeout=20)
    assert len(broker.requests("FindCoordinator")) == 2
    assert broker.requests("OffsetCommit")[-1].node == old % 3 + 1


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (25, errors.CommitFailedException),
        (82, errors.CommitFailedException),
        (12, errors.OffsetMetadataTooLarge),
        (28, errors.InvalidCommitOffsetSizeException),
    ],
)
def test_what_no_patience_mends_is_raised_at_once(
    broker: EmbeddedBroker, consumer: KafkaConsumer, code: int, error: type[Exception]
) -> None:
    """B6, B46, B50: one attempt, the error itself."""
    broker.fail("OffsetCommit", code, times=None)
    with Stopwatch() as took, pytest.raises(error):
        consumer.commit_sync(AT_7, timeout=60)
    assert took.own < LATE
    assert len(broker.requests("OffsetCommit")) == 1


@pytest.mark.parametrize("code", [14, 15, 16, 7])
def test_a_passing_failure_is_told_and_not_tried_again(
    broker: EmbeddedBroker, consumer: KafkaConsumer, code: int
) -> None:
    """B36: RetriableCommitFailed that wraps the cause; one request."""
    told: list[errors.KafkaException | None] = []
    broker.fail("OffsetCommit", code, times=1)
    consumer.commit_async(AT_7, lambda _, error: told.append(error))
    consumer.commit_sync({}, timeout=20)
    (error,) = told
    assert type(error) is errors.RetriableCommitFailedException
    assert len(broker.requests("OffsetCommit")) == 1


def test_an_answer_under_a_wrong_number_ends_its_connection(
    broker: EmbeddedBroker, consumer: KafkaConsumer, caplog: pytest.LogCaptureFixture
) -> None:
    """B212: logged, and the operation goes on, on a new connection."""
    broker.wrong_correlation_id("OffsetCommit", times=1)
    consumer.commit_sync(AT_7, timeout=20)
    assert len(broker.requests("OffsetCommit")) == 2
    sessions = {entry.session for entry in broker.requests("OffsetCommit")}
    assert len(sessions) == 2
    assert "the connection was closed" in caplog.text
