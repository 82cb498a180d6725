"""One soak: a writer, a checking reader in its own process, and troubles by lot.

Thread: the one that calls `run` makes the troubles; the writer has one, and one hears
the reader.
"""

import json
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

from prokurist.testing.kafka import AdminFailed, RealKafka
from tests.oracles.faults import Fault
from tests.soak.moving import move_leaders
from tests.soak.oracles import Oracles, Told
from tests.soak.schedule import FEWEST, NODES, Trouble, troubles
from tests.soak.writing import Writer

ROOT: Final = Path(__file__).parents[2]
PARTITIONS: Final = 6
RARE: Final = 2
"""How many of them are rarely written."""
REST: Final = 8.0
"""Seconds without a write, before each `TROUBLES`-th trouble."""
TROUBLES: Final = 4
WRITER_ENDS_WITHIN: Final = 90.0
READER_ENDS_WITHIN: Final = 150.0
SILENT: Final = 30.0
"""Seconds without a word after which the reader counts as hung."""

LATE: Final = 1000.0
"""Milliseconds behind its deadline from which on a call is late, on a machine that is busy."""
LEFT_LYING: Final = 45.0
"""Seconds that a record may be readable in a cluster full of trouble, and not be read."""
GROWTH: Final = 24 << 20
"""Bytes by which the reader's memory may differ between the middle of a run and its end."""


@dataclass
class SoakResult:
    """What came of a soak.

    Attributes:
        seed: Seed of the lots.
        seconds: How long it took.
        troubles: How often each came.
        written: Records that are written for good, and their bytes.
        longest: For how long a record was readable and not read at the most, and when.
        resident: The reader's memory, once a second.
        found: What the reader says at the end.
        judged: What the oracles have judged, to be read.
        wrongs: Faults, in words; none if all is well.
    """

    seed: int
    seconds: float = 0.0
    troubles: Counter[str] = field(default_factory=Counter)
    written: tuple[int, int] = (0, 0)
    longest: tuple[float, str] = (0.0, "")
    resident: list[int] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)
    judged: list[str] = field(default_factory=list)
    wrongs: list[str] = field(default_factory=list)

    def judge(self) -> None:
        """Hold what was measured against what may be."""
        self.wrongs += self.found.get("wrongs", ["the reader has said nothing at its end"])
        for kind, figures in self.found.get("lateness", {}).items():
            if figures["max"] > LATE:
                self.wrongs.append(f"{kind} was {figures['max']:.0f} ms late")
        if self.longest[0] > LEFT_LYING:
            self.wrongs.append("a record lay there for {:.1f} s, {}".format(*self.longest))
        if self.growth() > GROWTH and len(self.resident) > 600:
            self.wrongs.append(f"the reader has grown by {self.growth() >> 20} MiB")

    def growth(self) -> int:
        """The memory in the last quarter of the run, less that in its second quarter."""
        quarter = len(self.resident) // 4
        if not quarter:
            return 0
        second = statistics.median(self.resident[quarter : 2 * quarter])
        return int(statistics.median(self.resident[-quarter:]) - second)

    def summary(self) -> str:
        """All of it, to be read."""
        found = self.found
        lines = [
            f"seed {self.seed}, {self.seconds / 60:.1f} minutes",
            "troubles: "
            + ", ".join(f"{n} {kind}" for kind, n in sorted(self.troubles.items())),
            f"written: {self.written[0]} records, {self.written[1] >> 20} MiB",
            f"read, with those that were sought again: {found.get('records')}",
            "longest that a record was readable and not read: {:.1f} s {}".format(
                *self.longest
            ),
            *self.judged,
            f"memory: {max(self.resident, default=0) >> 20} MiB at the most",
            f"{self.growth() / (1 << 20):+.1f} MiB from its second quarter to its last",
            "behind the deadline, in ms, of calls that came to it:",
        ]
        for kind, figures in found.get("lateness", {}).items():
            cells = "  ".join(f"{name} {value:g}" for name, value in figures.items())
            lines.append(f"  {kind:18} {cells}")
        lines.append("calls: " + _counted(found.get("calls", {})))
        lines.append("endings: " + _counted(found.get("endings", {})))
        lines += [f"logged {n}: {words}" for words, n in found.get("logged", {}).items()]
        lines += ["WRONG: " + words for words in self.wrongs] or ["nothing was wrong"]
        return "\n".join(lines)


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in sorted(counts.items())) or "none"


class ReaderProcess:
    """The reader, seen from here.

    Attributes:
        read: How far it has read each partition.
    """

    def __init__(
        self, kafka: RealKafka, topic: str, outcome: SoakResult, oracles: Oracles
    ) -> None:
        self.read: dict[int, int] = {}
        self._oracles = oracles
        self._outcome = outcome
        self._heard = time.monotonic()
        arguments = (kafka.bootstrap, topic, str(PARTITIONS), str(outcome.seed))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.reading", *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._thread = threading.Thread(target=self._hear, name="soak-ear", daemon=True)
        self._thread.start()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            words = json.loads(line)
            self._heard = time.monotonic()
            if "read" in words:
                self.read = {int(each): offset for each, offset in words.pop("read").items()}
                self._outcome.resident.append(words.pop("resident"))
                self._oracles.told(Told(**words))
            else:
                self._outcome.found = words

    def hangs(self) -> bool:
        """Whether it has ended, or says nothing any more."""
        return self._process.poll() is not None or time.monotonic() - self._heard > SILENT

    def finish(self, ends: dict[int, int]) -> None:
        """Tell it how far to go, and wait until it has."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(ends) + "\n")
        self._process.stdin.flush()
        self._process.wait(READER_ENDS_WITHIN)
        self._thread.join()

    def close(self) -> None:
        """End it at any point; if it hangs it says on stderr where."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGUSR1)
            time.sleep(1.0)
        self._process.kill()
        self._process.wait()
        self._thread.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


