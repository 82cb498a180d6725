"""A member of a chaos run: the real client in a process of its own, and its journal.

It reads until SIGTERM, then closes its consumer and ends.

Thread: the main one, and the client's.
Invariants: records are in the journal before any commit can cover them.
"""

import faulthandler
import logging
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from prokurist import (
    KafkaConsumer,
    OffsetAndMetadata,
    TimeoutException,
    TopicPartition,
    errors,
)
from tests.chaos.journal import Journal
from tests.chaos.kinds import READERS
from tests.chaos.readers import CALL, CLOSE, EVERY, POLL, REFUSED, Came, Hiccup
from tests.chaos.schedule import POLL_INTERVAL, SESSION
from tests.oracles.watching import requests_of
from tests.soak.lateness import starved_since, thread_waits
from tests.soak.numbering import value_of

HEARTBEAT: Final = 0.5
WINDOW: Final = 2.0
"""Seconds over which requests are counted."""
HICCUPS: Final = 0.002
"""Share of records at which the user's deserializer raises, until that has surfaced."""
CALLBACK_HICCUPS: Final = 0.1
"""Share of the listener's calls with new partitions that raise."""
FLAVOURS: Final[Mapping[str, Mapping[str, Any]]] = {
    "consumer": {"group_protocol": "consumer"},
    "cooperative": {"partition_assignment_strategy": "cooperative-sticky"},
    "eager": {"partition_assignment_strategy": "range"},
}
"""What makes a group: its protocol, and for a classic one how it shares out."""

MAY_RAISE: Final[Mapping[str, tuple[type[Exception], ...]]] = {
    "poll": (),
    "close": REFUSED,
    "commit_async": (),
    "commit_sync": (TimeoutException, *REFUSED),
    # What the contract says of a look-up by a member that the group has put out.
    "committed": (TimeoutException, errors.UnknownMemberIdException),
    "end_offsets": (TimeoutException,),
    # What is assigned may be lost between two lines of the application.
    "position": (TimeoutException, errors.IllegalStateException),
}
"""What each call may raise; everything else is wrong."""


@dataclass(frozen=True)
class Duty:
    """Orders of a member.

    Attributes:
        bootstrap: Where the cluster is.
        group: The group's id.
        topic: The topic to read.
        flavour: A key of `FLAVOURS`.
        client: A key of `READERS`.
        style: One of that reader's.
        instance: `group.instance.id`, if it has one.
        rack: `client.rack`, if it has one.
        journal: The journal's path; the file of stderr lies beside it.
        seed: Seed of its lots.
    """

    bootstrap: str
    group: str
    topic: str
    flavour: str
    client: str
    style: str
    instance: str | None
    rack: str
    journal: str
    seed: str


class JournalHandler(logging.Handler):
    """What is logged from warnings on, into the journal."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(logging.WARNING)
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Write one down by its event, without its figures: they are counted."""
        what = getattr(record, "event", record.msg)
        self._journal.write("logged", f"{record.levelname} {what}")


class Window:
    """What a consumer sends, and its process takes of the machine, in a while."""

    def __init__(self, consumer: KafkaConsumer) -> None:
        self._client = consumer._counted
        self._since = time.monotonic()
        self._spent = time.process_time()
        self._sent: Counter[str] = Counter()

    def over(self) -> tuple[float, dict[str, int], float] | None:
        """Its seconds, requests by broker, and processor time, once it is over."""
        now = time.monotonic()
        if now - self._since < WINDOW:
            return None
        sent, spent = Counter(requests_of(self._client)), time.process_time()
        told = (
            round(now - self._since, 3),
            dict(sent - self._sent),
            round(spent - self._spent, 4),
        )
        self._since, self._sent, self._spent = now, sent, spent
        return told


class Deserializer:
    """A user's deserializer, which raises now and then until the application has seen it.

    Args:
        lot: Decides when.
    """

    def __init__(self, lot: random.Random) -> None:
        self._lot = lot
        self._refused: bytes | None = None

    def __call__(self, value: bytes) -> bytes:
        """Return the value.

        Raises:
            Hiccup: Not yet.
        """
        if self._refused is None and self._lot.random() < HICCUPS:
            self._refused = value
        if self._refused is not None and self._refused == value:
            raise Hiccup("the deserializer raises")
        return value

    def recover(self) -> None:
        """Take the value that was refused: the error has surfaced."""
        self._refused = None


