"""Parallel work with a real Kafka: processes that are killed, and a ledger of what they did."""

import os
import secrets
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from prokurist import KafkaConsumer, TopicPartition
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Producing
from tests.documents import ROOT

pytestmark = pytest.mark.kafka

PARTITIONS: Final = 3
RECORDS: Final = 600
KEYS: Final = 17
BOTH = pytest.mark.parametrize("protocol", ["classic", "consumer"])

WORKER = """
import os, signal, sys, threading, time
from prokurist import KafkaConsumer
from prokurist.parallel import Retries, Workers

bootstrap, group, topic, path, protocol = sys.argv[1:]
ledger = os.open(path, os.O_WRONLY | os.O_APPEND)
failed = set()

def note(what, record):
    key = bytes(record.key).decode()
    line = f"{what} {record.partition} {record.offset} {key} {os.getpid()}\\n"
    os.write(ledger, line.encode())

def handle(record):
    note("begins", record)
    time.sleep(record.offset * 7919 % 40 / 1000)
    if record.offset % 50 == 7 and record.offset not in failed:
        failed.add(record.offset)
        raise OSError("away")
    note("done", record)

stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
keys = {"partition.assignment.strategy": "cooperative-sticky"} if protocol == "classic" else {}
with KafkaConsumer(
    {"bootstrap.servers": bootstrap, "group.id": group, "group.protocol": protocol, **keys},
    auto_offset_reset="earliest",
    enable_auto_offset_store=False,
    auto_commit_interval_ms=200,
    max_poll_records=50,
) as consumer:
    workers = Workers(
        consumer, topic, handle, threads=6, retries=Retries(3, 0.2), max_outstanding=100
    )
    workers.run(stop)
"""


def until(is_so: Callable[[], object], seconds: float = 180.0) -> None:
    """Wait until something is so, on a machine that is ten times slower than this one, too."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def entries(ledger: Path) -> list[tuple[str, int, int, str, int]]:
    """The ledger's complete lines, in the order in which they were written."""
    whole = ledger.read_text().rpartition("\n")[0]
    rows = (line.split() for line in whole.splitlines())
    return [(what, int(tp), int(at), key, int(pid)) for what, tp, at, key, pid in rows]


def done(ledger: Path) -> set[tuple[int, int]]:
    """The records that are done."""
    return {(tp, at) for what, tp, at, _, _ in entries(ledger) if what == "done"}


def faults(ledger: Path) -> list[str]:
    """Records that have begun before those of their key before them were done."""
    keyed: dict[tuple[int, str], set[int]] = defaultdict(set)
    ended: set[tuple[int, int]] = set()
    found = []
    for what, tp, at, key, pid in entries(ledger):
        keyed[tp, key].add(at)
        if what == "done":
            ended.add((tp, at))
        elif not {(tp, each) for each in keyed[tp, key] if each < at} <= ended:
            found.append(f"{pid} began {tp} @ {at} of {key} too early")
    return found


@BOTH
def test_processes_that_are_killed(
    prokurist_kafka: RealKafka, producer_of: Producing, protocol: str, tmp_path: Path
) -> None:
    """B877, B878: each record is done, in order of its key; what is committed was done."""
    topic = prokurist_kafka.unique_topic(partitions=PARTITIONS)
    group = f"g-{secrets.token_hex(6)}"
    producer = producer_of(prokurist_kafka.bootstrap)
    for nth in range(RECORDS):
        producer.produce(topic, b"%d" % nth, b"%d" % (nth % KEYS), partition=nth % PARTITIONS)
    assert producer.flush(60) == 0
    ledger = tmp_path / "ledger"
    ledger.touch()
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]

    with ExitStack() as stack:

        def begin() -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-c", WORKER, prokurist_kafka.bootstrap),
                    *(group, topic, str(ledger), protocol),
                ],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        observer = stack.enter_context(
            KafkaConsumer(bootstrap_servers=prokurist_kafka.bootstrap, group_id=group)
        )

        def check_commits() -> int:
            committed = observer.committed(partitions, 60.0)
            # Read after the commits: what they cover stands in it by then.
            ended = done(ledger)
            total = 0
            for tp, at in committed.items():
                total += at.offset if at is not None else 0
                for offset in range(at.offset if at is not None else 0):
                    assert (tp.partition, offset) in ended
            return total

        first = begin()
        until(lambda: len(done(ledger)) > 50)
        second = begin()
        until(lambda: len({pid for *_, pid in entries(ledger)}) == 2 or len(done(ledger)) > 400)
        first.kill()
        first.wait()
        check_commits()
        third = begin()
        until(lambda: len(done(ledger)) == RECORDS)
        until(lambda: check_commits() == RECORDS)
        for each in (second, third):
            each.terminate()
            assert each.wait(60.0) == 0
    assert not faults(ledger)
