"""A pipeline whose parts are killed at moments drawn by lot, and what it has written.

Thread: one. It writes to the topic whenever it waits, so there is always more to read.
"""

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import confluent_kafka

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka import RealKafka
from tests.spark.jobs import TOO_SLOW
from tests.spark.kills.pipeline import Duty
from tests.spark.kills.process_tree import Pipeline, Role
from tests.spark.kills.sink import Row, begun, done, rows, underway, value_of, wrongs

PARTITIONS: Final = 2
LOCAL, CLUSTER = "local[2,3]", "local-cluster[2,1,1024]"
VICTIMS: Final = {
    LOCAL: (Role.DRIVER, Role.RUNNER, Role.WORKER),
    CLUSTER: (Role.DRIVER, Role.RUNNER, Role.WORKER, Role.EXECUTOR),
}
"""Who can be killed. In a local Spark the driver is the executor."""
MOST: Final = 4
"""Batches, at most, from a query's beginning to a blow."""
LONGEST: Final = 3.0
"""Seconds, at most, from the end of those to it."""
WITHIN: Final = 240.0
"""Seconds for each wait, on a machine that is shared."""
TICK: Final = 0.05
BURST: Final = 3
"""Records of each partition that are written in a tick."""
FIRST: Final = 2000
"""Records of each partition that are there before."""
FAR: Final = 0.02
"""Seconds that a byte is on its way to the broker, and as many back: so a task is reading
for most of a batch, and can be met in the middle."""


@dataclass(frozen=True)
class Blow:
    """Who is killed, and when.

    Attributes:
        role: Who.
        batches: How many are done by then, since the query was begun or struck last.
        after: Seconds from there.
    """

    role: Role
    batches: int
    after: float


@dataclass(frozen=True)
class Round:
    """One pipeline's life.

    Attributes:
        master: Spark's.
        begins: Where it begins to read.
        blows: In their order.
    """

    master: str
    begins: str
    blows: tuple[Blow, ...]

    def __str__(self) -> str:
        blows = ", ".join(
            f"{blow.role} {blow.after:.1f} s after {blow.batches} batches"
            for blow in self.blows
        )
        return f"{self.master} from {self.begins}, {blows}"


def drawn(seed: int) -> Iterator[Round]:
    """Lives by lot: the same seed, the same lives."""
    lot = random.Random(f"{seed} spark")  # noqa: S311 - a lot to be drawn again
    while True:
        for master, victims in VICTIMS.items():
            order = lot.sample(victims, len(victims))
            blows = tuple(
                Blow(role, lot.randrange(MOST + 1), lot.uniform(0.0, LONGEST)) for role in order
            )
            yield Round(master, lot.choice(("earliest", "latest")), blows)


@dataclass
class RoundsResult:
    """Result of some rounds.

    Attributes:
        rounds: How many there were.
        rows: How many rows were written once.
        struck: Who was killed how often.
        underway: How many of them while a batch was.
        first: How many of them before the first batch of all was over.
        slow: How often Spark found a Python of its own too slow in starting.
        failed_after: Seconds from a runner's end to its query's.
        wrongs: What must not be, in words.
    """

    rounds: int = 0
    rows: int = 0
    struck: Counter[Role] = field(default_factory=Counter)
    underway: int = 0
    first: int = 0
    slow: int = 0
    failed_after: list[float] = field(default_factory=list)
    wrongs: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """In words."""
        struck = ", ".join(f"{count} {role}s" for role, count in sorted(self.struck.items()))
        failed = f"{max(self.failed_after):.1f} s" if self.failed_after else "-"
        told = [
            f"{self.rounds} rounds, {self.rows} rows, killed: {struck or 'none'}",
            f"{self.underway} of them within a batch, {self.first} before the first was over",
            f"a query failed {failed} after its runner, at most",
            f"Spark found its Python too slow in starting {self.slow} times",
        ]
        told += [f"WRONG: {each}" for each in self.wrongs]
        return "\n".join(told if self.wrongs else [*told, "nothing was wrong"])


class Writer:
    """Who fills the topic; every record says where it is.

    Attributes:
        written: How many records each partition has.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "batch.num.messages": 100,
                "log_level": 0,
            }
        )
        self._topic = topic
        self.written = dict.fromkeys(range(PARTITIONS), 0)

    def write(self, count: int) -> None:
        """So many more for each partition."""
        for partition, before in self.written.items():
            for offset in range(before, before + count):
                value = value_of(partition, offset)
                self._producer.produce(self._topic, value, partition=partition)
            self.written[partition] = before + count
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until all of it is there."""
        left = self._producer.flush(WITHIN)
        assert not left, f"{left} records were not taken"


