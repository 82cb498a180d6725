"""The consumer against a real Kafka: awake, frozen, swallowing, cut, killed."""

import subprocess
import sys
import threading
from collections.abc import Iterator

import psutil
import pytest

from prokurist import (
    KafkaConsumer,
    OffsetAndMetadata,
    TimeoutException,
    TopicPartition,
    WakeupException,
    errors,
)
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Asking
from tests.broker.watching import (
    LATE,
    Watch,
    after,
    handling,
    interrupt,
    send,
    waiting,
    when,
)

pytestmark = pytest.mark.kafka


@pytest.fixture
def tp(prokurist_topic: str) -> TopicPartition:
    """A partition of a topic of the test's own."""
    return TopicPartition(prokurist_topic, 0)


@pytest.fixture
def consumer(prokurist_kafka: RealKafka, tp: TopicPartition) -> Iterator[KafkaConsumer]:
    """A consumer in a group of its own, with its coordinator found."""
    with KafkaConsumer(bootstrap_servers=prokurist_kafka.bootstrap, group_id=tp.topic) as it:
        it.committed(tp, timeout=20)
        yield it


def test_what_is_committed_is_read_back(consumer: KafkaConsumer, tp: TopicPartition) -> None:
    """B33, B66, B67: offset, note and leader epoch; None where nothing is committed."""
    kept = OffsetAndMetadata(7, "a note", 0)
    other = TopicPartition(tp.topic, 5)
    consumer.commit_sync({tp: kept})
    assert consumer.committed([tp, other]) == {tp: kept, other: None}


def may_have_happened(consumer: KafkaConsumer, tp: TopicPartition, timeout: float) -> bool:
    """Whether a commit into silence may have."""
    with Watch(timeout), pytest.raises(TimeoutException) as caught:
        consumer.commit_sync({tp: OffsetAndMetadata(9)}, timeout=timeout)
    # Without an answer, or by a connection that has ended since.
    assert caught.value.may_have_happened == ("OffsetCommit to broker" in str(caught.value))
    return caught.value.may_have_happened


@pytest.mark.parametrize("fault", ["frozen", "swallowed"])
def test_silence_ends_at_the_deadline(
    consumer: KafkaConsumer,
    tp: TopicPartition,
    prokurist_kafka: RealKafka,
    eventually: Asking,
    fault: str,
) -> None:
    """B2, B8, B13, B22: on time, `may_have_happened` says what may be, and then it goes on."""
    if fault == "frozen":
        prokurist_kafka.freeze()
    else:
        prokurist_kafka.proxy().swallow("to_client")
    with Watch(0.5), pytest.raises(TimeoutException) as caught:
        consumer.committed(tp, timeout=0.5)
    assert not caught.value.may_have_happened
    # Not if the network thread had no moment in that time in which to write it.
    eventually(lambda: may_have_happened(consumer, tp, 0.3))
    with Watch(0.0), pytest.raises(TimeoutException):
        consumer.commit_sync({tp: OffsetAndMetadata(9)}, timeout=0)
    prokurist_kafka.heal()
    assert consumer.committed(tp, timeout=20) in ({tp: None}, {tp: OffsetAndMetadata(9)})


def test_a_late_answer_is_dropped_and_the_connection_kept(
    consumer: KafkaConsumer, tp: TopicPartition, prokurist_kafka: RealKafka
) -> None:
    """B3: no reconnect for a caller's impatience."""
    prokurist_kafka.freeze()
    before = prokurist_kafka.proxy().connections()
    with pytest.raises(TimeoutException):
        consumer.committed(tp, timeout=0.2)
    prokurist_kafka.thaw()
    assert consumer.committed(tp, timeout=20) == {tp: None}
    assert prokurist_kafka.proxy().connections() == before


def test_a_connection_that_is_cut_is_reopened(
    consumer: KafkaConsumer, tp: TopicPartition, prokurist_kafka: RealKafka
) -> None:
    """B72: the coordinator is found again, and the call succeeds within its time."""
    prokurist_kafka.proxy().reset()
    prokurist_kafka.heal()
    consumer.commit_sync({tp: OffsetAndMetadata(3)}, timeout=20)
    assert consumer.committed(tp) == {tp: OffsetAndMetadata(3)}


def test_a_broker_that_is_killed_and_comes_back(
    prokurist_own_kafka: RealKafka, eventually: Asking
) -> None:
    """B24, B134: on time while it is gone; nothing of that is committed; then it goes on."""
    kafka = prokurist_own_kafka
    kafka.create_topic("orders")
    tp = TopicPartition("orders", 0)
    with KafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id="g") as consumer:
        consumer.commit_sync({tp: OffsetAndMetadata(1)}, timeout=20)
        kafka.kill()
        # One may be written until the end of the connection is seen.
        eventually(lambda: not may_have_happened(consumer, tp, 0.4))
        assert not any(may_have_happened(consumer, tp, 0.4) for _ in range(2))
        kafka.restart()
        assert consumer.committed(tp, timeout=60) == {tp: OffsetAndMetadata(1)}


@pytest.mark.parametrize("timeout", [0, 0.5, 30])
def test_close_ends_in_time_with_the_broker_frozen(
    prokurist_kafka: RealKafka, tp: TopicPartition, eventually: Asking, timeout: float
) -> None:
    """B179, B181, B182, B190: by min(timeout, request.timeout.ms), and nothing is left."""
    consumer = KafkaConsumer(
        bootstrap_servers=prokurist_kafka.bootstrap,
        group_id=tp.topic,
        request_timeout_ms=1000,
    )
    consumer.committed(tp, timeout=20)
    prokurist_kafka.freeze()
    told: list[object] = []
    consumer.commit_async({tp: OffsetAndMetadata(1)}, lambda _, error: told.append(error))
    with Watch(0.0, min(timeout, 1.0) + LATE):
        consumer.close(timeout)
    assert [type(error) for error in told] == [errors.RetriableCommitFailedException]
    # Who closes waits for the thread no longer than he may.
    eventually(lambda: not consumer.health().alive)


