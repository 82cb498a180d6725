"""How fast transactions are, and what they add to the same records without them.

A real Kafka on the same machine, one node, six partitions, values of 100 bytes without keys.
Each turn is a process of its own (clients/transacting.py, java/Transacting.java); turns go
round by round, and medians are told. Each client is as it comes. *Added* is the median time
of a transaction less that of the same records with `flush`, by the same process.

    python benchmarks/transactions.py [--rounds N] [--records 100 10000] [--only NAME ...]
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from conditions import show
from data_files import Conditions, Table
from data_files import show as show_table
from peers import HERE, Missing, java_program
from turns import Figures, Rounds, Spread, Turn, by_turns, cell, figures_of, times, values

from prokurist.testing.kafka import KafkaUnavailable, RealKafka

OURS = "prokurist"
CLIENTS = (OURS, "confluent-kafka", "Java")
PARTITIONS = 6
TIMES = {100: 300, 10_000: 40}
"""Transactions of a turn, by their records."""
WITHIN = 300.0
MINUTES = 10.0


def main() -> None:
    """Let the clients take turns, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--records", type=int, nargs="+", default=list(TIMES))
    parser.add_argument("--only", nargs="+", default=list(CLIENTS), choices=CLIENTS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as classes, RealKafka(java_options=["-Xmx1g"]) as kafka:
        java = java_transacting(Path(classes)) if "Java" in asked.only else ()
        wanted = [each for each in asked.only if each != "Java" or java]
        for records in asked.records:
            conditions = Conditions()
            rounds = of_size(kafka, records, asked.rounds, wanted, java)
            show_table(f"{records} records a transaction", table(rounds))
            show(str(conditions.told()))


def java_transacting(classes: Path) -> tuple[str, ...]:
    """How Java's program is run; nothing, with a line that says why, where it cannot be."""
    try:
        return java_program(classes, "Transacting")
    except (Missing, KafkaUnavailable) as why:
        show(f"left out: Java's producer, {why}")
        return ()


def of_size(
    kafka: RealKafka, records: int, rounds: int, wanted: Sequence[str], java: tuple[str, ...]
) -> Rounds:
    """All rounds of transactions of one size."""

    def run(process: Sequence[Turn]) -> Sequence[Figures | None]:
        [turn] = process
        topic = kafka.unique_topic(partitions=PARTITIONS)
        rest = (kafka.direct_bootstrap, topic, str(records), str(TIMES.get(records, 40)))
        program = str(HERE / "clients" / "transacting.py")
        command = (sys.executable, program, turn.client, *rest)
        found = figures_of((*java, *rest) if turn.client == "Java" else command, 1, WITHIN)
        kafka.delete_topic(topic)
        return found

    return by_turns([[Turn(each, "", "")] for each in wanted], rounds, MINUTES, run)


def table(rounds: Rounds) -> Table:
    """Rates, latencies and ratios of one size."""
    ours = rounds.get(Turn(OURS, "", ""))
    rows = []
    for turn, figures in rounds.items():
        if not any(figures):
            rows.append((turn.client, "failed", *("–",) * 5))
            continue
        added = [each["whole"] - each["flush"] for each in figures if each]
        ratio = "" if turn.client == OURS or ours is None else cell(times(ours, figures))
        rows.append(
            (
                turn.client,
                cell(Spread.of(values(figures, "rate")), 1),
                cell(Spread.of(values(figures, "whole")), 1),
                cell(Spread.of(values(figures, "commit")), 1),
                cell(Spread.of(added), 1),
                cell(Spread.of([1000 * each for each in values(figures, "cpu")]), 1),
                ratio,
            )
        )
    columns = (
        "client",
        "transactions/s",
        "ms each",
        "ms of the commit",
        "ms added to a flush",
        "CPU ms each",
        "ours is so many times as fast",
    )
    return Table("Medians of the rounds, with the least and the most.", columns, rows)


if __name__ == "__main__":
    main()
