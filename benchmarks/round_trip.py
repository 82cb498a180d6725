"""How long a warm `committed` takes: one request, one answer, a broker on the same machine.

Each client in a process of its own, in turn, several times round, so that a machine
whose speed drifts drifts for all.

    python benchmarks/round_trip.py [--calls N] [--rounds N] [--only NAME]... [--json FILE]
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from conditions import machine, milliseconds, show
from peers import Peers, releases

from prokurist.testing.kafka import RealKafka


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=1000, help="in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", default=[], help="clients to measure")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result: dict[str, Any] = {"machine": machine()}
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
    show(f"committed, warm, milliseconds ({machine()})")
    show(f"  {'':17}{'fastest':>10}{'p50':>10}{'p95':>10}{'p50 of each round':>22}")
    for name, each in rounds.items():
        spans = [span for one in each for span in one]
        row = {"fastest": 1000 * min(spans), **milliseconds(spans)}
        medians = [1000 * statistics.median(one) for one in each]
        result[name] = {**row, "rounds": medians}
        show(
            f"  {name:17}{row['fastest']:10.3f}{row['p50']:10.3f}{row['p95']:10.3f}"
            f"{f'{min(medians):.3f} to {max(medians):.3f}':>22}"
        )
    result["releases"] = releases(peers)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
