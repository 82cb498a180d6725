"""How fast records are written: ours beside other clients, and beside a frozen broker.

A real Kafka on the same machine, six partitions, values of 100 bytes and of 1 KiB that do not
compress, no keys, idempotent, acks=all, flush included. Each turn is a process of its own
(clients/producing.py, java/Producing.java); turns go round by round, since the machine is
shared, and medians are told. Ours runs as it comes; of the others several settings are tried,
and each one's best is shown. Ratios are of the turns of one round.

    python benchmarks/produce.py [--mib N] [--rounds N] [--sizes 100 1024]
                                 [--only NAME ...] [--no-append] [--no-frozen] [--keep]
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conditions import frozen, milliseconds, show
from data_files import Client, Conditions, Table, keep, release
from data_files import show as show_table
from peers import HERE, JAVA, Measured, Missing, Silent, java_program
from produce_tables import OUR_WAYS, OURS, late_calls, written, written_cells
from turns import (
    MINUTES,
    Figures,
    Rounds,
    Turn,
    by_turns,
    figures_of,
    many,
)

from prokurist.testing.kafka import KafkaUnavailable, RealKafka

PARTITIONS = 6
MIB = {100: 100, 1024: 300}
"""Values that a turn writes: a second or so for the fastest, at either size."""

DELETED = {"log.segment.delete.delay.ms": 100}
"""What a turn has written is soon no more, so that none waits for the disk of another."""

WITHIN = 300.0
MANY_CALLS = 1000
"""Calls of `send` beside a frozen broker."""

ENOUGH = {"aiokafka": 0.2, "kafka-python": 0.1}
"""The share of the records that a slow client writes."""

SETTINGS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    OURS: {"": {}},
    "confluent-kafka": {
        "": {},
        "deep queue": {
            "queue.buffering.max.messages": 1_000_000,
            "batch.num.messages": 100_000,
        },
        "deep queue, long linger": {
            "linger.ms": 50,
            "queue.buffering.max.messages": 1_000_000,
            "batch.num.messages": 100_000,
        },
    },
    "Java": {
        "": {},
        "batches of 128 KiB": {"batch.size": 131_072, "linger.ms": 20},
        "batches of 512 KiB": {
            "batch.size": 524_288,
            "linger.ms": 50,
            "buffer.memory": 134_217_728,
        },
    },
    "aiokafka": {"": {"max.batch.size": 131_072, "linger.ms": 5}},
    "kafka-python": {"": {"batch.size": 131_072, "linger.ms": 5}},
}
"""Each client's settings: what its documents tell who wants throughput."""

WHY: Mapping[str, str] = {
    OURS: "as it comes: what a user has who sets nothing",
    "confluent-kafka": "as it comes",
    "confluent-kafka, deep queue": (
        "its batches end at 10 000 records and its queue at 100 000, as it comes: room for more"
    ),
    "confluent-kafka, deep queue, long linger": "the same, and fuller batches",
    "Java": "as it comes",
    "Java, batches of 512 KiB": "larger batches, and memory for them",
}
LARGER = "larger batches: as it comes they are of 16 KiB"

WAYS: Mapping[str, tuple[str, ...]] = {
    OURS: OUR_WAYS,
    "confluent-kafka": ("flush", "callbacks"),
    "Java": ("flush", "handles", "callbacks"),
    "aiokafka": ("handles",),
    "kafka-python": ("handles",),
}

ROOM: Mapping[str, Mapping[str, Any]] = {
    OURS: {"buffer.memory": 1 << 30},
    "confluent-kafka": {
        "queue.buffering.max.messages": 10_000_000,
        "queue.buffering.max.kbytes": 1 << 20,
    },
    "Java": {"buffer.memory": 1 << 30},
}
"""Room for all that is appended while nothing is sent."""

BLOCKS = 0.02
NARROW: Mapping[str, Mapping[str, Any]] = {
    OURS: {"max.block.ms": int(1000 * BLOCKS)},
    "confluent-kafka": {"queue.buffering.max.kbytes": 32_768},
    "Java": {"max.block.ms": int(1000 * BLOCKS)},
}
"""Room for 32 MiB, and 20 ms of waiting for it where a client waits."""


