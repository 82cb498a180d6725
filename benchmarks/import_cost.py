"""What `import prokurist` costs over a bare interpreter, beside its peers.

Each statement runs in a fresh interpreter, in turn with a bare one, so that a
machine whose speed drifts drifts for both. All that is imported has been compiled before.
Printed is the median of the differences, in milliseconds.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from conditions import compiled, show

RUNS = 21
STATEMENTS = {
    "prokurist": "import prokurist",
    "prokurist, its vocabulary": (
        "from prokurist import ConsumerConfig, TimeoutException, TopicPartition"
    ),
    "prokurist, its consumer": "from prokurist import KafkaConsumer",
    "kafka-python": "import kafka",
    "confluent-kafka": "import confluent_kafka",
}


def run(statement: str, environment: dict[str, str]) -> float:
    """Milliseconds that an interpreter takes from start to end."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
    return (time.perf_counter() - began) * 1000


def main() -> None:
    """Measure and print."""
    show(f"import cost over a bare interpreter, median of {RUNS} pairs")
    with tempfile.TemporaryDirectory() as folder:
        environment = compiled(Path(folder))
        for name, statement in STATEMENTS.items():
            run(statement, environment)
            spans = sorted(
                run(statement, environment) - run("pass", environment) for _ in range(RUNS)
            )
            low, high = spans[RUNS // 10], spans[-1 - RUNS // 10]
            show(
                f"  {name:28} {statistics.median(spans):7.1f} ms   "
                f"(80 % of runs: {low:.1f} to {high:.1f})"
            )


if __name__ == "__main__":
    main()
