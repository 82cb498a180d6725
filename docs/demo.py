"""What `make demo` runs: a consumer and a producer at work, and a broker that freezes.

The clients are the real ones, over real sockets. The broker is the embedded one, which is
there at once; with KAFKA=1 it is a real Apache Kafka, frozen by SIGSTOP.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Final, Protocol

from prokurist import (
    ConfigException,
    KafkaConsumer,
    KafkaException,
    KafkaProducer,
    TimeoutException,
    TopicPartition,
    __version__,
    timeline,
)
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.records.implementation import CHOICE
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.kafka import HarnessError, KafkaUnavailable, RealKafka

CLOCK: Final = MonotonicClock()
TOPIC: Final = "orders"
PARTITIONS: Final = 3
EACH: Final = 4_000
"""Records in each partition."""

PICTURE: Final = Path("build") / "demo-timeline.svg"
BAR: Final = 30


class Broker(Protocol):
    """What the demonstration needs of either broker."""

    @property
    def bootstrap(self) -> str:
        """Where it listens."""
        ...

    def freeze(self, node: int, /) -> object:
        """It accepts connections and bytes, and answers nothing."""
        ...

    def thaw(self, node: int, /) -> None:
        """It goes on."""
        ...


def say(text: str = "", end: str = "\n") -> None:
    """Print, at once."""
    print(text, end=end, flush=True)  # noqa: T201 - that is what a demonstration does


def timed(what: Callable[[], object]) -> float:
    """How many seconds something takes; what it raises of ours is printed."""
    began = CLOCK.now()
    try:
        what()
    except TimeoutException as error:
        took = CLOCK.now() - began
        words = fill(
            str(error),
            92,
            initial_indent="    ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
        say(f"  TimeoutException after {took:.3f} s. It says:\n\n{words}\n")
        return took
    return CLOCK.now() - began


@contextmanager
def embedded() -> Iterator[tuple[Broker, int, Callable[[], None]]]:
    """The embedded broker, its node's number, and what writes half of the records."""
    with EmbeddedBroker(1, {TOPIC: PARTITIONS}) as broker:

        def write() -> None:
            for partition in range(PARTITIONS):
                values = [f"order {number}".encode() for number in range(EACH // 2)]
                broker.append(TopicPartition(TOPIC, partition), *values)

        say(f"  the embedded broker listens on {broker.bootstrap}")
        yield broker, 1, write


@contextmanager
def real() -> Iterator[tuple[Broker, int, Callable[[], None]]]:
    """A real Kafka, likewise."""
    began = CLOCK.now()
    with RealKafka() as kafka:
        say(
            f"  Apache Kafka {kafka.version}, by way of {kafka.rung}, listens on "
            f"{kafka.bootstrap} after {CLOCK.now() - began:.1f} s"
        )
        kafka.create_topic(TOPIC, partitions=PARTITIONS)

        def write() -> None:
            with KafkaProducer(bootstrap_servers=kafka.direct_bootstrap) as producer:
                for number in range(PARTITIONS * EACH // 2):
                    value = f"order {number // PARTITIONS}".encode()
                    producer.send(TOPIC, value, partition=number % PARTITIONS)
                producer.flush(30.0)

        yield kafka, 0, write


def read(consumer: KafkaConsumer, upto: int, had: int = 0) -> int:
    """Read until so many records were seen, and show how far that is."""
    deadline = Deadline.after(CLOCK.now(), 30.0)
    while had < upto and not deadline.expired(CLOCK.now()):
        had += len(consumer.poll(5.0))
        share = min(1.0, had / (PARTITIONS * EACH))
        bar = ("#" * round(share * BAR)).ljust(BAR)
        say(f"\r  [{bar}] {had:6} records", end="" if sys.stdout.isatty() else "\n")
    if sys.stdout.isatty():
        say()
    return had


def figures(consumer: KafkaConsumer) -> Mapping[str, float]:
    """What the consumer has counted; its metrics are these, its gauges and histograms."""
    return {name: value for name, value in consumer.metrics().items() if "_total" in name}


def changed(before: Mapping[str, float], after: Mapping[str, float]) -> None:
    """Print the figures that are others now."""
    for name, value in after.items():
        if before.get(name) != value:
            say(f"  {name}: {before.get(name, 0):g} -> {value:g}")


def misspell() -> None:
    """A mistake in the configuration, and what it says."""
    say("A misspelt key:")
    try:
        KafkaConsumer({"bootstrap.servers": "localhost:9092", "max.pol.records": 100})
    except ConfigException as error:
        say(f"  ConfigException: {error}\n")


def freeze_and_thaw(broker: Broker, node: int, write: Callable[[], None]) -> None:
    """A group's consumer reads, and its broker freezes, thaws and freezes again."""
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        group_id="demo",
        group_protocol="consumer",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    with consumer:
        consumer.subscribe([TOPIC])
        say("\nA member of a group reads, and commits:")
        write()
        had = read(consumer, PARTITIONS * EACH // 3)
        consumer.commit_sync(timeout=5.0)
        before = figures(consumer)

        say("\nThe broker freezes. A commit with two seconds to do it in:")
        broker.freeze(node)
        with timeline.record(consumer) as recording:
            timed(lambda: consumer.commit_sync(timeout=2.0))
        ahead, began = 0, CLOCK.now()
        while records := consumer.poll(0.2):
            ahead, began = ahead + len(records), CLOCK.now()
        say(
            f"  Polls meanwhile return what was fetched ahead, {ahead} records; the last one, "
            f"poll(0.2), took {CLOCK.now() - began:.3f} s."
        )

        say("\nIt thaws, and the consumer goes on where it was:")
        broker.thaw(node)
        write()
        read(consumer, PARTITIONS * EACH, had + ahead)
        say(f"  commit_sync took {timed(lambda: consumer.commit_sync(timeout=10.0)):.3f} s")

        say("\nWhat consumer.metrics() has counted meanwhile:")
        changed(before, figures(consumer))

        say("\nIt freezes again, and the consumer closes, with one second for that:")
        broker.freeze(node)
        say(f"  close(1.0) took {timed(lambda: consumer.close(1.0)):.3f} s")
        broker.thaw(node)

    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(recording.svg(title="commit_sync(timeout=2.0), and the broker freezes"))
    say(f"\nWhere the two seconds went, as a picture: {PICTURE}")


def write_to_a_frozen_broker(broker: Broker, node: int) -> None:
    """A producer writes, its broker freezes, and it has to end all the same."""
    say("\nA producer writes, and its broker freezes. A flush with two seconds to do it in:")
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    where = producer.send(TOPIC, b"one more order").result(10.0)
    say(f"  the first record is at offset {where.offset} of {where.topic}-{where.partition}")
    broker.freeze(node)
    delivery = producer.send(TOPIC, b"the last order", partition=0)
    timed(lambda: producer.flush(2.0))

    say("It closes, with two seconds for that. What the log says of it:")
    log = logging.StreamHandler(sys.stdout)
    log.setLevel(logging.ERROR)
    logging.getLogger("prokurist").addHandler(log)
    began = CLOCK.now()
    given_up = producer.close(2.0)
    took = CLOCK.now() - began
    error = delivery.exception()
    say(f"  close(2.0) took {took:.3f} s, and gave up {given_up} record: {error}.")
    if error is not None and error.may_have_happened:
        say("  It was on the wire, so it may have been written: may_have_happened is True.")
    broker.thaw(node)


def main() -> int:
    """Show it all; 1 where a broker was to be had and failed."""
    say(f"prokurist {__version__}, record codec: {CHOICE.name}\n")
    misspell()
    kafka = os.environ.get("KAFKA", "") not in ("", "0")
    say("Starting a real Apache Kafka ..." if kafka else "Starting a broker ...")
    try:
        with real() if kafka else embedded() as serving:
            freeze_and_thaw(*serving)
            write_to_a_frozen_broker(*serving[:2])
    except KafkaUnavailable as error:
        say(f"  not on this machine: {error}")
    except (HarnessError, KafkaException) as error:
        say(f"  failed: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
