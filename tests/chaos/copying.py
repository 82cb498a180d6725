"""A copier of a chaos run: read, process, write in a process of its own, and its journal.

It copies until SIGTERM, then closes its clients and ends. Its value of a copy names itself and
the transaction. Every now and then its work fails, or another producer takes its
`transactional.id`; after a fatal error it begins again with other clients.

Thread: the main one, and those of the clients.
"""

import faulthandler
import logging
import random
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from prokurist import ConsumerRecords, KafkaConsumer, KafkaProducer, ReadProcessWrite
from prokurist.errors import KafkaException, ProducerFencedException
from tests.chaos.journal import Journal
from tests.chaos.member import JournalHandler
from tests.chaos.schedule import POLL_INTERVAL, SESSION

CALL: Final = 5.0
"""Seconds for each call at the end of a transaction."""
CLOSE: Final = 3.0
FAILS: Final = 0.02
FENCES: Final = 0.003
"""How often the work fails, and how often another producer takes the id."""

COPIER_KINDS: Final = {
    "born": "the process is about to copy: its protocol",
    "begun": "a transaction is to be committed: its number, how many records, and which",
    "ended": "its number, and how: committed, aborted or in doubt",
    "error": "what a round has raised",
    "logged": "a warning or worse: what it says",
    "left": "the process has closed its clients",
}
"""Every kind of event, and what is told of it."""


class WorkFailed(Exception):
    """The work on a record has failed."""


@dataclass(frozen=True)
class CopierDuty:
    """Orders of a copier.

    Attributes:
        bootstrap: Where the cluster is.
        source: Whose records it copies.
        target: Where it copies them to, each into the partition of the same number.
        group: The group, which is the protocol's name as well.
        name: What its copies call it.
        transactional_id: The id of its producers.
        journal: The journal's path; the file of stderr lies beside it.
        seed: Seed of its lots.
        client: Name of its client; a key of `READERS` and `SENDERS`.
    """

    bootstrap: str
    source: str
    target: str
    group: str
    name: str
    transactional_id: str
    journal: str
    seed: str
    client: str = "core"


class Copier:
    """One pair of clients after the other."""

    def __init__(self, duty: CopierDuty, journal: Journal, stopping: threading.Event) -> None:
        self._duty = duty
        self._journal = journal
        self._stopping = stopping
        self._lot = random.Random(duty.seed)  # noqa: S311 - a lot that can be drawn again
        self._numbers = count()

    def run(self) -> None:
        """Copy until it is time to leave."""
        while not self._stopping.is_set():
            consumer, producer = self._consumer(), self._producer()
            try:
                self._live(consumer, producer)
            except KafkaException as error:
                self._journal.write("error", f"over: {type(error).__name__}")
            finally:
                consumer.close(CLOSE)
                producer.close(CLOSE)

    def _consumer(self) -> KafkaConsumer:
        keys: dict[str, Any] = {"group_protocol": self._duty.group}
        if self._duty.group == "classic":
            keys["session_timeout_ms"] = round(SESSION * 1000)
        return KafkaConsumer(
            bootstrap_servers=self._duty.bootstrap,
            group_id=f"{self._duty.group}-{self._duty.target}",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_poll_records=40,
            max_poll_interval_ms=round(POLL_INTERVAL * 1000),
            request_timeout_ms=3000,
            reconnect_backoff_max_ms=500,
            **keys,
        )

    def _producer(self) -> KafkaProducer:
        return KafkaProducer(
            bootstrap_servers=self._duty.bootstrap,
            transactional_id=self._duty.transactional_id,
            transaction_timeout_ms=10_000,
            delivery_timeout_ms=8000,
            request_timeout_ms=3000,
            reconnect_backoff_max_ms=500,
        )

    def _live(self, consumer: KafkaConsumer, producer: KafkaProducer) -> None:
        """Copy until an error is fatal.

        Raises:
            KafkaException: It is over with the producer.
        """
        consumer.subscribe([self._duty.source])
        ready = False
        while not ready and not self._stopping.is_set():
            try:
                producer.init_transactions(CALL)
                ready = True
            except KafkaException as error:
                if error.fatal:
                    raise
        work = producer.read_process_write(consumer, CALL)
        while not self._stopping.is_set():
            self._round(work, producer)

    def _round(self, work: ReadProcessWrite, producer: KafkaProducer) -> None:
        """Copy the records of one poll, and write down how its transaction has ended."""
        number = None
        try:
            with work.poll(0.5) as records:
                if records:
                    number = next(self._numbers)
                    self._journal.write("begun", [number, len(records), places(records)])
                    self._copy(records, producer, number)
        except (KafkaException, WorkFailed) as error:
            self._journal.write("error", type(error).__name__)
            if number is not None:
                transactions = producer._transactions
                doubt = transactions is not None and transactions.is_in_doubt
                # The id was taken between a commit and its repetition.
                doubt |= isinstance(error, ProducerFencedException) and error.may_have_happened
                self._journal.write("ended", [number, "in doubt" if doubt else "aborted"])
            if isinstance(error, KafkaException) and error.fatal:
                raise
            return
        if number is not None:
            self._journal.write("ended", [number, "committed"])

    def _copy(self, records: ConsumerRecords, producer: KafkaProducer, number: int) -> None:
        """Send the copies.

        Raises:
            WorkFailed: It was drawn by lot.
        """
        for record in records:
            value = b"%s:%d:%s" % (self._duty.name.encode(), number, record.value or b"")
            producer.send(self._duty.target, value, partition=record.partition)
        if self._lot.random() < FENCES:
            with self._producer() as other, suppress(KafkaException):
                other.init_transactions(CALL)
        if self._lot.random() < FAILS:
            raise WorkFailed
        time.sleep(self._lot.choice([0.0, 0.0, 0.05]))


def places(records: ConsumerRecords) -> list[tuple[int, int, int]]:
    """The partition, first and last offset of each run of records."""
    return [
        (tp.partition, records.records(tp)[0].offset, records.records(tp)[-1].offset)
        for tp in records.partitions()
    ]


def main(duty: CopierDuty) -> None:
    """Copy until SIGTERM."""
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    faulthandler.register(signal.SIGUSR1)
    journal = Journal(Path(duty.journal))
    journal.write("born", duty.group)
    logging.getLogger("prokurist").addHandler(JournalHandler(journal))
    Copier(duty, journal, stopping).run()
    journal.write("left")
