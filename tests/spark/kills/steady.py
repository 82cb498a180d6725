"""A query's long life: what it holds at its end, beside what it held when it was young.

No process is killed here. Looked at are the driver, which is a program and its JVM, the
source's process beside it, and the workers in which its tasks read.

Thread: one.
"""

import re
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import psutil

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka import RealKafka
from tests.spark.kills.pipeline import Duty
from tests.spark.kills.process_tree import Pipeline, Role
from tests.spark.kills.rounds import LOCAL, PARTITIONS, WITHIN, Writer
from tests.spark.kills.sink import done

EACH: Final = 20
"""Records of a batch."""
LOOK: Final = 0.5
MORE_FILES: Final = 4
"""A task's own that may be open at one look, and not at another."""
MORE_MEMORY: Final = 16 << 20
OF_JAVA: Final = 42
"""Files and threads of its own, which the driver's JVM opens and closes as it likes: its pools
come to their sizes in the first hundred batches (18 threads more in their last quarter than in
their second, 35 on a machine with twice as much to do; 2 in a thousand). One a batch would be
fifty. What it holds of memory, it does not
give back: that says nothing."""
LAUNCHER: Final = re.compile(r"WARNING: Using incubator modules: jdk\.incubator\.vector")
"""What Java says of itself when Spark starts it."""


WATCHED: Final = {Role.PROGRAM, Role.DRIVER, Role.RUNNER, Role.WORKER}
Held = tuple[Role, int, int, int]
"""What a process is, and its open files, its threads, and its private bytes."""


@dataclass(frozen=True)
class Sample:
    """What was held at one moment.

    Attributes:
        batch: The last batch that was over.
        connections: How many the broker has seen, from the first on.
        held: By process.
    """

    batch: int
    connections: int
    held: dict[int, Held]


@dataclass
class SteadyResult:
    """What came of a long life.

    Attributes:
        batches: How many it was to have.
        samples: In their order.
        said: Lines of its standard error.
        wrongs: What must not be, in words.
        figures: What was seen, in words.
    """

    batches: int
    samples: list[Sample] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    wrongs: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)

    def judge(self) -> None:
        """Hold the end of that life against its youth."""
        young = [each for each in self.samples if each.batch in self._quarter(1)]
        old = [each for each in self.samples if each.batch in self._quarter(3)]
        if not young or not old:
            self.wrongs.append(f"it was not looked at in time: {len(self.samples)} samples")
            return
        seen = old[-1].connections - young[0].connections
        self.figures.append(f"{old[-1].connections} connections, {seen} of them later")
        if seen:
            self.wrongs.append(f"{seen} new connections after a quarter of the batches")
        both = young[-1].held.keys() & old[0].held.keys()
        roles = {old[0].held[pid][0] for pid in both}
        self.wrongs += [f"no {role} has lived through it" for role in WATCHED - roles]
        for pid in sorted(both):
            self._compare(old[0].held[pid][0], peaks(young, pid), peaks(old, pid))
        strange = [each for each in self.said if not LAUNCHER.fullmatch(each)]
        if strange:
            self.wrongs.append(f"{len(strange)} lines on stderr: {strange[:5]}")

    def summary(self) -> str:
        """In words."""
        told = [f"{self.batches} batches; {'; '.join(self.figures)}"]
        told += [f"WRONG: {each}" for each in self.wrongs]
        return "\n".join(told if self.wrongs else [*told, "nothing was wrong"])

    def _quarter(self, number: int) -> range:
        return range(self.batches * number // 4, self.batches * (number + 1) // 4)

    def _compare(self, role: Role, young: Iterable[int], old: Iterable[int]) -> None:
        (files, threads, memory), (files_now, threads_now, memory_now) = young, old
        self.figures.append(
            f"{role}: files {files} and {files_now}, threads {threads} and {threads_now}, "
            f"MiB {memory / (1 << 20):.1f} and {memory_now / (1 << 20):.1f}"
        )
        is_java = role is Role.DRIVER
        if files_now > files + (OF_JAVA if is_java else MORE_FILES):
            self.wrongs.append(f"a {role} had {files} open files, and now {files_now}")
        if threads_now > threads + OF_JAVA * is_java:
            self.wrongs.append(f"a {role} had {threads} threads, and now {threads_now}")
        if memory_now > memory + MORE_MEMORY and not is_java:
            grown = (memory_now - memory) >> 20
            self.wrongs.append(f"a {role} has grown by {grown} MiB")


def peaks(samples: Iterable[Sample], pid: int) -> tuple[int, int, int]:
    """The most that a process has held of each."""
    files, threads, memory = zip(
        *(each.held[pid][1:] for each in samples if pid in each.held), strict=True
    )
    return max(files), max(threads), max(memory)


def run(kafka: RealKafka, batches: int, *, writes: bool = False) -> SteadyResult:
    """Read so many batches, one after the other, and write them to another topic if wanted."""
    topic = kafka.unique_topic("steady", PARTITIONS)
    # A client's first refresh has a connection of its own, which it keeps: that is to come
    # while the query is young, and not after five minutes.
    refreshed = {
        "kafka.bootstrap.servers": kafka.bootstrap,
        "kafka.metadata.max.age.ms": "1000",
    }
    sink = {**refreshed, "topic": kafka.unique_topic("written", PARTITIONS)} if writes else {}
    writer = Writer(kafka.direct_bootstrap, topic)
    writer.write(batches * EACH // PARTITIONS)
    writer.flush()
    outcome = SteadyResult(batches)
    with tempfile.TemporaryDirectory(prefix="steady-", ignore_cleanup_errors=True) as folder:
        duty = Duty(
            folder,
            LOCAL,
            {
                **refreshed,
                "subscribe": topic,
                "startingOffsets": "earliest",
                "maxOffsetsPerTrigger": str(EACH),
            },
            sink="prokurist" if writes else "noop",
            writes=sink,
        )
        duty.enough.touch()
        pipeline = Pipeline(duty)
        try:
            _watch(kafka, pipeline, duty, outcome)
            outcome.wrongs += [f"left behind: {each}" for each in pipeline.last_ones()]
            outcome.said = pipeline.stderr.read_text(errors="replace").splitlines()
            if not pipeline.count("done"):
                outcome.wrongs.append("it has not come to its end")
        finally:
            pipeline.close()
        if (count := done(duty.checkpoint)) != batches:
            outcome.wrongs.append(f"there were {count} batches")
    outcome.judge()
    return outcome


def _watch(kafka: RealKafka, pipeline: Pipeline, duty: Duty, outcome: SteadyResult) -> None:
    """Look, until the pipeline is done, or does not come on."""
    clock = MonotonicClock()
    deadline = Deadline.after(clock.now(), WITHIN)
    known = 0
    while not (pipeline.ended or deadline.expired(clock.now())):
        clock.sleep(LOOK)
        batch = done(duty.checkpoint) - 1
        if batch > known:
            known = batch
            deadline = Deadline.after(clock.now(), WITHIN)
            held: dict[int, Held] = {}
            for each, role in pipeline.roles().items():
                if role in WATCHED:
                    with suppress(psutil.Error), each.oneshot():
                        own = each.memory_full_info().uss
                        held[each.pid] = role, each.num_fds(), each.num_threads(), own
            outcome.samples.append(Sample(batch, kafka.proxy().accepted, held))
