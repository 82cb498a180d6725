"""Eighteen join two, over and over: how long the polls of those take that join.

The last phase of `rebalance.py`, by turns, since one run of it says little: this client,
this client as other checkouts have it, and confluent-kafka, in an order that turns round
every time. A checkout has to hold the native modules that it was built with; all get their
bytecode first.

    python benchmarks/crowds.py [--protocol NAME]... [--rounds N] [--checkout DIR]...
                                [--keep]
"""

import argparse
import compileall
import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import taking_part
from conditions import show
from data_files import Conditions, Table, keep
from data_files import show as show_table
from peers import HERE, Silent
from rebalance import (
    BROKER,
    CROWD_PACE,
    PARTITIONS,
    Group,
    Kind,
    Unsettled,
    bystanders,
    crowd,
)

from prokurist.testing.kafka import RealKafka

PROTOCOLS = ("range", "cooperative", "consumer")
GOAL = 0.22
COLUMNS = (
    "runs",
    "above 220 ms",
    "median",
    "longest",
    "who was there",
    "bare",
    "settled",
)


def run(kafka: RealKafka, protocol: str, checkout: Path | None) -> dict[str, Any]:
    """One run; of confluent-kafka where there is no checkout."""
    kind = Kind("prokurist" if checkout else "confluent-kafka", protocol)
    bootstrap, topic = kafka.direct_bootstrap, kafka.unique_topic(partitions=PARTITIONS)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        beside = stack.enter_context(bystanders(bootstrap, topic, CROWD_PACE, Path(folder)))
        group = Group(kind, bootstrap, topic, Path(folder), (), stack, checkout=checkout)
        try:
            found = crowd(group, beside)
        except (Unsettled, Silent) as why:
            found = {"failed": str(why)}
    kafka.delete_topic(topic)
    return found


def row(runs: Sequence[dict[str, Any]]) -> list[str]:
    """What there is to say of them."""
    ended = [each for each in runs if "failed" not in each]
    if not ended:
        return [f"0 of {len(runs)}", *["-"] * (len(COLUMNS) - 1)]
    joining = [each["longest poll of who joins"] for each in ended]
    times = (
        median(joining),
        *(max(each) for each in (joining, [one["longest poll"] for one in ended])),
        max(each["longest bare wait"] for each in ended),
    )
    return [
        f"{len(ended)} of {len(runs)}",
        str(sum(each > GOAL for each in joining)),
        *(f"{each * 1000:.0f}" for each in times),
        f"{median(each['settled'] for each in ended):.2f} s",
    ]


def main() -> None:
    """Measure by turns, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--protocol", action="append", default=[], choices=PROTOCOLS)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--checkout", action="append", default=[], type=Path)
    parser.add_argument("--keep", action="store_true", help="as data of the pages")
    options = parser.parse_args()
    conditions = Conditions()
    turns: dict[str, Path | None] = {"prokurist": HERE.parent}
    turns |= {f"prokurist in {each.name}": each.resolve() for each in options.checkout}
    for checkout in filter(None, turns.values()):
        compileall.compile_dir(str(checkout / "prokurist"), quiet=1)
    turns["confluent-kafka"] = None
    result: dict[str, list[dict[str, Any]]] = {}
    with RealKafka(properties=BROKER) as kafka:
        for protocol in options.protocol or PROTOCOLS:
            for nth in range(options.rounds):
                for name in list(turns)[:: -1 if nth % 2 else 1]:
                    found = run(kafka, protocol, turns[name])
                    result.setdefault(f"{name}, {protocol}", []).append(found)
                    longest = found.get("longest poll of who joins", float("nan")) * 1000
                    load = os.getloadavg()[0]
                    show(f"{name}, {protocol}: {longest:.0f} ms, load {load:.1f}")
    how = (
        f"Eighteen join two, {options.rounds} rounds, milliseconds; *who was there* and *bare* "
        "are the longest of all runs"
    )
    names = sorted(result, key=lambda each: each.split(", ")[::-1])
    table = Table(how, ("", *COLUMNS), [[name, *row(result[name])] for name in names])
    show_table("joiners", table)
    if options.keep:
        clients = [each for each in taking_part.of_groups() if each.name in turns]
        told = conditions.told() | {"kafka": kafka.version}
        keep("crowds", {"joiners": table}, clients, told)


if __name__ == "__main__":
    main()