def main() -> None:
    """Let the clients take turns, and print tables."""
    asked = arguments()
    # With all of the virtual machine's compilers, as brokers in production have them.
    with (
        tempfile.TemporaryDirectory() as classes,
        RealKafka(controls=True, java_options=["-Xmx1g"], properties=DELETED) as kafka,
    ):
        java = java_producing(Path(classes))
        wanted = [each for each in asked.only if each != "Java" or java]

        def told(tables: Mapping[str, Table], conditions: Conditions) -> None:
            for name, table in tables.items():
                show_table(name, table)
            if asked.keep:
                keep("produce", tables, clients(), conditions.told() | {"kafka": kafka.version})

        for size in asked.sizes:
            conditions = Conditions()
            rounds = of_size(kafka, size, asked, wanted, java)
            tables = written(size, rounds, how(rounds, records(asked.mib, size, OURS)))
            if not asked.no_append:
                tables |= appended(kafka, size, asked, wanted, java)
            told(tables, conditions)
        if not asked.no_frozen:
            conditions = Conditions()
            found = {
                client: beside_frozen(kafka, client, java)
                for client in NARROW
                if client in wanted
            }
            told({"frozen": late_calls(found, MANY_CALLS)}, conditions)


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, help="values that a turn writes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for all rounds")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1024])
    parser.add_argument("--only", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--no-append", action="store_true")
    parser.add_argument("--no-frozen", action="store_true")
    parser.add_argument("--keep", action="store_true", help="as data of the pages")
    return parser.parse_args()


def java_producing(classes: Path) -> tuple[str, ...]:
    """How Java's program is run; nothing, with a line that says why, where it cannot be."""
    try:
        return java_program(classes, "Producing")
    except (Missing, KafkaUnavailable) as why:
        show(f"left out: Java's producer, {why}")
        return ()


def command(
    turn: Turn,
    kafka: RealKafka,
    topic: str,
    count: int,
    size: int,
    keys: Mapping[str, Any],
    java: tuple[str, ...],
) -> tuple[str, ...]:
    """How a turn is run."""
    rest = (turn.way, kafka.direct_bootstrap, topic, str(count), str(size))
    if turn.client == "Java":
        return (*java, *rest, *(f"{key}={value}" for key, value in keys.items()))
    program = str(HERE / "clients" / "producing.py")
    return (sys.executable, program, turn.client, *rest, json.dumps(keys))


def of_size(
    kafka: RealKafka,
    size: int,
    asked: argparse.Namespace,
    wanted: Sequence[str],
    java: tuple[str, ...],
) -> Rounds:
    """All rounds of one size of values."""
    turns = [
        Turn(client, setting, way)
        for client in wanted
        for setting in SETTINGS[client]
        for way in WAYS[client]
    ]

    def run(process: Sequence[Turn]) -> Sequence[Figures | None]:
        [turn] = process
        topic = kafka.unique_topic(partitions=PARTITIONS)
        count = records(asked.mib, size, turn.client)
        keys = SETTINGS[turn.client][turn.setting]
        found = figures_of(command(turn, kafka, topic, count, size, keys, java), 1, WITHIN)
        kafka.delete_topic(topic)
        return found

    return by_turns([[turn] for turn in turns], asked.rounds, asked.minutes, run)


def records(mib: int | None, size: int, client: str) -> int:
    """How many records a client writes."""
    return int(((mib or MIB.get(size, 100)) << 20) // size * ENOUGH.get(client, 1.0))


def appending(
    kafka: RealKafka, client: str, size: int, asked: argparse.Namespace, java: tuple[str, ...]
) -> list[Figures]:
    """How fast `send` is by itself: the broker is frozen, and there is room for everything."""
    topic = kafka.unique_topic(partitions=PARTITIONS)
    count = records(asked.mib, size, client)
    turn = Turn(client, "", "append")
    found: list[Figures] = []
    for _ in range(asked.rounds):
        with Measured(command(turn, kafka, topic, count, size, ROOM[client], java)) as process:
            process.wait_until_ready()
            with frozen(kafka):
                process.go()
                found.append(process.hear(WITHIN))
    kafka.delete_topic(topic)
    return found


def beside_frozen(kafka: RealKafka, client: str, java: tuple[str, ...]) -> dict[str, Any]:
    """What calls cost, and how late they end, while the broker answers nothing."""
    topic = kafka.unique_topic(partitions=PARTITIONS)
    turn = Turn(client, "", "frozen")
    run = command(turn, kafka, topic, MANY_CALLS, 1024, NARROW[client], java)
    with Measured(run) as process:
        process.wait_until_ready()
        with frozen(kafka):
            process.go()
            figures: dict[str, Any] = process.hear(WITHIN)
            try:
                figures |= process.hear(30.0)
            except Silent:
                figures["close"] = None
    blocks = NARROW[client].get("max.block.ms", 0) / 1000
    figures["send"] = milliseconds([each - blocks for each in figures["send"]])
    figures["bare"] = milliseconds([each - BLOCKS for each in figures["bare"]])
    print(client, figures, file=sys.stderr, flush=True)
    kafka.delete_topic(topic)
    return figures


def clients() -> list[Client]:
    """Who takes part, for the data file."""
    found = []
    for name, settings in SETTINGS.items():
        version = JAVA if name == "Java" else release(name)
        for setting, keys in settings.items():
            title = Turn(name, setting, "").title
            told = ", ".join(f"`{key}={value}`" for key, value in keys.items()) or "defaults"
            always = "" if name == OURS else "; `acks=all`, idempotent"
            found.append(Client(title, version, told + always, WHY.get(title, LARGER)))
    return found


def how(rounds: Rounds, count: int) -> str:
    """How rates were measured."""
    told = f"{count:,}".replace(",", " ")
    return (
        f"{many(rounds)} rounds; {told} records a turn, in six partitions, the flush included. "
        "Medians, and in brackets the lowest and the highest"
    )


def appended(
    kafka: RealKafka,
    size: int,
    asked: argparse.Namespace,
    wanted: Sequence[str],
    java: tuple[str, ...],
) -> dict[str, Table]:
    """The table of `send` by itself."""
    rows = []
    for client in ROOM:
        if client in wanted:
            found = appending(kafka, client, size, asked, java)
            rows.append((client, *written_cells(found), f"{len(found)}"))
    columns = "client", "thousand records/s", "CPU s per million", "turns"
    said = "`send` alone, the broker frozen, room for everything, so that nothing else runs"
    return {f"{size} B, send alone": Table(said, columns, rows)}


if __name__ == "__main__":
    main()
