"""A sharer of a chaos run: a share consumer in a process of its own, and its journal.

It takes records until SIGTERM, then closes its consumer and ends. Each style uses another part
of the consumer: marks by polls, by hand, by blocks, by an iteration, and by other threads.

Thread: the main one, those that work on records, and the client's.
Invariants: a record and a decision on it are in the journal before a broker can hear of them.
"""

import faulthandler
import logging
import random
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from prokurist import KafkaShareConsumer, ShareRecord
from prokurist.errors import (
    AcknowledgeException,
    AcknowledgeTimeoutException,
    IllegalStateException,
    KafkaException,
)
from prokurist.types import Acknowledge
from tests.chaos.journal import Journal
from tests.chaos.member import JournalHandler
from tests.chaos.schedule import POLL_INTERVAL
from tests.soak.lateness import starved_since, thread_waits

POLL: Final = 1.0
CALL: Final = 2.0
CLOSE: Final = 3.0
LOCK: Final = 6.0
"""Seconds for which the group lends a record."""
LIMIT: Final = 10
"""Deliveries of a record until the group archives it."""
RELEASES: Final = 0.03
REJECTS: Final = 0.01
"""Shares of records that are released, and rejected."""
WORKERS: Final = 4

SHARER_STYLES: Final[dict[str, dict[str, Any]]] = {
    "polls": {},
    "explicit": {"share_acknowledgement_mode": "explicit"},
    "blocks": {"share_acquire_mode": "record_limit", "max_poll_records": 20},
    "iterates": {"share_renew_automatically": True},
    "threads": {"share_acknowledgement_mode": "explicit", "share_renew_automatically": True},
}
"""Configuration of each style."""

SHARER_KINDS: Final = {
    "born": "the process is about to join: its style",
    "got": "a poll has returned: lists of partition, offset, delivery count and value",
    "decides": "is about to be marked: lists of partition, offset and name of the mark",
    "taken": "brokers have taken acknowledgements: pairs of partition and offset",
    "refused": "acknowledgements were refused or lost: pairs of partition and offset",
    "call": "a call has ended: kind, timeout, seconds, starved ones, how",
    "logged": "a warning or worse: what it says",
    "wrong": "what must not be: in words",
    "closing": "the consumer is about to be closed, which releases what is undecided",
    "left": "the process has closed its consumer",
}
"""Every kind of event, and what is told of it."""


@dataclass(frozen=True)
class SharerDuty:
    """Orders of a sharer.

    Attributes:
        bootstrap: Where the cluster is.
        topic: The topic to read.
        group: Its group.
        style: A key of `SHARER_STYLES`.
        journal: The journal's path; the file of stderr lies beside it.
        seed: Seed of its lots.
        client: Name of its client; ours alone has share groups.
    """

    bootstrap: str
    topic: str
    group: str
    style: str
    journal: str
    seed: str
    client: str = "core"