def run(
    kafka: RealKafka, seed: int, seconds: float, say: Callable[[str], object] = print
) -> SoakResult:
    """Soak for so long.

    Args:
        kafka: Three nodes that are ours.
        seed: Seed of the lots.
        seconds: For how long troubles are made; catching up comes after it.
        say: Is told of each trouble.
    """
    outcome = SoakResult(seed)
    began = time.monotonic()
    topic = kafka.unique_topic(
        "soak", PARTITIONS, replication_factor=NODES, configs={"min.insync.replicas": 2}
    )
    with ExitStack() as stack:
        writer = Writer(kafka.bootstrap, topic, PARTITIONS, seed, rare=RARE)
        oracles = Oracles(writer.times)
        reader = ReaderProcess(kafka, topic, outcome, oracles)
        stack.callback(reader.close)
        writer.start()
        lot = random.Random(f"{seed} moves")  # noqa: S311 - a lot to be drawn again

        def watched(until: float, doing: str) -> bool:
            """Wait, and watch meanwhile; False if it is over."""
            while time.monotonic() < until:
                oracles.look(time.monotonic(), reader.read)
                age, partition = writer.waiting(reader.read)
                if age > outcome.longest[0]:
                    after = time.monotonic() - began
                    words = f"in partition {partition}, {after:.0f} s in ({doing})"
                    outcome.longest = (age, words)
                if reader.hangs():
                    outcome.wrongs.append(f"the reader hangs or has ended ({doing})")
                    return False
                time.sleep(0.25)
            return True

        for nth, trouble in zip(count(), troubles(seed), strict=False):
            if time.monotonic() - began > seconds and nth >= FEWEST:
                break
            if not watched(time.monotonic() + trouble.calm, "calm"):
                break
            if nth % TROUBLES == 1:
                writer.rest(REST)
                if not watched(time.monotonic() + REST, "rest"):
                    break
            say(f"{time.monotonic() - began:7.1f} s  {nth}: {trouble}")
            outcome.troubles[trouble.kind] += 1
            leaders = leaders_of(kafka, topic)
            since = time.monotonic()
            oracles.begins(Fault(trouble.kind, trouble.node, since, leaders=leaders))
            goes_on = befall(kafka, topic, trouble, watched, lot, outcome.troubles)
            oracles.ends(time.monotonic())
            if not goes_on:
                break
        kafka.heal()
        writer.stop(WRITER_ENDS_WITHIN)
        outcome.wrongs += writer.failures + oracles.wrongs
        outcome.judged = oracles.summary()
        if not reader.hangs():
            reader.finish(writer.acknowledged)
        outcome.written = (sum(writer.acknowledged.values()), writer.bytes)
    outcome.seconds = time.monotonic() - began
    outcome.judge()
    return outcome


def leaders_of(kafka: RealKafka, topic: str) -> list[int]:
    """Who leads each partition; nothing while a cluster that settles does not say so."""
    with suppress(AdminFailed):
        return kafka.leaders(topic)
    return []


def befall(
    kafka: RealKafka,
    topic: str,
    trouble: Trouble,
    watched: Callable[[float, str], bool],
    lot: random.Random,
    moved: Counter[str],
) -> bool:
    """Make one trouble, and undo it after its time; False if the reader has given up."""
    node = trouble.node
    until = time.monotonic() + trouble.length
    words = str(trouble)
    match trouble.kind:
        case "kill":
            kafka.kill(node)
            goes_on = watched(until, words)
            kafka.restart(node, timeout=120.0)
        case "restart":
            kafka.restart(node, timeout=120.0)
            goes_on = watched(time.monotonic(), words)
        case "freeze" | "freeze all":
            nodes = [node] if trouble.kind == "freeze" else range(NODES)
            for each in nodes:
                kafka.freeze(each)
            goes_on = watched(until, words)
            for each in nodes:
                kafka.thaw(each)
        case "move":
            # A cluster that is still settling after what was before may move nothing.
            with suppress(AdminFailed):
                moved["leaders moved"] += move_leaders(kafka, topic, PARTITIONS, node, lot)
            goes_on = watched(time.monotonic(), words)
        case _:
            goes_on = _on_the_wire(kafka, trouble, lambda: watched(until, words))
    return goes_on


def _on_the_wire(kafka: RealKafka, trouble: Trouble, wait: Callable[[], bool]) -> bool:
    proxy = kafka.proxy(trouble.node)
    match trouble.kind:
        case "reset":
            proxy.reset()
            return True
        case "swallow":
            fault = proxy.swallow("to_client")
        case "delay":
            fault = proxy.delay(min(trouble.length, 0.5))
        case _:
            fault = proxy.throttle(50_000, "to_client")
    try:
        return wait()
    finally:
        fault.heal()