def test_asynchronous_commits_arrive_in_order(
    consumer: KafkaConsumer, tp: TopicPartition
) -> None:
    """B35, B39: a hundred, and their callbacks in order before the synchronous one returns."""
    told: list[int] = []
    for offset in range(100):
        consumer.commit_async(
            {tp: OffsetAndMetadata(offset)}, lambda offsets, _: told.append(offsets[tp].offset)
        )
    consumer.commit_sync({tp: OffsetAndMetadata(100)}, timeout=20)
    assert told == list(range(100))
    assert consumer.committed(tp) == {tp: OffsetAndMetadata(100)}


def test_a_wakeup_from_another_thread(
    consumer: KafkaConsumer, tp: TopicPartition, prokurist_kafka: RealKafka
) -> None:
    """B169, B173: it ends the wait at once."""
    prokurist_kafka.freeze()
    with Watch(0.3), after(0.3, consumer.wakeup), pytest.raises(WakeupException):
        consumer.commit_sync({tp: OffsetAndMetadata(1)}, timeout=25)


def test_a_wakeup_from_a_signal_handler(
    consumer: KafkaConsumer, tp: TopicPartition, prokurist_kafka: RealKafka
) -> None:
    """B168: in the middle of a call of the thread that it interrupts, without a deadlock."""
    prokurist_kafka.freeze()
    with (
        Watch(0.0),
        handling(consumer.wakeup),
        when(waiting, send),
        pytest.raises(WakeupException),
    ):
        consumer.committed(tp, timeout=25)


def test_an_interrupt_from_the_keyboard(
    consumer: KafkaConsumer, tp: TopicPartition, prokurist_kafka: RealKafka
) -> None:
    """B174: Ctrl-C in a wait unwinds at once, and the consumer can be closed."""
    prokurist_kafka.freeze()
    # Wherever this thread is by then: else it would end the test run.
    with pytest.raises(KeyboardInterrupt), Watch(0.3), after(0.3, interrupt):
        consumer.committed(tp, timeout=25)
    with Watch(0.0):
        consumer.close(0)


def test_a_copy_in_a_child_process_is_refused_without_side_effects(
    prokurist_kafka: RealKafka, tp: TopicPartition
) -> None:
    """CONTRACT, rule 1: ForkedClientError in the child; the parent's connections live on."""
    code = """
import os, sys
from prokurist import KafkaConsumer, TopicPartition, errors
tp = TopicPartition(sys.argv[2], 0)
with KafkaConsumer(bootstrap_servers=sys.argv[1], group_id="fork") as consumer:
    consumer.committed(tp, timeout=20)
    child = os.fork()
    if child == 0:
        try:
            consumer.committed(tp)
        except errors.ForkedClientError:
            pass
        else:
            os._exit(8)
        if consumer.health().alive:
            os._exit(9)
        try:
            consumer.metrics()
        except errors.ForkedClientError:
            os._exit(7)
        os._exit(8)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    consumer.committed(tp, timeout=20)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code,
         prokurist_kafka.bootstrap, tp.topic],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_script_that_never_closes_its_consumer_ends(
    prokurist_kafka: RealKafka, tp: TopicPartition
) -> None:
    """CONTRACT, rule 11: interpreter exit is not held up, and says nothing."""
    code = """
import sys
from prokurist import KafkaConsumer, TopicPartition
consumer = KafkaConsumer(bootstrap_servers=sys.argv[1], group_id="exit")
consumer.committed(TopicPartition(sys.argv[2], 0), timeout=20)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, prokurist_kafka.bootstrap, tp.topic],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_consumer_that_is_forgotten_ends_its_thread(
    prokurist_kafka: RealKafka, tp: TopicPartition
) -> None:
    """CONTRACT, rule 11: collection gives a ResourceWarning, and closes what was open."""
    before = threading.enumerate()  # Of clients that others have open, or are closing.
    consumer = KafkaConsumer(bootstrap_servers=prokurist_kafka.bootstrap, group_id=tp.topic)
    consumer.committed(tp, timeout=20)
    (thread,) = (
        each
        for each in threading.enumerate()
        if each.name.endswith("-network") and each not in before
    )
    holder = [consumer]
    del consumer
    with pytest.warns(ResourceWarning, match="never closed"):
        holder.clear()
    thread.join(60)
    assert not thread.is_alive()


def test_a_bootstrap_list_with_a_bad_name_works_with_the_good_one(
    prokurist_kafka: RealKafka, tp: TopicPartition
) -> None:
    """An unknown name and a closed port are passed over."""
    servers = f"no-such-host.invalid:9092,127.0.0.1:1,{prokurist_kafka.bootstrap}"
    with KafkaConsumer(bootstrap_servers=servers, group_id=tp.topic) as consumer:
        assert consumer.committed(tp, timeout=60) == {tp: None}


def test_thousands_of_calls_that_time_out_leave_nothing(
    consumer: KafkaConsumer,
    tp: TopicPartition,
    prokurist_kafka: RealKafka,
    eventually: Asking,
) -> None:
    """B24, B69: no thread, no socket, no pending call."""
    prokurist_kafka.freeze()
    process = psutil.Process()
    threads, files = process.num_threads(), process.num_fds()
    for _ in range(2000):
        with pytest.raises(TimeoutException):
            consumer.committed(tp, timeout=0.001)
    assert process.num_threads() <= threads
    assert process.num_fds() <= files
    eventually(lambda: consumer.health().waiting_calls == 0)
