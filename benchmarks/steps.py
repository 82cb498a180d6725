"""What steps have brought: checkouts of this project by turns, each reading the same topics.

Each checkout has an environment of its own (`make .venv/ready` in it), which runs this one's
client. A real Kafka with a listener in plain text and one with TLS, six partitions. What a
checkout cannot do, such as TLS before it was built, is left out.

Where other work disturbs, or two cores are few, `chrt -r 10` in front lets the broker and the
client have every turn they want; then rates say nothing beside other tables.

    python benchmarks/steps.py TITLE=CHECKOUT TITLE=CHECKOUT ... [--rounds N] [--mib N] [--keep]
"""

import argparse
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from conditions import show
from data_files import Conditions, Table, keep
from data_files import show as show_table
from peers import HERE
from reading import OURS, PARTITIONS, WITHIN, fill, how_many
from turns import MINUTES, Figures, Rounds, Turn, by_turns, cell, figures_of, kept, many, times
from turns import median as median_of

from prokurist.testing.kafka import RealKafka, SecuredListener
from prokurist.testing.kafka.pki import Authority

CASES = (
    ("100 B", 100, "poll", False),
    ("100 B, iteration", 100, "iteration", False),
    ("100 B, TLS", 100, "poll", True),
    ("1 KiB", 1024, "poll", False),
    ("1 KiB, TLS", 1024, "poll", True),
)
"""What is read: a title, the size of values, in which way, and whether over TLS."""


def main() -> None:
    """Fill topics, let the checkouts take turns, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="+", metavar="TITLE=CHECKOUT", help="oldest first")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for all rounds")
    parser.add_argument("--mib", type=int, default=512, help="values in each topic")
    parser.add_argument("--keep", action="store_true", help="as data of the pages")
    asked = parser.parse_args()
    checkouts = dict(each.rsplit("=", 1) for each in asked.checkouts)
    conditions = Conditions()
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder))
        listener = SecuredListener(certificate=authority.issue("broker"), is_direct=True)
        with RealKafka(security=listener, java_options=["-Xmx1g"]) as kafka:
            rounds = in_turns(kafka, checkouts, asked, authority.location)
            table = compared(list(checkouts), rounds)
            show_table("steps", table)
            if asked.keep:
                keep(
                    "steps",
                    {"reading": table},
                    [],
                    conditions.told() | {"kafka": kafka.version},
                )


def in_turns(
    kafka: RealKafka, checkouts: Mapping[str, str], asked: argparse.Namespace, authority: Path
) -> Rounds:
    """The figures of each checkout in each case."""
    topics = {}
    for size in sorted({size for _, size, _, _ in CASES}):
        topics[size] = kafka.unique_topic(partitions=PARTITIONS)
        fill(kafka.direct_bootstrap, topics[size], how_many(asked.mib, size), size, "none")
    cases = {title: case for title, *case in CASES}
    tls = {"security.protocol": "SSL", "ssl.ca.location": str(authority)}

    def run(process: Sequence[Turn]) -> Sequence[Figures | None]:
        size, way, secured = cases[process[0].way]
        where = kafka.bootstrap if secured else kafka.direct_bootstrap
        keys: Mapping[str, Any] = tls if secured else {}
        program = str(HERE / "clients" / "straight.py")
        python = str(Path(checkouts[process[0].client]) / ".venv" / "bin" / "python")
        told = OURS, way, where, topics[size], str(how_many(asked.mib, size)), str(size)
        return figures_of([python, program, *told, json.dumps(keys)], 1, WITHIN)

    processes = [[Turn(each, "", case)] for case in cases for each in checkouts]
    show("each checkout once, so that the broker is warm")
    for process in processes[: len(checkouts)]:
        run(process)
    return by_turns(processes, asked.rounds, asked.minutes, run)


def compared(checkouts: Sequence[str], rounds: Rounds) -> Table:
    """A row for each step and case: before, after, and the ratio by rounds."""
    rows = []
    for case, *_ in CASES:
        for before, after in pairwise(checkouts):
            old, new = rounds[Turn(before, "", case)], rounds[Turn(after, "", case)]
            if not any(old) or not any(new):
                continue
            rows.append(
                (
                    case,
                    after,
                    f"{rate(old)} → {rate(new)}",
                    cell(times(new, old)),
                    f"{median_of(old, 'cpu'):.2f} → {median_of(new, 'cpu'):.2f}",
                )
            )
    realtime = os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO)
    how = (
        f"{many(rounds)} rounds; medians, and of ratios of two turns of a round the lowest and "
        "the highest in brackets" + "; broker and clients in real time" * realtime
    )
    columns = "read", "step", "thousand records/s", "so many times as fast", "CPU s per million"
    return Table(how, columns, rows, kept(rounds))


def rate(of: Sequence[Figures | None]) -> str:
    """The median of rates, in thousands."""
    return f"{median_of(of, 'rate') / 1000:,.0f}".replace(",", " ")


if __name__ == "__main__":
    main()
