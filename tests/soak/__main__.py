"""An hour of trouble: `make soak`, or `python -m tests.soak --minutes 60 --seed 1`."""

import argparse
import sys

from prokurist.testing.kafka import RealKafka
from tests.soak import quiet_topics
from tests.soak.soak import run


def main() -> int:
    """Soak, and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--upgrade", help="quiet topics, nodes of 3.9.2 restarted with this")
    given = parser.parse_args()

    def say(words: str) -> None:
        sys.stdout.write(words + "\n")
        sys.stdout.flush()

    if given.upgrade:
        with RealKafka(nodes=3, controls=True, version="3.9.2") as kafka:
            upgraded = quiet_topics.run(kafka, given.seed, given.upgrade)
        say(upgraded.summary())
        return bool(upgraded.wrongs)
    with RealKafka(nodes=3, controls=True) as kafka:
        outcome = run(kafka, given.seed, given.minutes * 60, say)
    say(outcome.summary())
    return bool(outcome.wrongs)


if __name__ == "__main__":
    sys.exit(main())
