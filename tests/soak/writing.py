"""The writer of a soak: a client that is not ours, idempotent, with acks=all.

Some partitions may be rarely written, and it can be given a rest: what has nothing to read
shall be judged as well.

Thread: its own, from `start` to `stop`.
Invariants: it never gives a record up, so what it wrote has no holes.
"""

import logging
import random
import threading
import time
from array import array
from collections import deque
from typing import Any, Final

import confluent_kafka

from tests.soak.numbering import value_of

TICK: Final = 0.02
BURST: Final = 4000
SELDOM: Final = (4.0, 15.0)
"""Seconds between two records of rarely written partitions."""


class Writer:
    """Writes numbered records into a topic, and notes what was acknowledged when.

    Attributes:
        acknowledged: How many records of each partition are written for good.
        times: For each partition when each of these was acknowledged.
        failures: What went wrong, in words.
        bytes: How many bytes of values are written for good.
    """

    def __init__(
        self, bootstrap: str, topic: str, partitions: int, seed: int, *, rare: int = 0
    ) -> None:
        """Connect to nothing yet.

        Args:
            bootstrap: Where the cluster is.
            topic: What is written.
            partitions: How many it has.
            seed: Seed of the lots.
            rare: How many of them, the last ones, are rarely written.
        """
        quiet = logging.getLogger("prokurist.soak.writer")
        quiet.propagate = False
        quiet.addHandler(logging.NullHandler())
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                # With several in flight librdkafka may write a batch twice when a leader moves
                # (its issue 4953), and then no sequence number is an offset any more.
                "max.in.flight.requests.per.connection": 1,
                "compression.type": "lz4",
                "linger.ms": 20,
                "message.timeout.ms": 0,
                "socket.timeout.ms": 6000,
                "topic.metadata.refresh.interval.ms": 2000,
                "reconnect.backoff.max.ms": 1000,
            },
            logger=quiet,
        )
        self._topic = topic
        self._lot = random.Random(f"{seed} writer")  # noqa: S311 - a lot to be drawn again
        self._sent = dict.fromkeys(range(partitions), 0)
        self.acknowledged = dict.fromkeys(range(partitions), 0)
        self.times: dict[int, array[float]] = {each: array("d") for each in self._sent}
        self._busy = range(partitions - rare)
        self._rare = range(partitions - rare, partitions)
        self._rests_until = 0.0
        self.failures: list[str] = []
        self.bytes = 0
        self._samples: dict[int, deque[tuple[int, float]]] = {
            each: deque() for each in self._sent
        }
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="soak-writer", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Write no more, and wait until all that was written is acknowledged."""
        self._stopped.set()
        self._thread.join(timeout)
        if left := self._producer.flush(timeout):
            self.failures.append(f"{left} records are not acknowledged after {timeout} s")

    def rest(self, seconds: float) -> None:
        """Write nothing for so long."""
        self._rests_until = time.monotonic() + seconds

    def waiting(self, read: dict[int, int]) -> tuple[float, int]:
        """For how long the oldest record that is written for good has not been read.

        Args:
            read: How far each partition has been read.

        Returns:
            Seconds, and the partition.
        """
        now = time.monotonic()
        worst = (0.0, -1)
        for partition, samples in self._samples.items():
            while samples and samples[0][0] < read.get(partition, 0):
                samples.popleft()
            if samples:
                worst = max(worst, (now - samples[0][1], partition))
        return worst

    def _run(self) -> None:
        rate = 10.0
        until = time.monotonic()
        owed = 0.0
        seldom = time.monotonic()
        while not self._stopped.is_set():
            if time.monotonic() < self._rests_until:
                self._producer.poll(TICK)
                continue
            if self._rare and time.monotonic() >= seldom:
                self._write_one(self._lot.choice(self._rare))
                seldom = time.monotonic() + self._lot.uniform(*SELDOM)
            if time.monotonic() >= until:
                rate = self._lot.choice([0.2, 5.0, 10.0, 20.0])
                until = time.monotonic() + self._lot.uniform(1.0, 10.0)
                owed += BURST if self._lot.random() < 0.1 else 0
            owed += rate
            while owed >= 1.0 and not self._stopped.is_set():
                if not self._write_one(self._lot.choice(self._busy)):
                    break
                owed -= 1.0
            self._producer.poll(TICK)

    def _write_one(self, partition: int) -> bool:
        """Hand one record over; False while the producer's queue is full."""
        sequence = self._sent[partition]
        value = value_of(partition, sequence)

        def delivered(error: Any, message: Any) -> None:
            self._delivered(partition, sequence, len(value), error, message)

        try:
            self._producer.produce(
                self._topic, value, partition=partition, on_delivery=delivered
            )
        except BufferError:
            return False
        self._sent[partition] = sequence + 1
        return True

    def _delivered(
        self, partition: int, sequence: int, size: int, error: Any, message: Any
    ) -> None:
        if error is not None:
            self._fail(f"record {sequence} of partition {partition}: {error}")
            return
        # A broker that has it already, from an attempt whose answer was lost, says not where.
        if message.offset() not in (sequence, None):
            self._fail(f"partition {partition}: {sequence} is at {message.offset()}")
        self.acknowledged[partition] = max(self.acknowledged[partition], sequence + 1)
        self.bytes += size
        samples, times = self._samples[partition], self.times[partition]
        now = time.monotonic()
        times.extend([now] * (self.acknowledged[partition] - len(times)))
        if not samples or now - samples[-1][1] > 0.25:
            samples.append((sequence, now))

    def _fail(self, words: str) -> None:
        if len(self.failures) < 20:
            self.failures.append(words)
