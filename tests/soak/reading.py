"""The checking reader of a soak, in a process of its own: its memory is the client's.

    python -m tests.soak.reading BOOTSTRAP TOPIC PARTITIONS SEED

It says on stdout, as a line of JSON each, how far it is, once a second, and what it has
found, at the end. The end is a line of JSON on stdin: how far each partition goes.

Thread: the main one reads and calls; one hears what is said on stdin; one wakes.
"""

import faulthandler
import json
import logging
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

import psutil

from prokurist import (
    KafkaConsumer,
    OffsetAndMetadata,
    TimeoutException,
    TopicPartition,
    WakeupException,
    errors,
)
from tests.oracles.watching import requests_of
from tests.soak.lateness import Lateness, starved_since, thread_waits
from tests.soak.numbering import Places

CATCHES_UP_WITHIN: Final = 120.0
CLOSES_WITHIN: Final = 5.0
BACK: Final = 400

OTHERS: Final = {
    "commit_sync": 3,
    "commit_async": 3,
    "committed": 2,
    "position": 3,
    "end_offsets": 3,
    "beginning_offsets": 1,
    "partitions_for": 1,
    "seek": 3,
    "pause": 2,
    "assign": 1,
    "iterate": 4,
}
"""What the reader does beside polling, and how often, beside the others."""


class LogCount(logging.Handler):
    """Counts what is logged from warnings on, by what it says."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        self.counts[f"{record.levelname} {record.msg}"] += 1


class Reader:
    """One consumer that reads everything, by every way there is, and checks it."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, seed: int) -> None:
        self.all = [TopicPartition(topic, number) for number in range(partitions)]
        self.places = Places(range(partitions))
        self.late = Lateness()
        self.endings: Counter[str] = Counter()
        self.lot = random.Random(f"{seed} reader")  # noqa: S311 - a lot to be drawn again
        self.uncounted: int | None = None
        self.done = 0
        self.consumer = KafkaConsumer(
            {"bootstrap.servers": bootstrap},
            group_id=f"soak-{topic}",
            auto_offset_reset="none",
            auto_commit_interval_ms=1000,
            metadata_max_age_ms=10_000,
            max_poll_records=700,
        )
        self.consumer.assign(self.all)
        for tp in self.all:
            self.consumer.seek(tp, 0)

    def timed(self, kind: str, timeout: float, call: Callable[[], Any]) -> Any:
        """Make a call; None if its time was over or it was woken.

        What the machine owes this process is not counted as lateness.
        """
        began, owed = time.monotonic(), thread_waits()
        gave_up = False
        try:
            return call()
        except TimeoutException:
            gave_up = True
            self.endings[f"{kind}: TimeoutException"] += 1
        except WakeupException:
            self.endings[f"{kind}: WakeupException"] += 1
        except Exception as error:  # noqa: BLE001 - any error is written down
            self.endings[f"{kind}: {type(error).__name__}"] += 1
            self.places.wrong(f"{kind}: {type(error).__name__}: {error}")
        finally:
            elapsed = time.monotonic() - began
            if elapsed > timeout:
                elapsed = max(timeout, elapsed - starved_since(owed))
            self.late.ended(kind, timeout, elapsed, gave_up=gave_up)
        return None

    def step(self) -> None:
        """Poll, and now and then do something else."""
        self.poll(self.lot.choices([0.0, 0.05, 0.2, 1.0], [1, 4, 6, 2])[0])
        if self.lot.random() < 0.04:
            (kind,) = self.lot.choices(list(OTHERS), list(OTHERS.values()))
            self.done += 1
            getattr(self, kind)()

    def poll(self, timeout: float) -> None:
        """Take what there is."""
        records = self.timed("poll", timeout, lambda: self.consumer.poll(timeout)) or ()
        self.done += bool(records)
        for record in records:
            self.places.saw(record.partition, record.offset, record.value)
        self.uncounted = None

    def iterate(self) -> None:
        """Some records one by one; the last of them is not done with yet."""
        most = self.lot.randrange(1, 200)

        def go() -> None:
            for nth, record in enumerate(self.consumer.records(idle_timeout=0.2)):
                self.uncounted = record.partition
                self.places.saw(record.partition, record.offset, record.value)
                if nth == most:
                    return

        # Each record has a time of its own, so all that is held against it is an error.
        self.timed("records", float("inf"), go)

    def commit_sync(self) -> None:
        """Commit where we are."""
        timeout = self.budget()
        self.timed("commit_sync", timeout, lambda: self.consumer.commit_sync(timeout=timeout))

    def commit_async(self) -> None:
        """Commit, and hear later how it went."""

        def done(
            _offsets: Mapping[TopicPartition, OffsetAndMetadata],
            error: BaseException | None,
        ) -> None:
            self.endings[f"commit_async: {type(error).__name__ if error else 'done'}"] += 1
            if error is not None and not isinstance(
                error, errors.RetriableCommitFailedException
            ):
                self.places.wrong(f"commit_async: {type(error).__name__}: {error}")

        self.timed("commit_async", 0.0, lambda: self.consumer.commit_async(callback=done))

    def committed(self) -> None:
        """No more was committed than was read."""
        timeout = self.budget()
        found = self.timed(
            "committed", timeout, lambda: self.consumer.committed(self.all, timeout=timeout)
        )
        for tp, offset in (found or {}).items():
            if offset is not None and offset.offset > self.places.highest[tp.partition]:
                self.places.wrong(f"committed {offset.offset} of {tp}, which was not read")

    def position(self) -> None:
        """Positions are where we believe to be."""
        tp = self.lot.choice(self.all)
        timeout = self.budget()
        found = self.timed(
            "position", timeout, lambda: self.consumer.position(tp, timeout=timeout)
        )
        due = self.places.next[tp.partition]
        if found is not None and found != due and self.uncounted != tp.partition:
            self.places.wrong(f"position of {tp} is {found}, and {due} is due")

    def end_offsets(self) -> None:
        """No log ends before what was read."""
        timeout = self.budget()
        found = self.timed(
            "end_offsets", timeout, lambda: self.consumer.end_offsets(self.all, timeout=timeout)
        )
        for tp, end in (found or {}).items():
            if end < self.places.highest[tp.partition]:
                self.places.wrong(f"{tp} ends at {end}, and was read further")

    def beginning_offsets(self) -> None:
        """Every log begins at its beginning."""
        timeout = self.budget()
        found = self.timed(
            "beginning_offsets",
            timeout,
            lambda: self.consumer.beginning_offsets(self.all, timeout=timeout),
        )
        if any((found or {}).values()):
            self.places.wrong(f"logs begin at {found}")

    def partitions_for(self) -> None:
        """The topic is there."""
        timeout = self.budget()
        found = self.timed(
            "partitions_for",
            timeout,
            lambda: self.consumer.partitions_for(self.all[0].topic, timeout=timeout),
        )
        if found is not None and len(found) != len(self.all):
            self.places.wrong(f"partitions_for: {found}")

    def seek(self) -> None:
        """Go back a little."""
        tp = self.lot.choice(self.all)
        offset = max(0, self.places.next[tp.partition] - self.lot.randrange(BACK))
        self.consumer.seek(tp, offset)
        self.places.sought(tp.partition, offset)

    def pause(self) -> None:
        """Nothing comes of what is paused."""
        paused = self.lot.sample(self.all, self.lot.randrange(1, len(self.all) + 1))
        self.consumer.pause(paused)
        before = [self.places.next[tp.partition] for tp in paused]
        for _ in range(self.lot.randrange(5)):
            self.poll(0.05)
        if [self.places.next[tp.partition] for tp in paused] != before:
            self.places.wrong(f"records of paused partitions: {paused}")
        self.consumer.resume(paused)

    def assign(self) -> None:
        """Leave some out for a moment, take them back, and go on where they were left."""
        out = self.lot.sample(range(len(self.all)), 2)
        self.consumer.assign([tp for tp in self.all if tp.partition not in out])
        for _ in range(self.lot.randrange(10)):
            self.poll(0.05)
        self.consumer.assign(self.all)
        for number in out:
            self.consumer.seek(self.all[number], self.places.next[number])

    def budget(self) -> float:
        """The time for a call."""
        return self.lot.choice([0.0, 0.05, 0.3, 1.0, 3.0])