class Member:
    """One consumer, its listener and its interceptor."""

    def __init__(self, duty: Duty, journal: Journal) -> None:
        self._duty = duty
        self._journal = journal
        self._lot = random.Random(duty.seed)  # noqa: S311 - a lot to be drawn again
        self._deserializer = Deserializer(self._lot)
        self._next: dict[int, int] = {}
        self._reads = 0
        self._in_callbacks = 0.0
        self._refused: frozenset[TopicPartition] = frozenset()
        keys = {
            "bootstrap_servers": duty.bootstrap,
            "group_id": duty.group,
            "max_poll_interval_ms": int(POLL_INTERVAL * 1000),
            "client_rack": duty.rack,
            "interceptor_classes": [self],
            "value_deserializer": self._deserializer,
            **FLAVOURS[duty.flavour],
        }
        if duty.flavour != "consumer":
            # With the other protocol the brokers say how long.
            keys["session_timeout_ms"] = int(SESSION * 1000)
            keys["heartbeat_interval_ms"] = int(HEARTBEAT * 1000)
        if duty.instance is not None:
            keys["group_instance_id"] = duty.instance
        kind = READERS[duty.client]
        self._reader = kind(duty.topic, keys, duty.style, self)
        self._window = Window(self._reader.core)

    # --- what the client calls -----------------------------------------------------------

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """See `ConsumerRebalanceListener`."""
        with self._callback():
            raises = self._lot.random() < CALLBACK_HICCUPS
            if raises and self._duty.flavour == "consumer":
                # It is called again, and nothing is read before (B412). Where the member leaves
                # first, they are revoked and never stood in the journal.
                self._refused |= partitions
                raise Hiccup("the listener raises")
            self._refused -= partitions
            generation = self._reader.core.group_metadata().generation_id
            self._journal.write("assigned", [generation, numbers(partitions)])
            if raises:
                raise Hiccup("the listener raises, and is not called again")

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """See `ConsumerRebalanceListener`; most styles commit here."""
        with self._callback():
            partitions = self._owned(partitions)
            self._journal.write("revoking", numbers(partitions))
            if self._duty.style not in ("auto", "sync"):
                self._commit_sync()
            self._forget(partitions)
            self._journal.write("revoked", numbers(partitions))

    def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """See `ConsumerRebalanceListener`."""
        with self._callback():
            partitions = self._owned(partitions)
            self._journal.write("lost", numbers(partitions))
            self._forget(partitions)

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """An interceptor's: it hears of every commit that succeeded, automatic ones too."""
        pairs = [[tp.partition, given.offset] for tp, given in sorted(offsets.items())]
        self._journal.write("committed", pairs)

    # --- what it does --------------------------------------------------------------------

    def step(self) -> None:
        """Poll, process, and now and then commit or ask."""
        if (over := self._window.over()) is not None:
            self._journal.write("window", over)
        records = list(self._timed("poll", POLL, self._reader.poll) or ())
        if records:
            self._reads += 1
            self._process(records)
        # As often for each record, whether polls return one or many: who reads one by one and
        # paused as often for each poll would never catch up with the writer.
        share = min(1.0, EVERY / self._reader.every)
        if self._lot.random() < 0.01 * share:
            self._ask()
        if self._lot.random() < 0.005 * share:
            time.sleep(self._lot.uniform(0.1, 2.0))

    def leave(self) -> None:
        """Leave in order."""
        self._timed("close", CLOSE, self._reader.close)
        self._journal.write("left")

    def _process(self, records: list[Came]) -> None:
        style, due = self._duty.style, self._reads % self._reader.every == 0
        if style == "explicit" and due:
            half = len(records) // 2
            self._note(records[:half])
            self._commit_sync(by_hand=True)
            self._note(records[half:])
            return
        self._note(records)
        if style in ("sync", "stored") and due:
            self._commit_sync()
        elif style == "async" and due:
            self._timed("commit_async", 0.0, self._reader.commit_async)

    def _note(self, records: list[Came]) -> None:
        """To write them down is what processing them is here."""
        runs: list[list[int]] = []
        for record in records:
            number, offset = record.partition, record.offset
            if record.value != value_of(number, offset):
                self._journal.write("wrong", f"{number} has another value at {offset}")
            if runs and runs[-1][0] == number and runs[-1][2] == offset:
                runs[-1][2] += 1
            else:
                runs.append([number, offset, offset + 1])
            self._next[number] = offset + 1
        if not runs:
            return
        self._journal.write("read", runs)
        for record in records:
            self._reader.store(record)

    def _commit_sync(self, *, by_hand: bool = False) -> None:
        given = dict(self._next) if by_hand else None
        self._timed("commit_sync", CALL, lambda: self._reader.commit(given))

    def commit_failed(self, error: BaseException) -> None:
        """Write down an error that no asynchronous commit may have."""
        self._journal.write("wrong", f"commit_async: {type(error).__name__}: {error}")

    def _ask(self) -> None:
        """Some look-up."""
        reader = self._reader
        owned = numbers(reader.core.assignment())
        if not owned:
            return
        match self._lot.choice(["committed", "position", "end_offsets"]):
            case "committed":
                self._journal.write("looking")
                found = self._timed("committed", CALL, lambda: reader.committed(owned))
                if found is not None:
                    self._journal.write("looked", sorted(found.items()))
            case "position":
                partition = self._lot.choice(owned)
                self._timed("position", CALL, lambda: reader.position(partition))
            case _:
                self._timed("end_offsets", CALL, lambda: reader.end_offsets(owned))

    def recover(self) -> None:
        """Have the deserializer take the value that it has refused: its error has surfaced."""
        self._deserializer.recover()

    # --- how it is measured ---------------------------------------------------------------

    def _timed(self, kind: str, timeout: float, call: Callable[[], Any]) -> Any:
        """Make a call; None if it was refused or its time was over."""
        began, before, waits = time.monotonic(), self._in_callbacks, thread_waits()
        ending = "done"
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - any error is written down
            ours = self._reader.ours(error)
            ending = type(ours).__name__
            # A last automatic commit that was refused comes wrapped.
            cause = ours.__cause__ if kind == "close" else ours
            if kind == "poll" and is_hiccup(error):
                ending = Hiccup.__name__
                self.recover()
            elif not isinstance(cause, MAY_RAISE[kind]):
                self._journal.write("wrong", f"{kind}: {type(error).__name__}: {error}")
        finally:
            took = time.monotonic() - began - (self._in_callbacks - before)
            # Polls in time are by far the most, and what they bring is written down anyway.
            if kind != "poll" or took >= timeout - 0.001 or ending != "done":
                owed = round(starved_since(waits), 5)
                self._journal.write("call", [kind, timeout, round(took, 5), owed, ending])
        return None

    @contextmanager
    def _callback(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._in_callbacks += time.monotonic() - began

    def _owned(self, partitions: frozenset[TopicPartition]) -> frozenset[TopicPartition]:
        """Return those that the journal has as assigned."""
        owned = partitions - self._refused
        self._refused -= partitions
        return owned

    def _forget(self, partitions: frozenset[TopicPartition]) -> None:
        for tp in partitions:
            self._next.pop(tp.partition, None)


def is_hiccup(error: BaseException | None) -> bool:
    """Return True if an error, or a cause of it, is one of the member's own code."""
    while error is not None:
        if isinstance(error, Hiccup):
            return True
        error = error.__cause__
    return False


def numbers(partitions: frozenset[TopicPartition]) -> list[int]:
    """The numbers of partitions of the one topic."""
    return sorted(tp.partition for tp in partitions)


def main(duty: Duty) -> None:
    """Read until SIGTERM."""
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    faulthandler.register(signal.SIGUSR1)
    journal = Journal(Path(duty.journal))
    journal.write("born", duty.style)
    logging.getLogger("prokurist").addHandler(JournalHandler(journal))
    member = Member(duty, journal)
    while not stopping.is_set():
        member.step()
    member.leave()