class Life:
    """One round as it goes.

    Args:
        kafka: Where the topic is.
        folder: Of this round alone.
        plan: What is to happen.
        outcome: What has happened is written there.

    Attributes:
        lot: For what is to be drawn.
        clock: Of its deadlines.
        copies: Of each partition of its topic.
    """

    copies = 1

    def __init__(
        self, kafka: RealKafka, folder: Path, plan: Round, outcome: RoundsResult
    ) -> None:
        self._topic = kafka.unique_topic("kills", PARTITIONS, self.copies)
        self._plan, self._outcome = plan, outcome
        self.lot = random.Random(repr(plan))  # noqa: S311 - a lot to be drawn again
        self.clock = MonotonicClock()
        self._writer = Writer(kafka.direct_bootstrap, self._topic)
        self._starts: dict[int, int] | None = None
        self._duty = self.duty(kafka, folder)
        self._writer.write(FIRST)
        self._writer.flush()
        self._pipeline = Pipeline(self._duty)
        self._writes = True
        self._expected = 0

    def duty(self, kafka: RealKafka, folder: Path) -> Duty:
        """Say what the pipeline is to do."""
        options = {
            "kafka.bootstrap.servers": kafka.bootstrap,
            "kafka.max.partition.fetch.bytes": "2000",
            "subscribe": self._topic,
            "startingOffsets": self._plan.begins,
            "maxOffsetsPerTrigger": "1000",
            "maxRecordsPerPartition": "250",
        }
        return Duty(str(folder), self._plan.master, options)

    def play(self) -> None:
        """Strike the blows, let the pipeline come to its end, and see what it has written."""
        try:
            for blow in self._plan.blows:
                self._until(lambda: self._pipeline.reads)
                self._read_on(blow.batches)
                self.wait(blow.after)
                self.strike(blow.role)
            self._until(lambda: self._pipeline.reads)
            self._read_on(MOST)
            # What comes later is none of the last trigger's.
            self._writes = False
            self._writer.flush()
            self._duty.enough.touch()
            self._until(lambda: self._pipeline.count("done") > 0)
            self._leave()
            self._judge()
        except Stalled as error:
            self._wrong(str(error))
        finally:
            self._pipeline.close()

    def found(self) -> Iterator[Row]:
        """Read what was written."""
        return rows(self._duty.rows)

    def _read_on(self, batches: int) -> None:
        due = done(self._duty.checkpoint) + batches
        self._until(lambda: done(self._duty.checkpoint) >= due)

    @property
    def checkpoint(self) -> Path:
        """Spark's folder of offsets."""
        return self._duty.checkpoint

    def strike(self, role: Role) -> None:
        """End one of these."""
        outcome, pipeline = self._outcome, self._pipeline
        self._until(lambda: pipeline.strike(role, self.lot))
        outcome.underway += underway(self._duty.checkpoint)
        outcome.first += done(self._duty.checkpoint) == 0
        outcome.struck[role] += 1
        if role is Role.DRIVER:
            self._leave()
            self._pipeline, self._expected = Pipeline(self._duty), 0
        elif role is Role.RUNNER:
            since = self.clock.now()
            self._expected += 1
            self._until(lambda: len(self._failures()) >= self._expected)
            outcome.failed_after.append(self.clock.now() - since)

    def _leave(self) -> None:
        """Have a pipeline end that has come to its end: nothing is left of it."""
        for each in self._pipeline.last_ones():
            self._wrong(f"left behind: {each}")
        failures = self._failures()
        self._outcome.slow += self._pipeline.count("failed") - len(failures)
        if len(failures) > self._expected:
            self._wrong(f"the query has failed by itself: {failures}")

    def _failures(self) -> list[str]:
        """Why the query has failed, each time; but for those that were Spark's own doing."""
        happened = self._pipeline.happened()
        failures = [words for kind, words in happened if kind == "failed"]
        return [each for each in failures if TOO_SLOW not in each]

    def _judge(self) -> None:
        starts, ends = self._starts, self._writer.written
        if starts is None:
            self._wrong("its first offsets do not say where it began")
            return
        # What was there before is read, or is not, and nothing else is known of a beginning.
        late = self._plan.begins == "latest"
        for partition, start in starts.items():
            if start < FIRST if late else start != 0:
                self._wrong(f"partition {partition} was begun at {start}")
        for each in wrongs(self.found(), starts, ends):
            self._wrong(each)
        self._outcome.rounds += 1
        self._outcome.rows += sum(ends[each] - starts[each] for each in ends)

    def _wrong(self, words: str) -> None:
        self._outcome.wrongs.append(f"{self._plan}: {words}")

    def _until(self, question: Callable[[], bool]) -> None:
        pipeline = self._pipeline
        deadline = Deadline.after(self.clock.now(), WITHIN)
        while not question():
            if deadline.expired(self.clock.now()) or (pipeline.ended and not question()):
                ended = "has ended" if pipeline.ended else f"has not come on in {WITHIN} s"
                said = pipeline.stderr.read_text(errors="replace")[-3000:]
                raise Stalled(f"the pipeline {ended}: {pipeline.happened()[-3:]} {said}")
            self.tick()

    def wait(self, seconds: float) -> None:
        """Wait, and write meanwhile."""
        deadline = Deadline.after(self.clock.now(), seconds)
        while not deadline.expired(self.clock.now()):
            self.tick()

    def tick(self, seconds: float = TICK) -> None:
        """Write some records, and sleep."""
        if self._writes:
            self._writer.write(BURST)
        # Spark throws its first offsets away some day.
        if self._starts is None:
            self._starts = begun(self._duty.checkpoint, self._topic)
        self.clock.sleep(seconds)


class Stalled(Exception):
    """A pipeline does not come on."""


def run(
    kafka: RealKafka, plans: Sequence[Round], say: Callable[[str], None] = lambda _: None
) -> RoundsResult:
    """Play some rounds."""
    outcome = RoundsResult()
    for number, plan in enumerate(plans, 1):
        said = len(outcome.wrongs)
        with (
            tempfile.TemporaryDirectory(prefix="kills-", ignore_cleanup_errors=True) as folder,
            kafka.proxy().delay(FAR),
        ):
            Life(kafka, Path(folder), plan, outcome).play()
        say(f"round {number}: {plan}")
        for each in outcome.wrongs[said:]:
            say(f"WRONG: {each}")
    return outcome
