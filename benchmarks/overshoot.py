"""How late calls end: elapsed time minus deadline, with a broker that does not answer.

Two faults: a real broker frozen by SIGSTOP, and a proxy that swallows what the
broker answers. Two processes: an idle one, and one with two threads that burn
bytecode. Ours: eight consumers, each call with a deadline of 50 to 200 ms, and
`close`. Peers: the same calls, asked to end after 2 s where they can be asked, a
few samples in the first condition, watched for 45 s.

    python benchmarks/overshoot.py [--calls N] [--no-peers] [--json FILE]
"""

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random

from prokurist import KafkaConsumer, OffsetAndMetadata, TimeoutException, TopicPartition
from prokurist.testing.kafka import RealKafka

TP = TopicPartition("orders", 0)
CONSUMERS = 8
LIMIT = 45.0

PEERS = {
    ("confluent-kafka", "commit_sync"): """
from confluent_kafka import Consumer, TopicPartition
c = Consumer({"bootstrap.servers": BOOTSTRAP, "group.id": "ck", "log_level": 0})
tp = TopicPartition("orders", 0, 1)
c.commit(offsets=[tp], asynchronous=False)
ready()
c.commit(offsets=[tp], asynchronous=False)
""",
    ("confluent-kafka", "committed"): """
from confluent_kafka import Consumer, TopicPartition
c = Consumer({"bootstrap.servers": BOOTSTRAP, "group.id": "ck", "log_level": 0})
tp = TopicPartition("orders", 0, 1)
c.committed([tp], timeout=10)
ready()
c.committed([tp], timeout=2)
""",
    ("confluent-kafka", "close"): """
from confluent_kafka import Consumer, TopicPartition
c = Consumer({"bootstrap.servers": BOOTSTRAP, "group.id": "ck", "log_level": 0})
tp = TopicPartition("orders", 0, 1)
c.assign([tp]); c.poll(0.5); c.commit(offsets=[tp], asynchronous=False)
ready()
c.close()
""",
    ("kafka-python", "commit_sync"): """
from kafka import KafkaConsumer, TopicPartition, OffsetAndMetadata
c = KafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id="kp")
o = {TopicPartition("orders", 0): OffsetAndMetadata(1, "", -1)}
c.commit(o)
ready()
c.commit(o, timeout_ms=2000)
""",
    ("kafka-python", "committed"): """
from kafka import KafkaConsumer, TopicPartition
c = KafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id="kp")
c.committed(TopicPartition("orders", 0))
ready()
c.committed(TopicPartition("orders", 0), timeout_ms=2000)
""",
    ("kafka-python", "close"): """
from kafka import KafkaConsumer, TopicPartition, OffsetAndMetadata
c = KafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id="kp")
c.assign([TopicPartition("orders", 0)])
c.commit({TopicPartition("orders", 0): OffsetAndMetadata(1, "", -1)})
ready()
c.close(timeout_ms=2000)
""",
}
"""What each peer does: prepare with the broker awake, say so, then make the call."""

FRAME = """
import sys, time
BOOTSTRAP = sys.argv[1]
def ready():
    global began
    print("ready", flush=True); sys.stdin.readline(); began = time.monotonic()
try:
    exec({body!r})
except Exception as error:
    print(type(error).__name__, file=sys.stderr)
print(time.monotonic() - began, flush=True)
import os; os._exit(0)
"""


def show(line: str) -> None:
    """Print a line, at once."""
    print(line, flush=True)