class Ends:
    """Hears on stdin that there will be no more."""

    def __init__(self) -> None:
        self.ends: dict[int, int] | None = None
        self.gone = False
        threading.Thread(target=self._hear, name="soak-ear", daemon=True).start()

    def _hear(self) -> None:
        line = sys.stdin.readline()
        if line:
            self.ends = {int(each): end for each, end in json.loads(line).items()}
        self.gone = not line


def wake_at_times(consumer: KafkaConsumer, seed: int) -> None:
    """Another thread calls off what the reader waits for, every few seconds."""
    lot = random.Random(f"{seed} wakes")  # noqa: S311 - a lot to be drawn again

    def go() -> None:
        while True:
            time.sleep(lot.uniform(1.0, 15.0))
            consumer.wakeup()

    threading.Thread(target=go, name="soak-waker", daemon=True).start()


def say(words: dict[str, Any]) -> None:
    """A line for the parent."""
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def main(bootstrap: str, topic: str, partitions: str, seed: str) -> None:
    """Read until the ends that are told, and say what was found."""
    faulthandler.register(signal.SIGUSR1)
    log = LogCount()
    logging.getLogger("prokurist").addHandler(log)
    reader = Reader(bootstrap, topic, int(partitions), int(seed))
    wake_at_times(reader.consumer, int(seed))
    ends = Ends()
    self = psutil.Process()
    told, until = 0.0, float("inf")
    while True:
        reader.step()
        now = time.monotonic()
        if now - told >= 1.0:
            told = now
            say(
                {
                    "at": now,
                    "read": reader.places.highest,
                    "resident": self.memory_info().rss,
                    "sent": requests_of(reader.consumer._counted),
                    "spent": time.process_time(),
                    "done": reader.done,
                }
            )
        if ends.gone or now > until:
            break
        if ends.ends is not None:
            until = min(until, now + CATCHES_UP_WITHIN)
            if reader.places.highest == ends.ends:
                break
    if reader.places.highest != ends.ends:
        reader.places.wrong(f"read up to {reader.places.highest}, and not to {ends.ends}")
    reader.timed("close", CLOSES_WITHIN, lambda: reader.consumer.close(timeout=CLOSES_WITHIN))
    say(
        {
            "records": reader.places.count,
            "wrongs": reader.places.wrongs + reader.late.early,
            "lateness": reader.late.table(),
            "calls": reader.late.calls,
            "endings": reader.endings,
            "logged": log.counts,
        }
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
