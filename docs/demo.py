"""What `make demo` runs: what stands of prokurist, at work.

There is no consumer yet. What there is: a configuration that explains itself, and
a real Apache Kafka that can be frozen, with a probe in front of it that ends when
it was told to.
"""

import sys

from prokurist import ConfigException, ConsumerConfig, __version__
from prokurist.events.clock import MonotonicClock
from prokurist.records.implementation import CHOICE
from prokurist.testing.kafka import AdminFailed, HarnessError, KafkaUnavailable, RealKafka

CLOCK = MonotonicClock()


def say(text: str = "") -> None:
    """Print a line, at once."""
    print(text, flush=True)  # noqa: T201 - that is what a demonstration does


def show_configuration() -> None:
    """A mistake in the configuration, and what it says."""
    say("A misspelt key:")
    try:
        ConsumerConfig({"bootstrap.servers": "localhost:9092", "max.pol.records": 100})
    except ConfigException as error:
        say(f"  ConfigException: {error}")


def show_kafka() -> None:
    """A real Kafka, asked, frozen, asked again, and thawed."""
    say("Starting a real Apache Kafka (the first time, its jars are fetched) ...")
    began = CLOCK.now()
    with RealKafka() as kafka:
        say(
            f"  version {kafka.version} by way of {kafka.rung}, listening on {kafka.bootstrap} "
            f"after {CLOCK.now() - began:.1f} s"
        )
        topic = kafka.unique_topic("demo", partitions=3)
        say(f"  topic {topic} with 3 partitions, led by broker {kafka.leaders(topic)}")
        say(
            "Freezing the broker, and asking it for the leaders again with one second to do so:"
        )
        kafka.freeze()
        began = CLOCK.now()
        try:
            kafka.leaders(topic, timeout=1.0)
        except AdminFailed as error:
            say(f"  AdminFailed after {CLOCK.now() - began:.3f} s: {error.reason}")
        kafka.thaw()
        say(f"Thawed, it answers again: {kafka.leaders(topic)}")


def main() -> int:
    """Show it all; 1 where a Kafka was to be had and failed."""
    say(f"prokurist {__version__}, record codec: {CHOICE.name}")
    say("There is no consumer yet: this shows what stands.")
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
