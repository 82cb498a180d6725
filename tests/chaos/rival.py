"""A rival of a chaos run: a process that takes the transactional ids of copiers, one by one.

It writes into their topic and commits nothing, so that no reader of committed records may see
anything of it. The copier whose id it has is fenced, perhaps amid a transaction, and takes its
id back; then the rival is fenced, if it has not ended its transaction before. It does so until
SIGTERM.

Thread: the main one, and those of its clients.
"""

import faulthandler
import logging
import random
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from prokurist import KafkaProducer
from prokurist.errors import KafkaException
from tests.chaos.journal import Journal
from tests.chaos.member import JournalHandler

CALL: Final = 5.0
"""Seconds for each call."""
PAUSES: Final = (3.0, 10.0)
"""Seconds between two ids that it takes."""
KEEPS: Final = (0.0, 2.0)
"""Seconds that it keeps a transaction open."""
PARTITIONS: Final = 6

RIVAL_KINDS: Final = {
    "born": "the process is about to begin: its name for the verdict",
    "taken": "an id was taken: which",
    "rivalry": "how it was given back: aborted, closed, or the error that came first",
}
"""Kinds of events that a rival writes, beside "logged" and "left"."""


@dataclass(frozen=True)
class RivalDuty:
    """Orders of a rival.

    Attributes:
        bootstrap: Where the cluster is.
        target: Where the copiers write.
        transactional_ids: Theirs.
        journal: The journal's path; the file of stderr lies beside it.
        seed: Seed of its lots.
        client: Name of its client; a key of `SENDERS`.
    """

    bootstrap: str
    target: str
    transactional_ids: tuple[str, ...]
    journal: str
    seed: str
    client: str = "core"


class Rival:
    """The process, with one producer after the other."""

    def __init__(self, duty: RivalDuty, journal: Journal, stopping: threading.Event) -> None:
        self._duty = duty
        self._journal = journal
        self._stopping = stopping
        self._lot = random.Random(duty.seed)  # noqa: S311 - a lot that can be drawn again

    def run(self) -> None:
        """Take ids until it is time to leave."""
        while not self._stopping.wait(self._lot.uniform(*PAUSES)):
            name = self._lot.choice(self._duty.transactional_ids)
            producer = KafkaProducer(
                bootstrap_servers=self._duty.bootstrap,
                transactional_id=name,
                transaction_timeout_ms=10_000,
                delivery_timeout_ms=8000,
                request_timeout_ms=3000,
                reconnect_backoff_max_ms=500,
            )
            try:
                ending = self._write(producer, name)
            except KafkaException as error:
                ending = type(error).__name__
            producer.close(CALL)
            self._journal.write("rivalry", ending)

    def _write(self, producer: KafkaProducer, name: str) -> str:
        """Open a transaction, write, and abort it or leave that to the close."""
        producer.init_transactions(CALL)
        self._journal.write("taken", name)
        producer.begin_transaction()
        for partition in range(PARTITIONS):
            producer.send(self._duty.target, b"rival:%s:x" % name.encode(), partition=partition)
        if self._lot.random() < 0.7:
            producer.flush(CALL)
        self._stopping.wait(self._lot.uniform(*KEEPS))
        if self._lot.random() < 0.5:
            return "closed"
        producer.abort_transaction(CALL)
        return "aborted"


def main(duty: RivalDuty) -> None:
    """Take ids until SIGTERM."""
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    faulthandler.register(signal.SIGUSR1)
    journal = Journal(Path(duty.journal))
    journal.write("born", "rival")
    logging.getLogger("prokurist").addHandler(JournalHandler(journal))
    Rival(duty, journal, stopping).run()
    journal.write("left")
