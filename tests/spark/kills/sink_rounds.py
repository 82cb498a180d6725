"""A pipeline that copies a topic to a topic, whose parts and brokers are killed.

The driver is killed between the sink's commit and Spark's: when the batch's rows are visible,
or at least written, and Spark has not noted that the batch is over.

Thread: one, as of other rounds.
"""

import contextlib
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import confluent_kafka

from prokurist.events.clock import Deadline
from prokurist.testing.kafka import RealKafka
from tests.spark.kills.pipeline import Duty
from tests.spark.kills.process_tree import Role
from tests.spark.kills.rounds import (
    FAR,
    LOCAL,
    LONGEST,
    MOST,
    PARTITIONS,
    WITHIN,
    Blow,
    Life,
    Round,
    RoundsResult,
    Stalled,
)
from tests.spark.kills.sink import Row, done

NODES: Final = 3
DELIVERIES: Final = ("at_least_once", "exactly_once")
VICTIMS: Final = (Role.DRIVER, Role.WORKER, Role.BROKER)
DOWN: Final = 5.0
"""Seconds that a broker is away."""
MOVING: Final = (
    confluent_kafka.KafkaError.NOT_COORDINATOR,
    confluent_kafka.KafkaError.COORDINATOR_NOT_AVAILABLE,
    confluent_kafka.KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)
GLANCE: Final = 0.002
"""Seconds between two looks for the moment between the two commits, which is short."""


@dataclass(frozen=True)
class SinkRound(Round):
    """One life of a pipeline that writes to a topic.

    Attributes:
        delivery: The sink's option.
    """

    delivery: str = "exactly_once"

    def __str__(self) -> str:
        return f"{self.delivery}, {super().__str__()}"


def drawn(seed: int) -> Iterator[SinkRound]:
    """Draw lives by lot, for each delivery in turn: the same seed, the same lives."""
    lot = random.Random(f"{seed} sink")  # noqa: S311 - a lot to be drawn again
    while True:
        for delivery in DELIVERIES:
            blows = tuple(
                Blow(role, lot.randrange(MOST + 1), lot.uniform(0.0, LONGEST))
                for role in lot.sample(VICTIMS, len(VICTIMS))
            )
            yield SinkRound(LOCAL, "earliest", blows, delivery)


@dataclass
class SinkResult(RoundsResult):
    """Outcome of some rounds.

    Attributes:
        between: Drivers that were killed between the two commits.
        twice: Rows that are there more than once, by delivery.
        topics: The topics that were written.
    """

    between: int = 0
    twice: Counter[str] = field(default_factory=Counter)
    topics: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """Say it in words."""
        twice = ", ".join(f"{count} of {name}" for name, count in sorted(self.twice.items()))
        return (
            f"{super().summary()}\n{self.between} drivers killed between the two commits; "
            f"rows that are there again: {twice or 'none'}"
        )


