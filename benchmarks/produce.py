"""How fast records are written: ours beside other clients, and beside a frozen broker.

A real Kafka on the same machine, six partitions, values of 100 bytes and of 1 KiB that do not
compress, no keys, idempotent, acks=all, flush included. Each turn is a process of its own
(clients/producing.py, java/Producing.java); turns go round by round, since the machine is
shared, and medians are told. Ours runs as it comes; of the others several settings are tried,
and each one's best is shown. Ratios are of the turns of one round.

    python benchmarks/produce.py [--mib N] [--rounds N] [--sizes 100 1024]
                                 [--only NAME ...] [--no-frozen] [--json FILE]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from conditions import frozen, machine, milliseconds, show
from peers import HERE, Measured, Missing, Silent, java_program

from prokurist.testing.kafka import KafkaUnavailable, RealKafka

PARTITIONS = 6
WITHIN = 300.0
MANY_CALLS = 1000
"""Calls of `send` beside a frozen broker."""

OURS = "prokurist"
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

WAYS: Mapping[str, tuple[str, ...]] = {
    OURS: ("flush", "handles", "callbacks"),
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


class Turn(NamedTuple):
    """One client in one setting, writing in one way."""

    client: str
    setting: str
    way: str

    @property
    def title(self) -> str:
        """What a table calls it."""
        return f"{self.client}, {self.setting}" if self.setting else self.client


Figures = Mapping[str, float]
Rounds = Mapping[Turn, list[Figures | None]]
"""The figures of each round; None where a turn has failed."""


def main() -> None:
    """Let the clients take turns, and print tables."""
    asked = arguments()
    result: dict[str, Any] = {}
    # With all of the virtual machine's compilers, as brokers in production have them.
    with (
        tempfile.TemporaryDirectory() as classes,
        RealKafka(controls=True, java_options=["-Xmx1g"]) as kafka,
    ):
        java = java_producing(Path(classes))
        wanted = [each for each in asked.only if each != "Java" or java]
        for size in asked.sizes:
            rounds = of_size(kafka, size, asked, wanted, java)
            appended = {
                client: appending(kafka, client, size, asked, java)
                for client in ROOM
                if client in wanted
            }
            present(size, asked, rounds, appended)
            result[f"{size} B"] = {
                "writing": {" | ".join(turn): of for turn, of in rounds.items()},
                "append": appended,
            }
        if not asked.no_frozen:
            result["frozen"] = {
                client: beside_frozen(kafka, client, java)
                for client in NARROW
                if client in wanted
            }
            present_frozen(result["frozen"])
    if asked.json:
        Path(asked.json).write_text(json.dumps(result, indent=2) + "\n")


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=100, help="values that a turn writes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1024])
    parser.add_argument("--only", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--no-frozen", action="store_true")
    parser.add_argument("--json")
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
    wanted: list[str],
    java: tuple[str, ...],
) -> Rounds:
    """All rounds of one size of values."""
    turns = [
        Turn(client, setting, way)
        for client in wanted
        for setting in SETTINGS[client]
        for way in WAYS[client]
    ]
    rounds: dict[Turn, list[Figures | None]] = {turn: [] for turn in turns}
    for _ in range(asked.rounds):
        topic = kafka.unique_topic(partitions=PARTITIONS)
        for turn in turns:
            count = records(asked.mib, size, turn.client)
            keys = SETTINGS[turn.client][turn.setting]
            figures = one(command(turn, kafka, topic, count, size, keys, java))
            print(*turn, figures, file=sys.stderr, flush=True)
            rounds[turn].append(figures)
        kafka.delete_topic(topic)
    return rounds


def records(mib: int, size: int, client: str) -> int:
    """How many records a client writes."""
    return int((mib << 20) // size * ENOUGH.get(client, 1.0))


def one(run: tuple[str, ...]) -> Figures | None:
    """The figures of one turn; None where it has failed."""
    try:
        done = subprocess.run(run, capture_output=True, text=True, check=True, timeout=WITHIN)
    except subprocess.TimeoutExpired:
        return None
    except subprocess.CalledProcessError as failed:
        print(failed.stderr[-500:], file=sys.stderr, flush=True)
        return None
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


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


# --- tables ------------------------------------------------------------------------------


def median(of: list[Figures | None], key: str) -> float:
    """The median of the rounds; 0 where all have failed."""
    return statistics.median([each[key] for each in of if each] or [0.0])


def ratios(ours: list[Figures | None], others: list[Figures | None]) -> str:
    """How many times as fast ours was, by the turns of one round, and between what."""
    found = [
        mine["rate"] / their["rate"]
        for mine, their in zip(ours, others, strict=True)
        if mine and their
    ]
    if not found:
        return "-"
    return f"{statistics.median(found):.2f} ({min(found):.2f}–{max(found):.2f})"


def present(
    size: int,
    asked: argparse.Namespace,
    rounds: Rounds,
    appended: Mapping[str, list[Figures]],
) -> None:
    """The tables of one size of values."""
    count = records(asked.mib, size, OURS)
    show(f"\n{size} B, {count:,} records a turn, {asked.rounds} rounds ({machine()})\n")
    show("| client | keeps | records/s | CPU s per million | ×, flush | handles | callbacks |")
    show("|---|---|--:|--:|--:|--:|--:|")
    for turn in best(rounds):
        figures = rounds[turn]
        cells = [""] * len(WAYS[OURS])
        if turn.client != OURS:
            cells = [
                ratios(rounds[Turn(OURS, "", way)], figures)
                for way in WAYS[OURS]
                if Turn(OURS, "", way) in rounds
            ]
        show(
            f"| {turn.title} | {turn.way} | {median(figures, 'rate'):,.0f} | "
            f"{median(figures, 'cpu'):.2f} | {' | '.join(cells)} |"
        )
    show("\n| `send` alone, broker frozen | records/s | between | CPU s per million |")
    show("|---|--:|--:|--:|")
    for client, of in appended.items():
        rates = [each["rate"] for each in of]
        show(
            f"| {client} | {statistics.median(rates):,.0f} | "
            f"{min(rates):,.0f}–{max(rates):,.0f} | {median([*of], 'cpu'):.2f} |"
        )


def best(rounds: Rounds) -> list[Turn]:
    """Of each client's settings that which was the fastest, for each way."""
    chosen: dict[tuple[str, str], Turn] = {}
    for turn, figures in rounds.items():
        key = turn.client, turn.way
        if key not in chosen or median(figures, "rate") > median(rounds[chosen[key]], "rate"):
            chosen[key] = turn
    return list(chosen.values())


def present_frozen(figures: Mapping[str, Mapping[str, Any]]) -> None:
    """The table of the frozen broker."""
    show(f"\nBroker frozen, memory full, 1 KiB, {MANY_CALLS} sends, ms late ({machine()})\n")
    show(
        "| client | send p50 | p99.9 | max | bare p50 | p99.9 | max | flush(2) | close(2) | "
        "CPU, 1 is a core | MiB when full | MiB grown then |"
    )
    show("|---" + "|--:" * 11 + "|")
    for client, row in figures.items():
        waits = [
            f"{row[which][each]:.1f}"
            for which in ("send", "bare")
            for each in ("p50", "p99.9", "max")
        ]
        flush, close = (late(row, call) for call in ("flush", "close"))
        show(
            f"| {client} | {' | '.join(waits)} | {flush} | {close} | "
            f"{row['still']:.3f} | {row['filled']:.0f} | {row['growth']:.1f} |"
        )


def late(row: Mapping[str, Any], call: str) -> str:
    """How late a call has ended, in milliseconds."""
    if call not in row:
        return "no timeout"
    return "> 30 s" if row[call] is None else f"{1000 * row[call]:.1f}"


if __name__ == "__main__":
    main()
