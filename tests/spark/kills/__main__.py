"""Spark in trouble: `make kill-spark`, or `python -m tests.spark.kills --rounds 10 --seed 1`.

With `--part sink` it writes to a topic, in turns at least once and exactly once, and its
brokers are killed too. With `--batches 1000` no process is killed: it is seen whether a long
life costs more than a short one.
"""

import argparse
import sys
from itertools import islice

from prokurist.testing.kafka import RealKafka
from tests.spark.kills import rounds, sink_rounds, steady


def main() -> int:
    """Kill, or count, and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=("source", "sink"), default="source")
    parser.add_argument("--batches", type=int, default=0)
    given = parser.parse_args()

    def say(words: str) -> None:
        sys.stdout.write(words + "\n")
        sys.stdout.flush()

    outcome: rounds.RoundsResult | steady.SteadyResult
    of_sink = given.part == "sink"
    nodes = sink_rounds.NODES if of_sink and not given.batches else 1
    with RealKafka(nodes, controls=True) as kafka:
        if given.batches:
            outcome = steady.run(kafka, given.batches, writes=of_sink)
        elif of_sink:
            lives = list(islice(sink_rounds.drawn(given.seed), given.rounds))
            outcome = sink_rounds.run(kafka, lives, say)
        else:
            plans = list(islice(rounds.drawn(given.seed), given.rounds))
            outcome = rounds.run(kafka, plans, say)
    say(outcome.summary())
    return bool(outcome.wrongs)


if __name__ == "__main__":
    sys.exit(main())
