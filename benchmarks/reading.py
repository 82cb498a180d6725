"""Topics to read, and how each client is run through one: shared by what measures reading.

Every client is a fresh process that reads a topic once and looks at every value
(clients/straight.py, java/Reading.java). Ours runs as it comes. Of the others two or three
settings of their queues and batches are tried, as their documents advise who wants throughput.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import confluent_kafka
from conditions import show
from data_files import Client, release
from peers import COLLECTOR, HERE, JAVA, Missing, java_program
from turns import Figures, Turn, figures_of

from prokurist.testing.kafka import KafkaUnavailable

PARTITIONS = 6
WITHIN = 300.0
OURS = "prokurist"
PURE = "prokurist, pure Python"
COLD, WARM = "cold", "warm"

SETTINGS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    OURS: {"": {}},
    PURE: {"": {}},
    "confluent-kafka": {
        "": {},
        "deep queue": {
            "queued.min.messages": 1_000_000,
            "queued.max.messages.kbytes": 262_144,
            "fetch.message.max.bytes": 4_194_304,
        },
        "endless queue": {
            "queued.min.messages": 10_000_000,
            "queued.max.messages.kbytes": 2_097_151,
        },
        "short back-off": {"queued.min.messages": 200_000, "fetch.queue.backoff.ms": 10},
    },
    "Java": {
        "": {},
        "calls of 10 000": {"max.poll.records": 10_000},
        "fetches of 4 MiB": {"max.partition.fetch.bytes": 4_194_304},
    },
    "aiokafka": {
        "": {},
        "fetches of 4 MiB": {"max.partition.fetch.bytes": 4_194_304},
    },
    "kafka-python": {
        "": {},
        "calls of 10 000": {"max.poll.records": 10_000},
    },
    "raw pull": {"": {}},
}
"""Each client's settings."""

WHY: Mapping[str, str] = {
    OURS: "as it comes: what a user has who sets nothing",
    PURE: "as it comes, with `PROKURIST_IMPL=python`: no compiled code",
    "confluent-kafka": "as it comes",
    "confluent-kafka, deep queue": (
        "a queue that its fetches seldom fill, and larger ones: when it is full, librdkafka "
        "waits for a second before it fetches again"
    ),
    "confluent-kafka, endless queue": (
        "the largest queue there can be, which its maintainers propose where fetching pauses; "
        "the price is memory"
    ),
    "confluent-kafka, short back-off": (
        "the wait behind a full queue cut to 10 ms, as its documents propose"
    ),
    "Java": f"as it comes; `{COLLECTOR}` always, the fastest of three collectors",
    "aiokafka": "as it comes",
    "kafka-python": "as it comes",
    "raw pull": (
        "no client: one blocking socket, room for 32 MiB, nothing is decoded; what broker and "
        "machine give"
    ),
}
LARGER = "fewer and larger steps, as documents of Kafka advise for throughput"

PACKAGES = {"Java": JAVA, PURE: OURS, "raw pull": "–"}


class Reader(NamedTuple):
    """Runs turns through one topic."""

    bootstrap: str
    topic: str
    size: int
    java: Sequence[str]

    def run(
        self,
        process: Sequence[Turn],
        count: int,
        keys: Mapping[str, Any],
        *,
        how: str = "",
        busy: bool = False,
    ) -> Sequence[Figures | None]:
        """The figures of the turns of a process, which reads so many records in each.

        Args:
            process: The turns.
            count: How many records.
            keys: Configuration beside that of the setting.
            how: How it reads, where the way of a turn is something else.
            busy: Whether a thread of the application computes meanwhile.
        """
        client, setting, way = process[0]
        keys = {**keys, **SETTINGS[client][setting]}
        where = self.bootstrap, self.topic, str(count), str(self.size)
        if client == "Java":
            named = [f"{key}={value}" for key, value in keys.items()]
            command = [*self.java, *where, *named]
        else:
            program = str(HERE / "clients" / "straight.py")
            told = client if client != PURE else OURS
            command = [sys.executable, program, told, how or way, *where, json.dumps(keys)]
            command += ["busy"] * busy
        twin = {"PROKURIST_IMPL": "python"} if client == PURE else {}
        return figures_of(command, len(process), WITHIN, twin)


def java_reading(classes: Path) -> tuple[str, ...]:
    """How Java's program is run; nothing, with a line that says why, where it cannot be."""
    try:
        return java_program(classes, "Reading")
    except (Missing, KafkaUnavailable) as why:
        show(f"left out: Java's consumer, {why}")
        return ()


def clients(wanted: Sequence[str] = tuple(SETTINGS)) -> list[Client]:
    """Who takes part, for the data file."""
    found = []
    for name in wanted:
        version = PACKAGES.get(name) or release(name)
        version = release(OURS) if version == OURS else version
        for setting, keys in SETTINGS[name].items():
            title = Turn(name, setting, "").title
            told = ", ".join(f"`{key}={value}`" for key, value in keys.items()) or "defaults"
            found.append(Client(title, version, told, WHY.get(title, LARGER)))
    return found


def how_many(mib: int, size: int) -> int:
    """How many records so much is, the same number in every partition."""
    return (mib << 20) // size // PARTITIONS * PARTITIONS


def fill(bootstrap: str, topic: str, count: int, size: int, codec: str) -> None:
    """Write records to all partitions alike; no two values are the same.

    One half of each is random, so that compression makes half of them. What was written is on
    the disk at the end, and disturbs nothing later.
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
    os.sync()
