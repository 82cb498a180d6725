"""A writer of a chaos run: the real producer in a process of its own, and its journal.

It sends until SIGTERM, then closes its producer and ends. Every now and then it closes one
and builds another.

Thread: the main one, those that send, and the producer's own, which runs delivery callbacks.
Invariants: that a record is to be sent is in the journal before any log can have it, and
what became of it before the callback returns.
"""

import faulthandler
import logging
import random
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

from prokurist.errors import IllegalStateException, KafkaException
from tests.chaos.journal import Journal
from tests.chaos.kinds import SENDERS
from tests.chaos.member import JournalHandler
from tests.chaos.senders import Ending, Sender
from tests.chaos.witness import Witness
from tests.soak.lateness import starved_since, thread_waits

CLOSE: Final = 5.0
KEYS: Final = 40
LARGE: Final = 60_000
"""Bytes of a value that a topic takes at times, and at times refuses."""


@dataclass(frozen=True)
class Style:
    """How a writer sends.

    Attributes:
        keys: What its producers are configured with, beside `COMMON`.
        threads: How many threads send with one producer.
        waits: What it waits for after some records: each delivery's result, or a flush.
    """

    keys: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1
    waits: str = "flush"

    @property
    def idempotent(self) -> bool:
        """Whether retries may neither duplicate nor reorder."""
        return bool(self.keys.get("enable_idempotence", True))

    @property
    def delivery_timeout(self) -> float:
        """Seconds by which each record has ended."""
        return float({**COMMON, **self.keys}["delivery_timeout_ms"]) / 1000

    @property
    def max_block(self) -> float:
        """Seconds by which each `send` returns."""
        return float({**COMMON, **self.keys}["max_block_ms"]) / 1000


COMMON: Final[Mapping[str, Any]] = {
    "delivery_timeout_ms": 20_000,
    "request_timeout_ms": 3000,
    "max_block_ms": 2000,
    "metadata_max_age_ms": 5000,
    "reconnect_backoff_max_ms": 500,
}
STYLES: Final[Mapping[str, Style]] = {
    "flushing": Style({"compression_type": "lz4", "linger_ms": 20}),
    "waiting": Style({"linger_ms": 0}, waits="result"),
    "threads": Style({"compression_type": "gzip"}, threads=3),
    "hasty": Style(
        {
            "delivery_timeout_ms": 2500,
            "request_timeout_ms": 1000,
            "max_block_ms": 300,
            "buffer_memory": 200_000,
        }
    ),
    "plain": Style({"acks": "1", "enable_idempotence": False}),
}
"""The writers of a run. The last one's broker may lose, repeat and reorder records."""

WRITER_KINDS: Final = {
    "born": "the process is about to send: its style",
    "intends": "records are about to be sent: stream, first sequence number, the one behind",
    "sent": "they were: stream, first sequence number, the partition of each",
    "acked": "a delivery: stream, sequence number, partition, offset, seconds",
    "failed": "one that failed: stream, sequence number, error, whether it may be in the log, "
    "seconds, starved ones",
    "call": "a call has ended: kind, timeout, seconds, starved ones, how",
    "logged": "a warning or worse: what it says",
    "held": "the machine did not let its threads run until now: seconds",
    "wrong": "what must not be: in words",
    "left": "the process has closed its producer",
}
"""Every kind of event, and what is told of it."""


@dataclass(frozen=True)
class WriterDuty:
    """Orders of a writer.

    Attributes:
        bootstrap: Where the cluster is.
        topic: Where it writes.
        name: What its records call it.
        client: A key of `SENDERS`.
        style: A key of `STYLES`.
        journal: The journal's path; the file of stderr lies beside it.
        seed: Seed of its lots.
    """

    bootstrap: str
    topic: str
    name: str
    client: str
    style: str
    journal: str
    seed: str


def key_of(stream: int, sequence: int) -> bytes | None:
    """The key of a record; a third of them have none."""
    if sequence % 3 == 0:
        return None
    return b"k%d" % ((stream * 31 + sequence) % KEYS)


def value_of(writer: str, stream: int, sequence: int) -> bytes:
    """The value of a record: mostly short, now and then large."""
    length = LARGE if sequence % 199 == 17 else sequence * 37 % 600
    head = b"%s:%d:%d:" % (writer.encode(), stream, sequence)
    return head + bytes((sequence % 251,)) * length