@contextmanager
def burning(threads: int) -> Iterator[None]:
    """Threads that never give up the interpreter by themselves."""
    over = threading.Event()

    def burn() -> None:
        while not over.is_set():
            sum(range(2000))

    workers = [threading.Thread(target=burn, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        over.set()
        for worker in workers:
            worker.join()


@contextmanager
def frozen(kafka: RealKafka) -> Iterator[None]:
    """The broker stopped."""
    kafka.freeze()
    try:
        yield
    finally:
        kafka.thaw()


@contextmanager
def swallowed(kafka: RealKafka) -> Iterator[None]:
    """The broker awake, its answers lost."""
    with kafka.proxy().swallow("to_client"):
        yield


def overshoots(consumer: KafkaConsumer, calls: int, seed: int) -> list[float]:
    """How late each of some calls ended."""
    random = Random(seed)  # noqa: S311 - which deadlines are drawn is no secret
    late = []
    for number in range(calls):
        timeout = random.uniform(0.05, 0.2)
        began = time.monotonic()
        try:
            if number % 2:
                consumer.commit_sync({TP: OffsetAndMetadata(number)}, timeout)
            else:
                consumer.committed(TP, timeout)
        except TimeoutException:
            late.append(time.monotonic() - began - timeout)
    return late


def ours(
    bootstrap: str, calls: int, fault: Callable[[], object], threads: int
) -> dict[str, object]:
    """Our figures in one condition, in milliseconds."""
    consumers = [
        KafkaConsumer(bootstrap_servers=bootstrap, group_id=f"ours-{number}")
        for number in range(CONSUMERS)
    ]
    for consumer in consumers:
        consumer.committed(TP)
    late: list[float] = []
    closing: list[float] = []
    with fault(), burning(threads):  # type: ignore[attr-defined]
        processor = time.process_time()
        began = time.monotonic()
        each = -(-calls // CONSUMERS)

        def work(consumer: KafkaConsumer, seed: int) -> None:
            late.extend(overshoots(consumer, each, seed))

        workers = [threading.Thread(target=work, args=pair) for pair in zip(consumers, count())]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        busy = (time.process_time() - processor) / (time.monotonic() - began)
        time.sleep(0.05)  # The network side ends a call a moment after its caller has left.
        pending = sum(consumer.health().waiting_calls for consumer in consumers)
        for consumer in consumers:
            began = time.monotonic()
            consumer.close(0.2)
            closing.append(max(0.0, time.monotonic() - began - 0.2))
    late.sort()
    return {
        "calls": len(late),
        "p50": 1000 * statistics.median(late),
        "p95": 1000 * late[int(len(late) * 0.95)],
        "p99.9": 1000 * late[int(len(late) * 0.999)],
        "max": 1000 * late[-1],
        "close max": 1000 * max(closing),
        "cpu % a consumer": None if threads else 100 * busy / CONSUMERS,
        "pending": pending,
    }


def peer(kafka: RealKafka, body: str) -> float | None:
    """Seconds until a peer's call ended; None if it did not within the limit."""
    process = subprocess.Popen(
        [sys.executable, "-c", FRAME.format(body=body), kafka.bootstrap],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("no pipes to the peer")
    try:
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError("the peer could not prepare")
        with frozen(kafka):
            process.stdin.write("\n")
            process.stdin.flush()
            try:
                printed, _ = process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                return None
            return float(printed.split()[-1])
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=2000, help="of ours, in each condition")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result: dict[str, object] = {}
    with RealKafka() as kafka:
        kafka.create_topic("orders")
        show("prokurist: milliseconds behind the deadline")
        for fault_name, fault in (("frozen", frozen), ("swallowed", swallowed)):
            for threads in (0, 2):
                name = f"{fault_name}, {'busy' if threads else 'idle'} process"
                row = ours(kafka.bootstrap, options.calls, lambda f=fault: f(kafka), threads)
                result[name] = row
                show(
                    f"  {name:26} "
                    + "  ".join(
                        f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}"
                        for k, v in row.items()
                        if v is not None
                    )
                )
        if not options.no_peers:
            show(f"peers: seconds until it ended; 2 s asked where one can, limit {LIMIT:.0f}")
            for (client, call), body in PEERS.items():
                seconds = peer(kafka, body)
                result[f"{client} {call}"] = seconds
                show(
                    f"  {client:16} {call:12} {'> 45' if seconds is None else f'{seconds:.3f}'}"
                )
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
