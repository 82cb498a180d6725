"""What a process has to do until its consumer has read a first record, beside its peers.

A program starts, imports its client, joins a group, and polls until there is a record; a
writer writes fifty times a second. Each round has a process of each client, in turn, so that a
machine whose speed drifts drifts for all. Processor time is without that of
the interpreter's start; a round before the first compiles what is not compiled.

    python benchmarks/first_record.py [--rounds N]
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from conditions import compiled, machine, show
from peers import HERE, Measured

from prokurist.testing.kafka import RealKafka

CLIENTS = ("prokurist", "confluent-kafka", "kafka-python", "aiokafka")
PATIENCE = 30.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    found: dict[str, list[list[float]]] = {name: [] for name in CLIENTS}
    with tempfile.TemporaryDirectory() as folder, RealKafka() as kafka:
        environment = compiled(Path(folder))
        topic = kafka.unique_topic(partitions=3)
        journal = str(Path(folder) / "written")
        writer = sys.executable, str(HERE / "clients" / "writer.py")
        with Measured(
            (*writer, kafka.direct_bootstrap, topic, "3", "0.02", journal)
        ) as writing:
            writing.wait_until_ready()
            writing.go()
            for turn in range(-1, options.rounds):
                for name in CLIENTS:
                    done = subprocess.run(
                        (
                            *(sys.executable, str(HERE / "clients" / "newcomer.py"), name),
                            *(kafka.direct_bootstrap, f"{name}-{turn}", topic),
                        ),
                        env=environment,
                        stdout=subprocess.PIPE,
                        check=True,
                        timeout=PATIENCE,
                    )
                    if turn >= 0:
                        found[name].append([float(each) for each in done.stdout.split()])
    show(f"medians of {options.rounds} processes of each, milliseconds ({machine()})\n")
    show("| | built: CPU | first record: CPU | first record: elapsed | close: elapsed |")
    show("|---|--:|--:|--:|--:|")
    for name, rows in found.items():
        cells = (1000 * statistics.median(column) for column in zip(*rows, strict=True))
        show(f"| {name} | {' | '.join(f'{each:.0f}' for each in cells)} |")


if __name__ == "__main__":
    main()
