"""How long a warm `committed` takes: one request, one answer, a broker on the same machine.

Each client in a process of its own, in turn, several times round, so that a machine
whose speed drifts drifts for all.

    python benchmarks/round_trip.py [--calls N] [--rounds N] [--only NAME]... [--keep]
"""

import argparse
import statistics
from collections.abc import Mapping, Sequence

import taking_part
from conditions import milliseconds
from data_files import Conditions, Table, keep, show
from peers import Peers
from turns import Spread

from prokurist.testing.kafka import RealKafka


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=1000, help="in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", default=[], help="clients to measure")
    parser.add_argument("--keep", action="store_true", help="as data of the pages")
    options = parser.parse_args()
    conditions = Conditions()
    with RealKafka() as kafka, Peers(options.only) as peers:
        kafka.create_topic("orders")
        rounds: dict[str, list[list[float]]] = {peer.name: [] for peer in peers}
        for _ in range(options.rounds):
            for peer in peers:
                with peer.start(
                    kafka.direct_bootstrap, "round_trips", options.calls
                ) as process:
                    process.wait_until_ready()
                    process.go()
                    rounds[peer.name].append(process.hear(120.0))
    table = committed(rounds, options.calls)
    show("committed, warm", table)
    if options.keep:
        told = conditions.told() | {"kafka": kafka.version}
        keep("round_trip", {"committed": table}, taking_part.of_calls(), told)


def committed(rounds: Mapping[str, Sequence[Sequence[float]]], calls: int) -> Table:
    """A column for each client."""
    columns = []
    for each in rounds.values():
        spans = [span for one in each for span in one]
        of = Spread.of([1000 * statistics.median(one) for one in each])
        columns.append(
            (
                f"{1000 * min(spans):.2f}",
                of.told(2),
                f"{milliseconds(spans)['p95']:.2f}",
            )
        )
    names = "fastest", "p50, of the rounds", "p95"
    rows = [(name, *cells) for name, *cells in zip(names, *columns, strict=True)]
    many = len(next(iter(rounds.values())))
    how = f"A warm `committed`, milliseconds; {many} rounds of {calls} calls"
    return Table(how, ("", *rounds), rows)


if __name__ == "__main__":
    main()