class SinkLife(Life):
    """One round as it goes.

    Args:
        kafka: The cluster.
        folder: A folder of this round alone.
        plan: The plan.
        outcome: The outcome so far, which is added to.
    """

    copies = NODES

    def __init__(
        self, kafka: RealKafka, folder: Path, plan: SinkRound, outcome: SinkResult
    ) -> None:
        self._kafka, self._sink_plan, self._sink_outcome = kafka, plan, outcome
        self._written = kafka.unique_topic("written", PARTITIONS, NODES)
        self._ledger = confluent_kafka.Consumer(
            {
                "bootstrap.servers": kafka.direct_bootstrap,
                "group.id": self._written,
                "log_level": 0,
            }
        )
        outcome.topics.append(self._written)
        super().__init__(kafka, folder, plan, outcome)

    def play(self) -> None:
        """Play it."""
        with contextlib.closing(self._ledger):
            super().play()

    def duty(self, kafka: RealKafka, folder: Path) -> Duty:
        """Have values written to the other topic."""
        writes = {
            "kafka.bootstrap.servers": kafka.bootstrap,
            "topic": self._written,
            "delivery": self._sink_plan.delivery,
        }
        if self._once:
            writes["exactlyOnceId"] = self._written
        duty = super().duty(kafka, folder)
        return Duty(duty.folder, duty.master, duty.options, "prokurist", writes)

    def found(self) -> Iterator[Row]:
        """Read what readers of committed records see; at least once, each row once."""
        counts: Counter[Row] = Counter()
        for value in committed(self._kafka, self._written):
            partition, offset = value.split()
            counts[int(partition), int(offset), value] += 1
        again = sum(counts.values()) - len(counts)
        if again:
            self._sink_outcome.twice[self._sink_plan.delivery] += again
        return counts.elements() if self._once else iter(counts)

    def strike(self, role: Role) -> None:
        """Strike a process, or a broker."""
        outcome = self._sink_outcome
        if role is Role.BROKER:
            node = self.lot.randrange(NODES)
            self._kafka.kill(node)
            outcome.struck[role] += 1
            self.wait(DOWN)
            self._kafka.restart(node, timeout=WITHIN)
            return
        if role is Role.DRIVER:
            self._await_written()
        super().strike(role)
        if role is Role.DRIVER and self._once and self._ledger_end() > done(self.checkpoint):
            outcome.between += 1

    @property
    def _once(self) -> bool:
        return self._sink_plan.delivery == "exactly_once"

    def _await_written(self) -> None:
        """Wait until a batch is written that Spark has not noted."""
        deadline = Deadline.after(self.clock.now(), WITHIN)
        noted, ends = -1, 0
        while not deadline.expired(self.clock.now()):
            batches = done(self.checkpoint)
            if self._once:
                if self._ledger_end() > batches == done(self.checkpoint):
                    return
            elif batches != noted:
                noted, ends = batches, self._ends()
            elif self._ends() > ends:
                return
            self.tick(GLANCE)
        raise Stalled("no batch was written")

    def _ledger_end(self) -> int:
        place = confluent_kafka.TopicPartition(self._written, 0)
        while True:
            try:
                (entry,) = self._ledger.committed([place], WITHIN)
                return max(0, entry.offset)
            except confluent_kafka.KafkaException as error:  # Its coordinator moves.
                if error.args[0].code() not in MOVING:
                    raise
                self.tick()

    def _ends(self) -> int:
        places = [confluent_kafka.TopicPartition(self._written, n) for n in range(PARTITIONS)]
        return sum(self._ledger.get_watermark_offsets(each, WITHIN)[1] for each in places)


def committed(kafka: RealKafka, topic: str) -> Iterator[bytes]:
    """Read the values of a topic by another client, which skips what was rolled back."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": kafka.direct_bootstrap,
            "group.id": f"reads-{topic}",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    left = set(range(PARTITIONS))
    with contextlib.closing(consumer):
        consumer.assign([confluent_kafka.TopicPartition(topic, each, 0) for each in left])
        while left:
            message = consumer.poll(WITHIN)
            assert message is not None, f"{topic} cannot be read to its end"
            error = message.error()
            if error is None:
                yield message.value() or b""
            elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                left.discard(message.partition())


def run(
    kafka: RealKafka, plans: Sequence[SinkRound], say: Callable[[str], None] = lambda _: None
) -> SinkResult:
    """Play some rounds."""
    outcome = SinkResult()
    for number, plan in enumerate(plans, 1):
        said = len(outcome.wrongs)
        with (
            tempfile.TemporaryDirectory(prefix="kills-", ignore_cleanup_errors=True) as folder,
            contextlib.ExitStack() as far,
        ):
            for node in range(NODES):
                far.enter_context(kafka.proxy(node).delay(FAR))
            SinkLife(kafka, Path(folder), plan, outcome).play()
        say(f"round {number}: {plan}")
        for each in outcome.wrongs[said:]:
            say(f"WRONG: {each}")
    return outcome
