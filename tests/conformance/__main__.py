"""`make conformance`: random sequences by seed, against each version of Kafka.

python -m tests.conformance --seed 1 --count 200
"""

import argparse
import sys
from contextlib import ExitStack

from tests.conformance.conftest import VERSIONS, paired
from tests.conformance.random_sequences import left_of
from tests.conformance.test_scenarios import report


def main() -> int:
    """Play the seeds; 1 if there is a difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--count", type=int, default=200, help="how many")
    parser.add_argument("--version", choices=VERSIONS, help="one version of Kafka only")
    given = parser.parse_args()
    wrong = 0
    for version in [given.version] if given.version else VERSIONS:
        with ExitStack() as stack:
            pair = paired(stack, version, 1, {})
            for seed in range(given.seed, given.seed + given.count):
                found = left_of(pair, version, seed)
                if found:
                    wrong += 1
                    sys.stdout.write(f"Kafka {version}, seed {seed}: {report(found)}\n\n")
            sys.stdout.write(
                f"Kafka {version}: seeds from {given.seed}, {given.count} played\n"
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
