"""An hour of trouble: `make soak`, or `python -m tests.soak --minutes 60 --seed 1`."""

import argparse
import sys

from prokurist.testing.kafka import DEFAULT_VERSION, RealKafka
from tests.soak import quiet_topics
from tests.soak.soak import run


def main() -> int:
    """Soak, and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--upgrade", help="quiet topics, nodes of 3.9.2 restarted with this")
    parser.add_argument("--quiet", action="store_true", help="quiet topics, version unchanged")
    given = parser.parse_args()

    def say(words: str) -> None:
        sys.stdout.write(words + "\n")
        sys.stdout.flush()

    if given.upgrade or given.quiet:
        seconds = 0.0 if given.upgrade else given.minutes * 60
        version = "3.9.2" if given.upgrade else DEFAULT_VERSION
        with RealKafka(nodes=3, controls=True, version=version) as kafka:
            quiet = quiet_topics.run(
                kafka, given.seed, given.upgrade, seconds=seconds, tell=say
            )
        say(quiet.summary())
        return bool(quiet.wrongs)
    with RealKafka(nodes=3, controls=True) as kafka:
        outcome = run(kafka, given.seed, given.minutes * 60, say)
    say(outcome.summary())
    return bool(outcome.wrongs)


if __name__ == "__main__":
    sys.exit(main())
