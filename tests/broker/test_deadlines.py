"""Every call against a real Kafka that has frozen: on time, and saying where it went."""

import math
import time
from datetime import timedelta

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TimeoutException
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Asking, Ours
from tests.broker.watching import AT_ONCE, LATE, Watch, after, handling, send, waiting, when
from tests.every_call import TP, UNKNOWN, WITH_DEADLINE, WITH_TIMEOUT
from tests.stopwatch import Stopwatch

pytestmark = pytest.mark.kafka

AT_7 = {TP: OffsetAndMetadata(7)}


def may_have_happened(consumer: KafkaConsumer, timeout: float, offset: int = 7) -> bool:
    """Whether a commit into silence may have: not if nothing was written in its time."""
    with Watch(timeout), pytest.raises(TimeoutException) as caught:
        consumer.commit_sync({TP: OffsetAndMetadata(offset)}, timeout=timeout)
    return caught.value.may_have_happened


def test_silence_ends_every_call_at_its_deadline(
    ours: Ours, orders: RealKafka, eventually: Asking
) -> None:
    """B2, B22, B25, B32: on time, one attempt at most in flight; the text names it all."""
    consumer = ours()
    orders.freeze()
    for name, call in WITH_DEADLINE.items():
        with Watch(0.25), pytest.raises(TimeoutException) as caught:
            call(consumer, timedelta(seconds=0.25))
        text = str(caught.value)
        assert text.startswith(f"{name} ")
        assert "was given 0.25 s" in text
        assert "default.api.timeout.ms" in text
        assert len(caught.value.attempts) <= 1
        if name != "commit_sync":
            assert not caught.value.may_have_happened
    eventually(lambda: may_have_happened(consumer, 0.25))


def test_without_a_timeout_the_default_counts(ours: Ours, orders: RealKafka) -> None:
    """B18: `default.api.timeout.ms` of 200 ms ends each call by 200 ms."""
    consumer = ours(default_api_timeout_ms=200)
    orders.freeze()
    for call in WITH_DEADLINE.values():
        with Watch(0.2), pytest.raises(TimeoutException):
            call(consumer, None)


def test_no_time_at_all(ours: Ours, orders: RealKafka, eventually: Asking) -> None:
    """B9, B10, B11, B12, B13, B14, B21: what is known is answered, nothing else waits."""
    consumer = ours()
    orders.freeze()
    with Watch(0.0):
        # The metadata that the positions needed is at hand, and so is one position.
        assert len(consumer.partitions_for("orders", timeout=0)) == 3
        assert consumer.position(TP, timeout=0) == 1
        assert consumer.committed([], timeout=0) == {}
    for name, call in WITH_DEADLINE.items():
        with Watch(0.0), pytest.raises(TimeoutException, match="timeout 0") as caught:
            call(consumer, 0)
        if name != "commit_sync":
            assert not caught.value.may_have_happened
    eventually(lambda: may_have_happened(consumer, 0))


def test_what_is_known_needs_no_broker(ours: Ours, orders: RealKafka) -> None:
    """B14, B15, B16: nothing asked is nothing sent; a bad timeout is refused first."""
    consumer = ours()
    orders.freeze()
    with Watch(0.0):
        assert consumer.committed([]) == {}
        consumer.commit_sync({})
        for call in WITH_TIMEOUT.values():
            with pytest.raises(ValueError, match="timeout"):
                call(consumer, -1)
    assert len(consumer.assignment()) == 2


def test_an_endless_timeout_waits_until_the_broker_is_back(
    ours: Ours, orders: RealKafka
) -> None:
    """B17: infinite is no number that overflows, and no number that is over."""
    consumer = ours()
    orders.freeze()
    with Watch(0.4, AT_ONCE), after(0.4, orders.thaw):
        assert consumer.committed(TP, math.inf) == {TP: None}


def test_each_call_has_its_own_deadline(ours: Ours, orders: RealKafka) -> None:
    """B20, B26: an earlier commit has more time; the later call does not wait for it."""
    # Long enough for the two that come later, on a busy machine.
    consumer = ours(default_api_timeout_ms=6000)
    orders.freeze()
    told: list[object] = []
    with Watch(6.0):
        consumer.commit_async(AT_7, lambda _, error: told.append(error))
        for offsets in (AT_7, {}):
            with Watch(0.15), pytest.raises(TimeoutException):
                consumer.commit_sync(offsets, timeout=0.15)
        while not told:
            assert not consumer.poll(0.05)