class Record:
    """One record on its way, and the callback of its delivery.

    Attributes:
        sequence: Its sequence number.
        began: When its `send` began, or returned if that took a while.
        blocked: Seconds of such a `send`.
        offset: Its offset, if it was delivered.
        failure: Name of its error, if it has failed.
    """

    __slots__ = ("_owed", "_stream", "began", "blocked", "failure", "offset", "sequence")

    def __init__(self, stream: "Stream", sequence: int, owed: Mapping[int, float]) -> None:
        self._stream = stream
        self._owed = owed
        self.sequence = sequence
        self.began = time.monotonic()
        self.offset: int | None = None
        self.failure: str | None = None
        self.blocked = 0.0

    def __call__(self, ending: Ending) -> None:
        """Write down what became of it."""
        stream = self._stream
        if ending.took is None:
            took = round(time.monotonic() - self.began, 5)
        else:
            took = round(ending.took - self.blocked, 5)
        if ending.error is None:
            self.offset = ending.offset
            at = [ending.partition, ending.offset]
            stream.journal.write("acked", [stream.number, self.sequence, *at, took])
        else:
            owed = 0.0
            if took > stream.style.delivery_timeout:
                owed = round(starved_since(self._owed), 5)
            self.failure = ending.error
            why = [ending.error, ending.maybe]
            stream.journal.write("failed", [stream.number, self.sequence, *why, took, owed])
        stream.pending.discard(self.sequence)


class Stream:
    """The records that one thread sends with one producer.

    Args:
        writer: The process.
        producer: What sends.
        number: Its number in this process.

    Attributes:
        number: The same.
        pending: The sequence numbers of records that have not ended.
    """

    def __init__(self, writer: "Writer", producer: Sender, number: int) -> None:
        self.number = number
        self.pending: set[int] = set()
        self.journal = writer.journal
        self.style = writer.style
        self._writer = writer
        self._producer = producer
        self._next = 0
        self._lot = random.Random(f"{writer.duty.seed} {number}")  # noqa: S311 - drawn again

    def run(self, go_on: Callable[[], bool]) -> None:
        """Send until it is time, or the producer is closed."""
        while go_on():
            try:
                self._step()
            except IllegalStateException:
                break  # Another thread has closed the producer.
            time.sleep(self._lot.choice([0.0, self._lot.uniform(0.05, 0.6)]))

    def _step(self) -> None:
        number = self._lot.choice([1, 3, 10, 40])
        if self._lot.random() < 0.01:
            number = 500
        self._send(number)
        if self.style.waits == "flush" and self._lot.random() < 0.2:
            timeout = self._lot.choice([0.0, 0.1, 1.0])
            ending = self.timed("flush", timeout, lambda: self._producer.flush(timeout))
            if ending == "done" and self.pending:
                self.journal.write("wrong", f"flushed, and {len(self.pending)} are pending")
        if self._lot.random() < 0.01:
            self.timed("purge", 1.0, self._producer.purge)
        if self._lot.random() < 0.02:
            topic = self._writer.duty.topic
            self.timed("partitions_for", 1.0, lambda: self._producer.partitions_for(topic, 1.0))

    def _send(self, number: int) -> None:
        """Send some records, and with one style wait for each of them."""
        first, owed = self._next, thread_waits()
        self._next = first + number
        self.journal.write("intends", [self.number, first, self._next])
        partitions: list[int | None] = []
        try:
            # What was sent before one raises stays in the list.
            partitions.extend(self._send_one(each, owed) for each in range(first, self._next))
        finally:
            self.journal.write("sent", [self.number, first, partitions])

    def _send_one(self, sequence: int, owed: Mapping[int, float]) -> int | None:
        record = Record(self, sequence, owed)
        value = value_of(self._writer.duty.name, self.number, sequence)
        key = key_of(self.number, sequence)
        self.pending.add(sequence)
        words: list[object]
        try:
            delivery = self._producer.send(self._writer.duty.topic, value, key, record)
        except IllegalStateException:
            # Raised, so it was not sent, and there is no callback.
            words = [self.number, sequence, "IllegalStateException", False, 0.0, 0.0]
            self.journal.write("failed", words)
            self.pending.discard(sequence)
            raise
        took = time.monotonic() - record.began
        if took > 0.02:
            # The time of a delivery begins with its batch.
            record.began += took
            record.blocked = took
            late = starved_since(owed)
            ending = "done"
            if record.failure is not None and took >= self.style.max_block - 0.001:
                ending = record.failure
            words = ["send", self.style.max_block, round(took, 5), round(late, 5), ending]
            self.journal.write("call", words)
        if self.style.waits == "result" and self._lot.random() < 0.5:
            timeout = self._lot.choice([0.1, 1.0])
            found: list[int | None] = []
            self.timed(
                "result",
                timeout,
                lambda: found.append(self._producer.result(delivery, timeout)),
            )
            # The end of a batch is visible before its callbacks run.
            for offset in found:
                if offset is not None and record.offset not in (None, offset):
                    self.journal.write("wrong", f"told {record.offset}, and then {offset}")
        return self._producer.partition_of(delivery)

    def timed(self, kind: str, timeout: float, call: Callable[[], object]) -> str:
        """Make a call: how it ended."""
        return self._writer.timed(kind, timeout, call)


