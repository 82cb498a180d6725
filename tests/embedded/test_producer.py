"""A producer over real sockets: stuck threads, forks, and the interpreter's end."""

import gc
import statistics
import subprocess
import sys
import threading
import time

import pytest

from prokurist import KafkaProducer, TopicPartition
from prokurist.events.accumulator.implementation import CHOICE
from prokurist.testing.broker import EmbeddedBroker
from tests.stopwatch import undisturbed

TP = TopicPartition("orders", 0)
LATE = 8.0
"""Far above anything measured, on a machine that is shared."""

SENDING = """
import logging, os, signal, sys, threading, time
from prokurist import KafkaProducer, errors
logging.basicConfig(level=logging.ERROR, format="%(message)s")
producer = KafkaProducer(bootstrap_servers=sys.argv[1], linger_ms=60_000)
producer.partitions_for("orders")
"""


def ended(broker: EmbeddedBroker, code: str) -> tuple[int, str, list[str]]:
    """Run a program to its end: its code, what it wrote to stderr, and what to stdout."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", SENDING + code,
         broker.bootstrap],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr, done.stdout.splitlines()


def count(broker: EmbeddedBroker) -> int:
    """How many records there are."""
    return sum(broker.offsets(TopicPartition("orders", number))[1] for number in range(3))


def test_send_does_not_wait_for_a_network_thread_that_is_stuck(
    prokurist_broker: EmbeddedBroker,
) -> None:
    """P1: on known metadata it returns within a millisecond."""
    go_on, stuck = threading.Event(), threading.Event()

    def sticks(*_: object) -> None:
        stuck.set()
        assert go_on.wait(60.0)

    def scene() -> None:
        took = []
        for _ in range(2000):
            began = time.perf_counter()
            producer.send("orders", b"x" * 100)
            took.append(time.perf_counter() - began)
        assert statistics.median(took) < 0.0001
        # The machine may have stopped this thread now and then: not in one of a hundred.
        assert sorted(took)[-len(took) // 100] < 0.001

    with KafkaProducer(bootstrap_servers=prokurist_broker.bootstrap, linger_ms=0) as producer:
        producer.send("orders", b"first", on_delivery=sticks)
        assert stuck.wait(30.0)
        try:
            undisturbed(scene)
        finally:
            go_on.set()
        producer.flush(30.0)


@pytest.mark.parametrize("busy", [False, True])
def test_a_copy_in_a_child_process_is_refused(
    prokurist_broker: EmbeddedBroker,
    busy: bool,  # noqa: FBT001 - a parameter of a test
) -> None:
    """ForkedClientError from every call, and a probe says that its thread is not there.

    Regardless of other threads; the parent delivers.
    """
    code = f"""
over = threading.Event()
def sending():
    while not over.is_set():
        producer.send("orders", b"x" * 10_000)
threads = [threading.Thread(target=sending) for _ in range({3 if busy else 0})]
for each in threads:
    each.start()
delivery = producer.send("orders", b"v", partition=0)
calls = [
    lambda: producer.send("orders", b"v"),
    lambda: producer.send("orders", b"v", partition=0),
    lambda: producer.send("unknown", b"v"),
    lambda: producer.send_many("orders", [b"v"]),
    lambda: delivery.result(5.0),
    lambda: delivery.result(),
    lambda: delivery.exception(5.0),
    lambda: producer.flush(5.0),
    lambda: producer.purge(),
    lambda: producer.partitions_for("orders", 5.0),
    lambda: producer.close(5.0),
]
for _ in range({10 if busy else 2}):
    delivery = producer.send("orders", b"v", partition=0)
    child = os.fork()
    if child == 0:
        for number, call in enumerate(calls):
            if delivery.done() and 4 <= number <= 6:
                continue
            try:
                call()
            except errors.ForkedClientError:
                continue
            os._exit(10 + number)
        if producer.health().alive:
            os._exit(6)
        sys.exit(7)
    found = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert found == 7, found
over.set()
for each in threads:
    each.join()
