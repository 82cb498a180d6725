"""How fast records are read: ours beside other clients, every value looked at.

A real Kafka on the same machine, six partitions, values of 100 bytes and of 1 KiB, in
batches of 256 KiB. Each client runs in a process of its own (clients/reading.py,
java/Reading.java); they take turns, round by round, and the median of each one's rounds
is told, since the machine is shared. Ratios are those to the first client.

    python benchmarks/consume.py [--mib N] [--rounds N] [--sizes 100 1024]
                                 [--codecs none lz4] [--only NAME ...] [--json FILE]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from random import Random

import confluent_kafka
from conditions import machine, show
from peers import HERE, Missing, java_program

from prokurist.testing.kafka import KafkaUnavailable, RealKafka

PARTITIONS = 6
PARTS = 12  # so does clients/reading.py

CLIENTS = (
    "prokurist, poll(500)",
    "prokurist, poll(10000)",
    "prokurist, columns",
    "prokurist, iteration",
    "prokurist, next()",
    "prokurist, pure",
    "confluent-kafka, tuned",
    "confluent-kafka",
    "Java classic",
    "aiokafka",
    "kafka-python",
    "raw pull",
)

Figures = Mapping[str, float]
"""Records per second, CPU seconds per million records, and MiB."""


def main() -> None:
    """Fill topics, let the clients take turns, and print tables."""
    asked = arguments()
    tables: dict[str, dict[str, Figures | str]] = {}
    with tempfile.TemporaryDirectory() as classes, RealKafka() as kafka:
        java = java_reading(Path(classes))
        for size in asked.sizes:
            for codec in asked.codecs:
                name = f"{size} B, {codec}"
                tables[name] = of_topic(kafka, size, codec, asked, java)
                present(name, tables[name])
    if asked.json:
        Path(asked.json).write_text(json.dumps(tables, indent=2) + "\n")


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=200, help="values in each topic")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1024])
    parser.add_argument("--codecs", nargs="+", default=["none", "lz4"])
    parser.add_argument("--only", nargs="+", default=list(CLIENTS), choices=CLIENTS)
    parser.add_argument("--json")
    return parser.parse_args()


def java_reading(classes: Path) -> tuple[str, ...] | None:
    """How Java's program is run; None, with a line that says why, where it cannot be."""
    try:
        return java_program(classes, "Reading")
    except (Missing, KafkaUnavailable) as why:
        show(f"left out: Java's consumer, {why}")
        return None


def of_topic(
    kafka: RealKafka,
    size: int,
    codec: str,
    asked: argparse.Namespace,
    java: tuple[str, ...] | None,
) -> dict[str, Figures | str]:
    """The medians of each client, or why there are none."""
    topic = kafka.unique_topic(partitions=PARTITIONS)
    count = (asked.mib << 20) // size // PARTS * PARTS
    fill(kafka.bootstrap, topic, count, size, codec)
    rounds: dict[str, list[Figures]] = {}
    failed: dict[str, str] = {}
    for _ in range(asked.rounds):
        for name in asked.only:
            command = (sys.executable, str(HERE / "clients" / "reading.py"), name)
            if name == "Java classic":
                if java is None:
                    continue
                command = java
            outcome = one((*command, kafka.bootstrap, topic, str(count), str(size)), name)
            print(f"{name}: {outcome}", file=sys.stderr, flush=True)
            if isinstance(outcome, str):
                failed[name] = outcome
            else:
                rounds.setdefault(name, []).append(outcome)
    kafka.delete_topic(topic)
    medians = {
        name: {key: statistics.median(each[key] for each in of) for key in of[0]}
        for name, of in rounds.items()
    }
    return {name: medians.get(name, failed.get(name, "left out")) for name in asked.only}


def fill(bootstrap: str, topic: str, count: int, size: int, codec: str) -> None:
    """Write records to all partitions alike; no two values are the same.

    One half of each is random, so that compression makes half of them.
    """
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            "linger.ms": 100,
            "batch.size": 262144,
            "batch.num.messages": 100000,
            "queue.buffering.max.messages": 500000,
        }
    )
    random = Random(size)  # noqa: S311 - it has to compress badly, no more
    plain = bytes(nth % 251 for nth in range((size - 8) // 2))
    other = size - 8 - len(plain)
    for nth in range(count):
        value = nth.to_bytes(8, "big") + plain + random.randbytes(other)
        while True:
            try:
                producer.produce(topic, value, partition=nth % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.05)
    producer.flush(120)


def one(command: tuple[str, ...], name: str) -> Figures | str:
    """One client's figures, or why there are none."""
    twin = "python" if name == "prokurist, pure" else ""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**os.environ, "PROKURIST_IMPL": twin},
        )
    except subprocess.TimeoutExpired:
        return "did not end within 5 minutes"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1] if done.stderr else "failed"
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def present(name: str, rows: Mapping[str, Figures | str]) -> None:
    """One table."""
    show(f"\n{name} ({machine()})\n")
    show("| client | records/s | ratio | CPU s per million | peak MiB |")
    show("|---|--:|--:|--:|--:|")
    first = next((row["rate"] for row in rows.values() if not isinstance(row, str)), 1.0)
    for client, row in rows.items():
        if isinstance(row, str):
            show(f"| {client} | {row[:60]} | | | |")
        else:
            ratio = f"{first / row['rate']:.2f}"
            figures = f"{row['cpu']:.2f} | {row['peak']:.0f}"
            show(f"| {client} | {row['rate']:,.0f} | {ratio} | {figures} |")


if __name__ == "__main__":
    main()
