"""Who waits while records are read flat out: another thread, and a commit.

A real Kafka on the same machine, six partitions. The main thread polls without a pause
and looks at every value. A second thread sleeps for 5 ms again and again, and notes how
late it wakes. Every 200 polls the main thread commits what it was given, with
`commit_sync`. Beside each stands the same with nothing being read (B270).

    python benchmarks/fairness.py [--seconds N] [--sizes 100 1024] [--keep]
"""

import argparse
import threading
import time
from collections.abc import Callable

import taking_part
from conditions import milliseconds
from data_files import Conditions, Table, keep, show
from reading import PARTITIONS, fill

from prokurist import KafkaConsumer, TopicPartition
from prokurist.testing.kafka import RealKafka

NAP = 0.005
COMMIT_EVERY = 200
MIB = 60


def main() -> None:
    """Fill topics, read them over and over, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1024])
    parser.add_argument("--keep", action="store_true", help="as data of the pages")
    asked = parser.parse_args()
    conditions = Conditions()
    figures: dict[str, dict[str, dict[str, float]]] = {}
    with RealKafka() as kafka:
        for size in asked.sizes:
            topic = kafka.unique_topic(partitions=PARTITIONS)
            fill(kafka.bootstrap, topic, (MIB << 20) // size, size, "none")
            for reads in (False, True):
                name = f"{size} B, {'flat out' if reads else 'nothing read'}"
                figures[name] = measured(kafka.bootstrap, topic, asked.seconds, reads=reads)
    columns = "", "thread late p50", "p95", "max", "commit p50", "p95", "max"
    rows = []
    for name, row in figures.items():
        cells = [
            row[who][what] for who in ("thread", "commit") for what in ("p50", "p95", "max")
        ]
        rows.append((name, *(f"{each:.1f}" for each in cells)))
    how = (
        f"How late a second thread wakes from naps of {1000 * NAP:.0f} ms, and how long a "
        f"`commit_sync` takes, milliseconds; {asked.seconds:.0f} s of each"
    )
    table = Table(how, columns, rows)
    show("who waits", table)
    if asked.keep:
        told = conditions.told() | {"kafka": kafka.version}
        keep("fairness", {"who waits": table}, taking_part.of_ours(), told)


def measured(
    bootstrap: str, topic: str, seconds: float, *, reads: bool
) -> dict[str, dict[str, float]]:
    """How late the second thread was, and how long commits took."""
    partitions = [TopicPartition(topic, each) for each in range(PARTITIONS)]
    commits: list[float] = []
    with KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id="fairness",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        consumer.assign(partitions)
        consumer.poll(10.0)
        consumer.commit_sync()
        over = threading.Event()
        late: list[float] = []
        napper = threading.Thread(target=naps, args=(over, late))
        napper.start()
        try:
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                if reads:
                    read(consumer, partitions)
                else:
                    time.sleep(0.1)
                commits.append(took(consumer.commit_sync))
        finally:
            over.set()
            napper.join()
    return {"thread": milliseconds(late), "commit": milliseconds(commits)}


def read(consumer: KafkaConsumer, partitions: list[TopicPartition]) -> None:
    """Read for a while, from the beginning again where the end has come."""
    for _ in range(COMMIT_EVERY):
        values = [record.value for record in consumer.poll(0.05)]
        if not sum(len(value or b"") for value in values):
            consumer.seek_to_beginning(partitions)


def naps(over: threading.Event, late: list[float]) -> None:
    """Sleep again and again, and note how late each sleep ends."""
    while not over.is_set():
        late.append(took(lambda: time.sleep(NAP)) - NAP)


def took(what: Callable[[], object]) -> float:
    """How many seconds it takes."""
    began = time.perf_counter()
    what()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