class Writer:
    """The process, with one producer at a time.

    Attributes:
        duty: What it was told.
        journal: Where it writes down what happens.
        style: How it sends.
    """

    def __init__(self, duty: WriterDuty, journal: Journal) -> None:
        self.duty = duty
        self.journal = journal
        self.style = STYLES[duty.style]
        self._lot = random.Random(duty.seed)  # noqa: S311 - a lot to be drawn again
        self._numbers = count()
        self._witness = Witness(journal)

    def run(self, stopping: threading.Event) -> None:
        """Send with one producer after another."""
        while not stopping.is_set():
            until = time.monotonic() + self._lot.uniform(5.0, 40.0)
            self._live(lambda until=until: not stopping.is_set() and time.monotonic() < until)  # type: ignore[misc]

    def _live(self, go_on: Callable[[], bool]) -> None:
        """Build a producer, send with it, and close it."""
        servers = {"bootstrap_servers": self.duty.bootstrap}
        producer = SENDERS[self.duty.client]({**servers, **COMMON, **self.style.keys})
        streams = [
            Stream(self, producer, next(self._numbers)) for _ in range(self.style.threads)
        ]
        # One of several threads is closed upon, in the middle of what it does.
        threads = [
            threading.Thread(target=each.run, args=(go_on if nth else lambda: True,))
            for nth, each in enumerate(streams)
        ]
        if len(threads) == 1:
            streams[0].run(go_on)
        else:
            for thread in threads:
                thread.start()
            for thread in threads[1:]:
                thread.join()
        timeout, owed = self._lot.choice([0.0, 0.5, CLOSE]), thread_waits()
        self.timed("close", timeout, lambda: producer.close(timeout))
        # A network thread that was ready and not run owes its last callbacks yet.
        began, held = time.monotonic(), self._witness.held

        def is_within(seconds: float) -> bool:
            grants = starved_since(owed), self._witness.held - held
            return time.monotonic() - began < seconds + max(grants)

        while any(each.pending for each in streams) and is_within(0.0):
            time.sleep(0.01)
        for thread in threads[:1] if len(threads) > 1 else ():
            while thread.is_alive() and is_within(self.style.max_block + 1.0):
                thread.join(0.1)
            if thread.is_alive():
                self.journal.write("wrong", "a thread still sends with a closed producer")
        for stream in streams:
            if stream.pending:
                words = (
                    f"closed, and {len(stream.pending)} of stream {stream.number} are pending"
                )
                self.journal.write("wrong", words)

    def timed(self, kind: str, timeout: float, call: Callable[[], object]) -> str:
        """Make a call and write down how long it took: how it ended."""
        began, before = time.monotonic(), thread_waits()
        ending = "done"
        try:
            call()
        except IllegalStateException:
            ending = "IllegalStateException"
            raise
        except KafkaException as error:
            ending = type(error).__name__
            took = time.monotonic() - began
            if kind == "result" and took < timeout - 0.001:
                ending = "the record has failed"
        except Exception as error:  # noqa: BLE001 - any error is written down
            ending = type(error).__name__
            self.journal.write("wrong", f"{kind}: {ending}: {error}")
        finally:
            took = time.monotonic() - began
            owed = round(starved_since(before), 5)
            self.journal.write("call", [kind, timeout, round(took, 5), owed, ending])
        return ending


def main(duty: WriterDuty) -> None:
    """Send until SIGTERM."""
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    faulthandler.register(signal.SIGUSR1)
    journal = Journal(Path(duty.journal))
    journal.write("born", duty.style)
    logging.getLogger("prokurist").addHandler(JournalHandler(journal))
    Writer(duty, journal).run(stopping)
    journal.write("left")
