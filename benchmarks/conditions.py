"""What calls are measured under: faults of the broker, and a process that is busy.

Thread: the main one, but for those that `burning` starts.
"""

import gc
import os
import statistics
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prokurist.testing.kafka import RealKafka

TOPIC = "orders"

Fault = Callable[["RealKafka"], AbstractContextManager[object]]


@contextmanager
def frozen(kafka: "RealKafka") -> Iterator[None]:
    """The broker stopped by SIGSTOP: its sockets stay open, and nothing is answered."""
    kafka.freeze()
    try:
        yield
    finally:
        kafka.thaw()


def swallowed(kafka: "RealKafka") -> AbstractContextManager[object]:
    """The broker awake and its answers lost on the way."""
    return kafka.proxy().swallow("to_client")


FAULTS: dict[str, Fault] = {"frozen": frozen, "swallowed": swallowed}


@contextmanager
def burning(threads: int) -> Iterator[None]:
    """Threads of this process that never give up the interpreter by themselves."""
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


def full_collections() -> int:
    """How many full garbage collections this process has made."""
    return int(gc.get_stats()[2]["collections"])


def milliseconds(spans: Sequence[float]) -> dict[str, float]:
    """How a sample is distributed, in milliseconds."""
    ordered = sorted(spans)
    return {
        "p50": 1000 * statistics.median(ordered),
        "p95": 1000 * ordered[int(len(ordered) * 0.95)],
        "p99.9": 1000 * ordered[int(len(ordered) * 0.999)],
        "max": 1000 * ordered[-1],
    }


def compiled(folder: Path) -> dict[str, str]:
    """The environment of a process whose imports leave bytecode, and find it the next time.

    As it is where packages were installed, and not where a checkout is run or where a user
    has forbidden to write any.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def topic_with_records(kafka: "RealKafka") -> None:
    """The topic that all of them read, with records, so that there is what to commit."""
    kafka.create_topic(TOPIC)
    try:
        import confluent_kafka  # noqa: PLC0415 - of the clients that need not be there
    except ImportError:
        show("left out: the records, since confluent-kafka is not installed")
        return
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.direct_bootstrap})
    for number in range(1000):
        producer.produce(TOPIC, str(number))
    producer.flush(30)


def show(line: str) -> None:
    """Print a line, at once."""
    print(line, flush=True)
