"""What a process has to do until its consumer has read a first record, beside its peers.

A program starts, imports its client, joins a group, and polls until there is a record; a
writer writes fifty times a second. Each round has a process of each client, in turn, so that a
machine whose speed drifts drifts for all. Processor time is without that of
the interpreter's start; a round before the first compiles what is not compiled.

    python benchmarks/first_record.py [--rounds N] [--keep]
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import taking_part
from conditions import compiled
from data_files import Conditions, Table, keep, show
from peers import HERE, Measured
from turns import Spread

from prokurist.testing.kafka import RealKafka

PATIENCE = 30.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--keep", action="store_true", help="as data of the pages")
    options = parser.parse_args()
    conditions = Conditions()
    found: dict[str, list[list[float]]] = {name: [] for name in taking_part.PYTHON_CLIENTS}
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
                for name in taking_part.PYTHON_CLIENTS:
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
    columns = "", "built: CPU", "first record: CPU", "first record: elapsed", "close: elapsed"
    rows = []
    for name, each in found.items():
        spreads = [
            Spread.of([1000 * one for one in column]) for column in zip(*each, strict=True)
        ]
        rows.append((name, *(spread.told(0) for spread in spreads)))
    how = (
        f"{options.rounds} processes of each, by turns, milliseconds. Medians, and in brackets "
        "the shortest and the longest"
    )
    table = Table(how, columns, rows)
    show("first record", table)
    if options.keep:
        told = conditions.told() | {"kafka": kafka.version}
        keep("first_record", {"first record": table}, taking_part.of_newcomers(), told)


if __name__ == "__main__":
    main()
