"""The reader of a workload: one consumer in one of the ways there are, and what it is owed."""

import re
from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any, Final

from prokurist import OffsetAndMetadata, SubscriptionPattern, errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.testing.cluster.apis import by_key
from prokurist.types import TopicPartition
from tests.oracles.bounds import Settings
from tests.oracles.liveness import Liveness
from tests.oracles.thrift import Thrift
from tests.simulation.book import Book
from tests.simulation.slow_brokers import readable_end
from tests.simulation.workload_topics import TOPICS, Topics
from tests.simulation.world import Member, World

WAYS: Final = ("assign", "assign", "names", "names", "pattern", "broker pattern")
HEARTBEAT: Final = 3.0
STEP: Final = 0.5
"""The longest poll, in seconds."""

EVERYTHING: Final = "orders|audit"
FEWER: Final = "orders"


class Reader:
    """A consumer, and the oracles that watch it.

    Args:
        world: Brokers and time.
        topics: What is written.
        lot: What draws the lots of its configuration.
        rack: The rack that it reads in; empty for none.
        read_committed: Whether it reads committed records alone.
        lag: Seconds within which brokers learn of changes; each bound is longer by that.
    """

    def __init__(
        self,
        world: World,
        topics: Topics,
        lot: Random,
        rack: str,
        *,
        read_committed: bool,
        lag: float,
    ) -> None:
        self.lag = lag
        self.world = world
        self.topics = topics
        pick = lot.choice
        self.way: str = pick(WAYS)
        self.protocol: str = pick(("classic", "consumer"))
        if self.way == "broker pattern":
            self.protocol = "consumer"
        self.reset: str = pick(("earliest", "latest"))
        self.pattern = EVERYTHING
        self.rack = rack
        self.keys: dict[str, Any] = {
            "auto_offset_reset": self.reset,
            "isolation_level": "read_committed" if read_committed else "read_uncommitted",
            "client_rack": rack,
            "enable_auto_commit": lot.random() < 0.7,
            "auto_commit_interval_ms": pick((1_000, 5_000)),
            "fetch_max_wait_ms": pick((500, 1_500)),
            "request_timeout_ms": pick((2_000, 5_000)),
            "socket_connection_setup_timeout_ms": 1_000,
            "retry_backoff_max_ms": pick((400, 1_000)),
            "reconnect_backoff_max_ms": pick((400, 1_000)),
            "group_protocol": self.protocol,
            "max_poll_records": pick((5, 500)),
        }
        if self.protocol == "classic":
            self.keys["partition_assignment_strategy"] = pick(("range", "cooperative-sticky"))
        self.paused: set[TopicPartition] = set()
        self.by_hand: set[TopicPartition] = set()
        self.told: set[TopicPartition] = set()
        self.sought: dict[TopicPartition, Book] = {}
        self.sent: Counter[tuple[int, int]] = Counter()
        self.records = 0
        self.consumer: KafkaConsumer
        self.member: Member
        self.liveness: Liveness[TopicPartition]
        self.thrift: Thrift[int]
        self.begin()

    def __repr__(self) -> str:
        return f"Reader({self.way}, {self.keys})"

    @property
    def is_member(self) -> bool:
        """Whether a group gives it its partitions."""
        return self.way != "assign"

    # --- lives of the process ----------------------------------------------------------

    def begin(self) -> None:
        """Start a process that goes on where the group has committed."""
        self.consumer = self.world.consumer(None, **self.keys)
        self.member = self.world.members[-1]
        settings = Settings.of(
            self.member.config, HEARTBEAT if self.is_member else float("inf")
        )
        if not hasattr(self, "liveness"):
            self.liveness = Liveness(settings, polls=STEP + self.lag)
            self.thrift = Thrift(settings)
        self._count_requests()
        self.paused, self.told, self.sought = set(), set(), {}
        if self.is_member:
            self.subscribe()
        else:
            self.by_hand = set()
            self.assign(set(self.topics.partitions()))

    def _count_requests(self) -> None:
        write = self.member.network.write

        def counted(connection: int, frame: bytes | bytearray) -> None:
            self.sent[connection, int.from_bytes(frame[4:6])] += 1
            write(connection, frame)

        self.member.network.write = counted  # type: ignore[method-assign]

    def sent_since(self, before: Counter[tuple[int, int]]) -> dict[int, Counter[str]]:
        """The requests since a moment by connection, and by kind."""
        found: dict[int, Counter[str]] = {}
        for (connection, key), count in self.sent.items():
            if fresh := count - before[connection, key]:
                found.setdefault(connection, Counter())[by_key()[key].name] = fresh
        return found

    def end(self, timeout: float) -> None:
        """End it in order."""
        with suppress(errors.KafkaException):  # A commit that finds its group in trouble.
            self.consumer.close(timeout)
        self.world.members.remove(self.member)

    def subscribe(self) -> None:
        """Subscribe in its way; by names to those that may come, where there are none."""
        topics: Any = self.topics.existing() or list(TOPICS)
        if self.way == "pattern":
            topics = re.compile(self.pattern)
        elif self.way == "broker pattern":
            topics = SubscriptionPattern(f"({self.pattern}).*")
        self.consumer.subscribe(topics, self)

    def assign(self, wanted: set[TopicPartition]) -> None:
        """Assign partitions by hand."""
        self.consumer.assign(sorted(wanted))
        self._placed(wanted - self.by_hand)
        self.by_hand = wanted
        self.paused &= wanted

    # --- the listener ------------------------------------------------------------------

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """They are read from where the group has committed, or the policy says.

        Or from where they were sought: a partition is assigned before this is called.
        """
        self.told |= partitions
        sought = {tp: self.sought.pop(tp, None) for tp in partitions}
        self._placed({tp for tp in partitions if self.topics.books.get(tp) is not sought[tp]})
        self.liveness.befell(self.world.clock.time, partitions)

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """They are not owed any more."""
        self.paused -= partitions
        self.told -= partitions

    def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """Likewise."""
        self.on_partitions_revoked(partitions)

    def _placed(self, partitions: set[TopicPartition]) -> None:
        committed = self.world.control.committed("g")
        for tp in partitions & self.topics.books.keys():
            book = self.topics.books[tp]
            kept = committed.get(tp)
            if kept is not None and kept.offset <= book.end:
                book.moved_to(kept.offset)
            elif kept is not None or self.reset == "latest":
                anywhere(book)
            else:
                book.moved_to(0)
        self.liveness.befell(self.world.clock.time, partitions)

    # --- its calls -----------------------------------------------------------------------

    def poll(self) -> None:
        """Once; what comes has to be due.

        A reader by hand that began while there was no topic has nothing to poll for until
        there is one.
        """
        now = self.world.clock
        if not self.is_member and not self.by_hand:
            self.assign(set(self.topics.partitions()))
            if not self.by_hand:
                now.sleep(STEP)
                return
        records = self.consumer.poll(STEP)
        assigned = self.consumer.assignment()
        self.sought = {tp: at for tp, at in self.sought.items() if tp in assigned}
        for tp in records.partitions():
            for record in records.records(tp):
                if self.topics.came(tp, record.offset, record.value or b""):
                    self.records += 1
                    self.liveness.returned(tp, now.time)

    def seek(self, tp: TopicPartition, offset: int | None) -> None:
        """Go to an offset; None is the end."""
        book = self.topics.books[tp]
        if offset is None:
            self.consumer.seek_to_end(tp)
            anywhere(book)
        else:
            self.consumer.seek(tp, offset)
            book.moved_to(offset)
        if self.is_member and tp not in self.told:
            self.sought[tp] = book
        self.liveness.befell(self.world.clock.time, [tp])

    def commit_without_epoch(self, tp: TopicPartition, offset: int) -> None:
        """Commit as other clients and admin tools do."""
        with suppress(errors.KafkaException):
            self.consumer.commit_sync({tp: OffsetAndMetadata(offset)}, timeout=1.0)
        book = self.topics.books[tp]
        if book.starts and not self.liveness.settled(tp, self.world.clock.time):
            book.starts |= {offset}  # A look-up that is under way may find it.

    # --- what is owed ----------------------------------------------------------------------

    def due(self) -> dict[TopicPartition, object | None]:
        """The next readable record of each partition whose leader can be reached."""
        state = self.world.cluster.state
        found: dict[TopicPartition, object | None] = {}
        for tp in self.consumer.assignment() - self.paused:
            book = self.topics.books.get(tp)
            if book is None:
                continue
            broker = state.brokers.get(state.topics[tp.topic].partitions[tp.partition].leader)
            if broker is None or not broker.running or broker.frozen:
                continue
            if not book.starts and self.liveness.settled(tp, self.world.clock.time):
                settle(book)
            end = readable_end(self.world, tp, committed=book.read_committed)
            found[tp] = book.left(end)
        return found

    def is_owed(self) -> bool:
        """Whether something is due, or will be once it is readable or a position is known."""
        books = [self.topics.books[tp] for tp in self.due()]
        return any(not book.starts or book.left() is not None for book in books)

    def look(self) -> None:
        """Judge what is due now."""
        now = self.world.clock.time
        if any(each.frozen for each in self.world.cluster.state.brokers.values()):
            self.liveness.silent(now)
        self.liveness.look(now, self.due(), self._describe)
        assert not self.liveness.wrongs, "\n".join(self.liveness.wrongs)

    def _describe(self, tp: TopicPartition) -> str:
        leader, epoch = self.world.control.leader(tp)
        return f"{tp}, led by {leader} in epoch {epoch}"


def anywhere(book: Book) -> None:
    """Reading goes on at a place that only the client knows."""
    book.starts, book.floor = frozenset(), 0


def settle(book: Book) -> None:
    """By now the place is known to the client, so what is written from now on is owed."""
    book.starts, book.floor = frozenset({*range(book.start, book.end + 1)}), float("inf")