def test_a_poll_lasts_its_time_and_raises_nothing(ours: Ours, orders: RealKafka) -> None:
    """B27, B28: frozen, then killed, with a position to look up; empty, on time."""
    consumer = ours()
    consumer.seek_to_end(UNKNOWN)
    orders.freeze()
    for timeout in (0, 0.2, 0.4):
        with Watch(timeout):
            assert not consumer.poll(timeout)
    orders.thaw()
    with orders.proxy().refuse():
        orders.proxy().reset()
        for timeout in (0, 0.2, 0.4):
            with Watch(timeout):
                assert not consumer.poll(timeout)


def test_the_coordinator_is_never_found(orders: RealKafka) -> None:
    """B1: at 0.5 s, not earlier and not at 30 s; nothing was sent."""
    orders.freeze()
    with KafkaConsumer(bootstrap_servers=orders.bootstrap, group_id="lost") as consumer:
        with Watch(0.5), pytest.raises(TimeoutException, match="coordinator") as caught:
            consumer.commit_sync(AT_7, timeout=0.5)
        assert not caught.value.may_have_happened
        assert not [each for each in caught.value.attempts if each.request == "OffsetCommit"]
        consumer.close(0)


def test_what_timed_out_unsent_never_reaches_the_broker(
    ours: Ours, orders: RealKafka, eventually: Asking
) -> None:
    """B24: while everything is refused nothing is written, nor is it afterwards."""
    consumer = ours()
    consumer.commit_sync({TP: OffsetAndMetadata(1)}, timeout=20)
    with orders.proxy().refuse():
        orders.proxy().reset()
        # It may be written until the end of the connection was seen.
        eventually(lambda: not may_have_happened(consumer, 0.1, 100))
        assert not any(may_have_happened(consumer, 0.1, offset) for offset in range(101, 105))
    consumer.committed(UNKNOWN, timeout=20)
    time.sleep(0.3)
    kept = consumer.committed(TP, timeout=20)[TP]
    assert kept is not None
    assert kept.offset in (1, 100)


def test_a_result_that_came_in_time_is_kept_by_a_caller_who_comes_late(
    ours: Ours, orders: RealKafka
) -> None:
    """B19: answered at once, while a signal handler held the caller until his time was over."""
    consumer = ours()
    timeout = 6.0

    def hold() -> None:
        orders.thaw()
        while consumer.health().waiting_calls:
            time.sleep(0.01)
        time.sleep(max(0.0, began + timeout + 0.1 - time.monotonic()))

    orders.freeze()
    with handling(hold), when(lambda: waiting() and consumer.health().waiting_calls, send):
        began = time.monotonic()
        assert consumer.committed(TP, timeout=timeout) == {TP: None}
        assert time.monotonic() - began > timeout


def test_an_idle_client_sleeps_and_a_waiting_one_does_not_spin(
    ours: Ours, orders: RealKafka, eventually: Asking
) -> None:
    """B31, B216, B265: turns are counted, awake and frozen, without any backoff."""
    consumer = ours(retry_backoff_ms=0)
    consumer.poll(0.2)

    def turned() -> int:
        before = consumer.health().turns
        time.sleep(0.5)
        return consumer.health().turns - before

    # When what the poll has begun is done.
    eventually(lambda: turned() <= 2)
    orders.freeze()
    turns = consumer.health().turns
    with Watch(0.5), pytest.raises(TimeoutException):
        consumer.committed(TP, timeout=0.5)
    assert consumer.health().turns < turns + 30


def overshoot(consumer: KafkaConsumer) -> tuple[float, float]:
    """How long after its deadline a call has ended, and how much of that was its own fault."""
    with Stopwatch() as took, pytest.raises(TimeoutException):
        consumer.committed(TP, timeout=0.01)
    return took.seconds - 0.01, took.own - 0.01


def test_how_late_calls_end(ours: Ours, orders: RealKafka) -> None:
    """B269: half of them within 50 ms even here; the exact figures are the benchmark's."""
    consumer = ours()
    ended: list[tuple[float, float]] = []
    for silence in (lambda: orders.proxy().swallow("to_client"), orders.freeze):
        orders.heal()
        silence()
        ended += [overshoot(consumer) for _ in range(30)]
    assert min(elapsed for elapsed, _ in ended) > -0.001
    # The machine is shared: the median says that no call waits for a pause or a turn.
    lateness = sorted(own for _, own in ended)
    assert lateness[len(lateness) // 2] < 0.05
    assert lateness[-1] < LATE