class Sharer:
    """One share consumer, and what is done with its records."""

    def __init__(self, duty: SharerDuty, journal: Journal, stopping: threading.Event) -> None:
        self._duty = duty
        self._journal = journal
        self._stopping = stopping
        self._lot = random.Random(duty.seed)  # noqa: S311 - a lot that can be drawn again
        self._consumer = KafkaShareConsumer(
            bootstrap_servers=duty.bootstrap,
            group_id=duty.group,
            max_poll_interval_ms=int(POLL_INTERVAL * 1000),
            request_timeout_ms=3000,
            on_acknowledged=self._hear,
            **SHARER_STYLES[duty.style],
        )
        self._consumer.subscribe(duty.topic)

    def run(self) -> None:
        """Take records until it is time, and close."""
        step = getattr(self, f"_{self._duty.style}")
        with ThreadPoolExecutor(WORKERS) as self._workers:
            while not self._stopping.is_set():
                step()
        self._journal.write("closing")
        self._timed("close", CLOSE, lambda: self._consumer.close(CLOSE))

    # --- styles --------------------------------------------------------------------------

    def _polls(self) -> None:
        for record in self._poll():
            if (mark := self._draws(record)) is not Acknowledge.ACCEPT:
                self._mark(record, mark)
        self._pause()
        if self._lot.random() < 0.2:
            self._commit()

    def _explicit(self) -> None:
        for record in self._poll():
            self._mark(record, self._draws(record))
        self._pause()
        if self._lot.random() < 0.5:
            self._commit()
        elif self._lot.random() < 0.5:
            self._timed("commit_async", 0.0, self._consumer.commit_async)

    def _blocks(self) -> None:
        for record in self._poll():
            mark = self._draws(record)
            with suppress(RuntimeError), record:
                if mark is Acknowledge.RELEASE:
                    raise RuntimeError
                if mark is Acknowledge.REJECT:
                    self._mark(record, mark)
        self._commit()

    def _iterates(self) -> None:
        until = self._lot.randint(1, 60)
        try:
            for nth, record in enumerate(self._consumer.records(idle_timeout=POLL)):
                self._journal.write("got", [told(record)])
                if nth >= until or self._stopping.is_set():
                    released = Acknowledge.RELEASE.name
                    self._journal.write(
                        "decides", [[record.partition, record.offset, released]]
                    )
                    break
                if (mark := self._draws(record)) is not Acknowledge.ACCEPT:
                    self._mark(record, mark)
        except KafkaException as error:
            self._journal.write("wrong", f"records: {type(error).__name__}: {error}")
        self._pause()

    def _threads(self) -> None:
        records = list(self._poll())
        done = [self._workers.submit(self._work, each, self._draws(each)) for each in records]
        # The poll refuses to go on without a mark of each.
        while not all(each.done() for each in done):
            time.sleep(0.005)
            if self._lot.random() < 0.1:
                self._commit()
        if self._lot.random() < 0.3:
            self._commit()

    def _work(self, record: ShareRecord, mark: Acknowledge) -> None:
        if hash(record.offset) % 50 == 0:
            with suppress(IllegalStateException):
                record.renew()
            time.sleep(0.3)
        self._mark(record, mark)

    # --- within --------------------------------------------------------------------------

    def _poll(self) -> list[ShareRecord]:
        found = self._timed("poll", POLL, lambda: self._consumer.poll(POLL))
        records = list(found or ())
        if records:
            self._journal.write("got", [told(each) for each in records])
        return records

    def _draws(self, record: ShareRecord) -> Acknowledge:
        """Decide on a record, and write it down."""
        lot = self._lot.random()
        mark = Acknowledge.ACCEPT
        if lot < RELEASES and record.delivery_count < LIMIT // 2:
            mark = Acknowledge.RELEASE
        elif lot > 1 - REJECTS:
            mark = Acknowledge.REJECT
        self._journal.write("decides", [[record.partition, record.offset, mark.name]])
        return mark

    def _mark(self, record: ShareRecord, mark: Acknowledge) -> None:
        try:
            getattr(record, mark.name.lower())()
        except IllegalStateException as error:
            self._journal.write("wrong", f"{mark.name}: {error}")

    def _pause(self) -> None:
        if self._lot.random() < 0.02:
            time.sleep(self._lot.uniform(0.5, LOCK * 1.3))

    def _commit(self) -> None:
        done = self._timed("commit_sync", CALL, lambda: self._consumer.commit_sync(CALL))
        if done:
            self._taken(done)

    def _hear(self, offsets: Any, error: Any) -> None:
        """Take what the consumer tells of acknowledgements that no commit has waited for."""
        if error is None:
            self._taken(offsets)
        else:
            self._journal.write("refused", pairs(offsets))

    def _taken(self, offsets: Any) -> None:
        self._journal.write("taken", pairs(offsets))

    def _timed(self, kind: str, timeout: float, call: Callable[[], Any]) -> Any:
        """Make a call and write down how it ended; None where it raised."""
        began, waits = time.monotonic(), thread_waits()
        ending = "done"
        try:
            return call()
        except (AcknowledgeException, AcknowledgeTimeoutException) as error:
            ending = type(error).__name__
            if kind != "commit_sync":
                self._journal.write("wrong", f"{kind}: {ending}: {error}")
            self._taken(error.done)
            for tp, (offsets, _) in error.refused.items():
                self._journal.write("refused", [[tp.partition, each] for each in offsets])
        except Exception as error:  # noqa: BLE001 - any error is written down
            ending = type(error).__name__
            self._journal.write("wrong", f"{kind}: {ending}: {error}")
        finally:
            took = time.monotonic() - began
            if kind != "poll" or took >= timeout - 0.001 or ending != "done":
                owed = round(starved_since(waits), 5)
                self._journal.write("call", [kind, timeout, round(took, 5), owed, ending])
        return None


def told(record: ShareRecord) -> list[Any]:
    """A record, for the journal."""
    value = record.value.decode()
    return [record.partition, record.offset, record.delivery_count, value]


def pairs(offsets: Any) -> list[list[int]]:
    """Offsets by partition, for the journal."""
    return [[tp.partition, each] for tp, its in offsets.items() for each in its]


def main(duty: SharerDuty) -> None:
    """Share until SIGTERM."""
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    faulthandler.register(signal.SIGUSR1)
    journal = Journal(Path(duty.journal))
    journal.write("born", duty.style)
    logging.getLogger("prokurist").addHandler(JournalHandler(journal))
    Sharer(duty, journal, stopping).run()
    journal.write("left")
