"""Groups in trouble: `make chaos-groups`, or `python -m tests.chaos --minutes 20 --seed 1`.

Writers in trouble: `make chaos-writers`, or the same with `--writers`. With `--clients=aio`
they are coroutines; with `faces` or `all` they go by the names of confluent-kafka and
kafka-python, too.

Groups that read, process and write: `make chaos-transactions`, or the same with
`--transactions`.

Share groups: `make chaos-shares`, or the same with `--shares`.
"""

import argparse
import sys

from prokurist.testing.kafka import RealKafka
from tests.chaos import chaos_of_copiers, chaos_of_sharers, chaos_of_writers
from tests.chaos.chaos import PROPERTIES, PROTOCOLS, run
from tests.chaos.clients import CLIENTS


def main() -> int:
    """Trouble them, and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--protocol", choices=list(PROTOCOLS), default="both")
    parser.add_argument("--clients", choices=list(CLIENTS), default="core")
    parser.add_argument("--writers", action="store_true", help="producers, not groups")
    parser.add_argument("--transactions", action="store_true", help="read, process, write")
    parser.add_argument("--shares", action="store_true", help="a share group")
    given = parser.parse_args()

    def say(words: str) -> None:
        sys.stdout.write(words + "\n")
        sys.stdout.flush()

    clients = CLIENTS[given.clients]
    if given.transactions:
        with RealKafka(nodes=3, controls=True, properties=PROPERTIES) as kafka:
            copied = chaos_of_copiers.run(kafka, given.seed, given.minutes * 60, say)
        say(copied.summary())
        return bool(copied.wrongs)
    if given.shares:
        shared = chaos_of_sharers.SHARING_PROPERTIES
        with RealKafka(nodes=3, controls=True, properties=shared) as kafka:
            lent = chaos_of_sharers.run(kafka, given.seed, given.minutes * 60, say)
        say(lent.summary())
        return bool(lent.wrongs)
    if given.writers:
        with RealKafka(nodes=3, controls=True) as kafka:
            written = chaos_of_writers.run(
                kafka, given.seed, given.minutes * 60, say, clients=clients
            )
        say(written.summary())
        return bool(written.wrongs)
    with RealKafka(nodes=3, controls=True, properties=PROPERTIES) as kafka:
        flavours = PROTOCOLS[given.protocol]
        outcome = run(kafka, given.seed, given.minutes * 60, flavours, say, clients)
    say(outcome.summary())
    return bool(outcome.wrongs)


if __name__ == "__main__":
    sys.exit(main())