producer.flush(30.0)
assert delivery.result(0).partition == 0
assert producer.close(5.0) == 0
"""
    assert ended(prokurist_broker, code) == (0, "", [])


def test_what_a_copy_in_a_child_process_tells_waits_for_no_lock(
    prokurist_broker: EmbeddedBroker,
) -> None:
    """CONTRACT, rule 1: the thread that held the lock at the fork is not there."""
    code = """
from prokurist.application.open_clients import OPEN
held, over = threading.Event(), threading.Event()
def hold():
    with producer._accumulator.appender.lock:
        held.set()
        over.wait(30.0)
holder = threading.Thread(target=hold)
holder.start()
assert held.wait(30.0)
child = os.fork()
if child == 0:
    signal.alarm(10)
    if OPEN.all() or producer.health().alive:
        os._exit(1)
    try:
        producer.metrics()
    except errors.ForkedClientError:
        os._exit(7)
    os._exit(2)
found = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
over.set()
holder.join()
assert found == 7, found
assert producer.health().alive
assert producer.metrics()
assert producer.close(5.0) == 0
"""
    assert ended(prokurist_broker, code) == (0, "", [])


def test_a_copy_in_a_child_process_runs_no_code_of_its_user(
    prokurist_broker: EmbeddedBroker,
) -> None:
    """ForkedClientError at once, also where a partitioner wants a topic that is not known."""
    code = """
told = []
def serialize(value):
    told.append(value)
    return value
with KafkaProducer(
    bootstrap_servers=sys.argv[1], value_serializer=serialize,
    partitioner_class=lambda *_: 0,
) as other:
    child = os.fork()
    if child == 0:
        began = time.monotonic()
        for call in (
            lambda: other.send("unknown", b"v"),
            lambda: other.send_many("unknown", [b"v"]),
        ):
            try:
                call()
            except errors.ForkedClientError:
                continue
            os._exit(2)
        os._exit(0 if time.monotonic() - began < 5.0 and not told else 1)
    found = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert found == 0, found
"""
    assert ended(prokurist_broker, code) == (0, "", [])


def test_a_program_that_ends_flushes(prokurist_broker: EmbeddedBroker) -> None:
    """P51: what lingers is delivered, and nothing is said."""
    code = """
for each in range(10):
    producer.send("orders", b"%d" % each)
"""
    assert ended(prokurist_broker, code) == (0, "", [])
    assert count(prokurist_broker) == 10


def test_a_program_that_fails_flushes_too(prokurist_broker: EmbeddedBroker) -> None:
    """P51: what was sent was meant to be sent."""
    code, said, _ = ended(prokurist_broker, 'producer.send("orders", b"v")\n1 / 0')
    assert code == 1
    assert said.rstrip().endswith("ZeroDivisionError: division by zero")
    assert count(prokurist_broker) == 1


def test_a_silent_broker_holds_no_program_up(prokurist_broker: EmbeddedBroker) -> None:
    """P51: for a second at most, and then the log tells how many were given up."""
    code = """
print("ready", flush=True)
sys.stdin.readline()
for each in range(10):
    producer.send("orders", b"%d" % each)
print(time.monotonic())
"""
    with subprocess.Popen(
        [sys.executable, "-c", SENDING + code, prokurist_broker.bootstrap],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as program:  # fmt: skip
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        with prokurist_broker.freeze():
            out, said = program.communicate("go\n", timeout=60.0)
        took = time.monotonic() - float(out)
    assert program.returncode == 0
    assert "closed with 10 records undelivered" in said
    assert 0.5 < took < 1.0 + LATE


@pytest.mark.skipif(CHOICE.name != "native", reason="a handle of Python's is an object more")
def test_handles_that_are_kept_are_no_work_for_the_collector(
    prokurist_broker: EmbeddedBroker,
) -> None:
    """P14: what a full collection looks at does not grow with them."""
    with KafkaProducer(bootstrap_servers=prokurist_broker.bootstrap) as producer:
        producer.send("orders", b"v").result(30.0)
        gc.collect()
        before = len(gc.get_objects())
        handles = [producer.send("orders", b"v") for _ in range(100_000)]
        producer.flush(60.0)
        assert all(each.offset is not None for each in handles)
        gc.collect()
        assert len(gc.get_objects()) - before < len(handles) / 50
