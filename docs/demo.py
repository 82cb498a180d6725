"""What `make demo` runs: what stands of prokurist, at work on a real Kafka.

A consumer commits, the broker is frozen by SIGSTOP, and a commit with two seconds
to do it in ends after two seconds, with an error that says where they went.
"""

import sys

from prokurist import (
    ConfigException,
    KafkaConsumer,
    OffsetAndMetadata,
    TimeoutException,
    TopicPartition,
    __version__,
)
from prokurist.events.clock import MonotonicClock
from prokurist.records.implementation import CHOICE
from prokurist.testing.kafka import HarnessError, KafkaUnavailable, RealKafka

CLOCK = MonotonicClock()


def say(text: str = "") -> None:
    """Print a line, at once."""
    print(text, flush=True)  # noqa: T201 - that is what a demonstration does


def show_configuration() -> None:
    """A mistake in the configuration, and what it says."""
    say("A misspelt key:")
    try:
        KafkaConsumer({"bootstrap.servers": "localhost:9092", "max.pol.records": 100})
    except ConfigException as error:
        say(f"  ConfigException: {error}")


def show_kafka() -> None:
    """A real Kafka: committed to, frozen, asked again, and thawed."""
    say("Starting a real Apache Kafka (the first time, its jars are fetched) ...")
    began = CLOCK.now()
    with RealKafka() as kafka:
        say(
            f"  version {kafka.version} by way of {kafka.rung}, listening on {kafka.bootstrap} "
            f"after {CLOCK.now() - began:.1f} s"
        )
        kafka.create_topic("orders", partitions=3)
        orders = TopicPartition("orders", 0)
        with KafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id="demo") as consumer:
            consumer.commit_sync({orders: OffsetAndMetadata(42, "before the frost")})
            say(f"  committed and read back: {consumer.committed(orders)[orders]}")

            say("Freezing the broker, and committing with two seconds to do it in:")
            kafka.freeze()
            began = CLOCK.now()
            try:
                consumer.commit_sync({orders: OffsetAndMetadata(43)}, timeout=2.0)
            except TimeoutException as error:
                say(f"  TimeoutException after {CLOCK.now() - began:.3f} s:")
                say(f"  {error}")
            say(f"  {consumer.health()}")

            kafka.thaw()
            say("Thawed. What the broker has now:")
            say(f"  {consumer.committed(orders)[orders]}")

            kafka.freeze()
            began = CLOCK.now()
            consumer.close(1.0)
            say(f"Frozen again, close(1.0) took {CLOCK.now() - began:.3f} s.")


def main() -> int:
    """Show it all; 1 where a Kafka was to be had and failed."""
    say(f"prokurist {__version__}, record codec: {CHOICE.name}")
    say("The consumer commits and looks up so far; it does not read records yet.")
    say()
    show_configuration()
    say()
    try:
        show_kafka()
    except KafkaUnavailable as error:
        say(f"  not on this machine: {error}")
    except HarnessError as error:
        say(f"  failed: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
