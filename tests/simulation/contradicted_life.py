"""A client's life with brokers that contradict themselves for a while, by lot.

First all is well, then answers are changed by lot, then all is well again. In each part the
user goes on: polls, sends, calls. Four things are held: no turn without an end and no dead
thread, requests and turns in proportion to the time, no more memory than answers are large,
and within a minute of good answers records come and go again.
"""

import logging
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

from prokurist import KafkaConsumer, KafkaProducer, TopicPartition
from prokurist.errors import KafkaException
from prokurist.testing.cluster.group_settings import GroupSettings
from tests.simulation.contradictions import ContradictedWorld, Contradictions

TOPICS: Final = {"orders": 3, "other": 2}
PARTITIONS: Final = [
    TopicPartition(topic, number) for topic, count in TOPICS.items() for number in range(count)
]
READING: Final = ("Metadata", "Fetch", "ListOffsets", "OffsetForLeaderEpoch")
COMMITTING: Final = ("FindCoordinator", "OffsetFetch", "OffsetCommit")
KINDS: Final = {
    "classic": (*READING, *COMMITTING, "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"),
    "consumer": (*READING, *COMMITTING, "ConsumerGroupHeartbeat"),
    "assign": (*READING, *COMMITTING),
    "producer": ("Metadata", "Produce", "InitProducerId"),
}
"""The kinds of clients, and the APIs that they use."""
MINUTE: Final = 60.0
AT_ONCE: Final = 10.0
"""Seconds within which records come when all has been well for a minute."""

REQUESTS: Final = 60
"""Requests a second that wrong answers may cost, in the mean: some for each back-off."""
TURNS: Final = 8
"""Turns of the loop that one request may cost."""
LINES: Final = 4
"""Lines a minute of one kind: it may be about several brokers, topics or groups."""
NEWS: Final = ("partitions_lost", "membership_ended")
"""Events of which each is another one."""
MEMORY: Final = 64 << 20
"""Bytes by which the process may grow: the model keeps a journal, too."""
PROCESSOR: Final = 30.0
"""Seconds of the processor for a life, which takes less than one."""


class Endless(BaseException):
    """A life has used up its time of the processor."""


class ContradictedLife:
    """One life.

    Args:
        seed: Everything comes of it.
        kind: The client's kind; None for one by lot.

    Attributes:
        log: What happened, for a failure's report.
    """

    def __init__(self, seed: int, kind: str | None = None) -> None:
        self.lot = Random(seed)  # noqa: S311 - a replayable seed
        self.kind = self.lot.choice(tuple(KINDS)) if kind is None else kind
        self.world = ContradictedWorld(self.lot.choice((1, 2, 3)), dict(TOPICS), seed)
        self.world.control.configure_groups(GroupSettings(consumer_heartbeat_interval=3.0))
        for tp in PARTITIONS:
            self.world.control.append(tp, b"first")
        only = None
        if self.lot.random() < 0.6:
            only = frozenset(self.lot.sample(KINDS[self.kind], self.lot.choice((1, 1, 2, 3))))
        rate = self.lot.choice((0.02, 0.1, 0.3, 0.7, 1.0))
        self.wrong = self.world.wrong = Contradictions(self.lot, rate, only)
        self.wrong.ids = [each.id for each in self.world.cluster.state.topics.values()]
        self.log: list[str] = [f"{self.kind}, {rate} of {only or 'all'}"]
        self.met: Counter[str] = Counter()
        self.client: KafkaConsumer | KafkaProducer = self._client()

    def _client(self) -> KafkaConsumer | KafkaProducer:
        pick = self.lot.choice
        keys: dict[str, Any] = {"metadata_max_age_ms": pick((500, 5_000, 300_000))}
        if self.kind == "producer":
            keys |= {"linger_ms": pick((0, 5)), "enable_idempotence": pick((True, False))}
            return self.world.producer(
                None,
                max_block_ms=2_000,
                request_timeout_ms=5_000,
                delivery_timeout_ms=20_000,
                **keys,
            )
        keys |= {
            "auto_offset_reset": "earliest",
            "enable_auto_commit": pick((True, False)),
            "auto_commit_interval_ms": 1_000,
        }
        if self.kind != "assign":
            keys["group_protocol"] = self.kind
        consumer = self.world.consumer(None, **keys)
        self._subscribe(consumer)
        return consumer

    def _subscribe(self, consumer: KafkaConsumer) -> None:
        if self.kind == "assign":
            consumer.assign(PARTITIONS)
        else:
            consumer.subscribe(list(TOPICS))

    # --- living ----------------------------------------------------------------------

    def live(self) -> None:
        """Live, and judge."""
        with limited(PROCESSOR):
            self._live()

    def _live(self) -> None:
        clock = self.world.clock
        self._use(3.0)
        grown = memory()
        self.wrong.is_on = True
        lines = Lines()
        with lines.kept():
            seconds = self.lot.choice((10.0, 30.0, 120.0))
            before = self._spent()
            self._use(seconds)
            self._judge_thrift(before, seconds, "while answers were wrong")
            self.wrong.is_on = False
            self.log.append(f"{clock.time:.3f} all is well again")
            self._rebalance()
            before = self._spent()
            self._use(MINUTE)
            self._judge_thrift(before, MINUTE, "in the minute after")
        lines.judge(seconds + MINUTE)
        assert memory() - grown < MEMORY, f"it grew by {memory() - grown} bytes"
        self._judge_service()
        began = clock.time
        self.client.close(5.0)
        assert clock.time - began <= 5.0 + 1e-6
        self._judge_thread()

    def _use(self, seconds: float) -> None:
        """Do for a while what a user does, passing over every KafkaException."""
        until = self.world.clock.time + seconds
        while self.world.clock.time < until:
            for act in self._acts():
                try:
                    act()
                except KafkaException as error:
                    self._note(error)
                    self._begin_again(error)
            self.world.clock.sleep(self.lot.choice((0.0, 0.1, 0.5)))
            self._judge_thread()

    def _acts(self) -> Iterator[Callable[[], object]]:
        lot, client = self.lot, self.client
        if isinstance(client, KafkaProducer):
            yield lambda: client.send(lot.choice(PARTITIONS).topic, b"x")
            if lot.random() < 0.1:
                yield lambda: client.partitions_for(lot.choice(("orders", "other")))
            if lot.random() < 0.05:
                yield lambda: client.flush(1.0)
            self.world.clock.sleep(0.1)
            return
        yield lambda: client.poll(lot.choice((0.0, 0.2, 1.0)))
        if lot.random() < 0.1:
            tp = lot.choice(PARTITIONS)
            yield lot.choice(
                (
                    lambda: client.commit_sync(timeout=1.0),
                    client.commit_async,
                    lambda: client.committed(tp, timeout=1.0),
                    lambda: client.end_offsets([tp], timeout=1.0),
                    lambda: client.list_topics(timeout=1.0),
                    lambda: client.position(tp, timeout=1.0),
                )
            )

    def _begin_again(self, error: KafkaException) -> None:
        """Subscribe again where an error has ended the membership, as users are told to."""
        client = self.client
        if isinstance(client, KafkaConsumer) and self.kind != "assign" and not error.retriable:
            client.unsubscribe(timeout=0.5)
            self._subscribe(client)

    def _rebalance(self) -> None:
        """Join anew: a group that is well keeps what was decided before.

        That is what a misinformed leader has assigned, or an assignment that a coordinator has
        sent, and that was changed on its way: it sends none again before the next one.
        """
        if isinstance(self.client, KafkaConsumer) and self.kind != "assign":
            self.client.unsubscribe(timeout=0.5)
            self._subscribe(self.client)

    def _note(self, error: KafkaException) -> None:
        name = type(error).__name__
        self.met[name] += 1
        if self.met[name] <= 3:
            self.log.append(f"{self.world.clock.time:.3f} {name}: {str(error)[:150]}")

    # --- judging ---------------------------------------------------------------------

    def _judge_thread(self) -> None:
        for each in self.world.clients:
            if each.thread.died_of is not None:
                raise AssertionError("the thread died") from each.thread.died_of

    def _spent(self) -> tuple[int, int]:
        requests = len(self.world.cluster.journal.entries())
        return requests, sum(each.network.turns for each in self.world.clients)

    def _judge_thrift(self, before: tuple[int, int], seconds: float, when: str) -> None:
        requests, turns = (now - then for now, then in zip(self._spent(), before, strict=True))
        kinds = Counter(
            entry.request.name for entry in self.world.cluster.journal.entries()[before[0] :]
        )
        most = REQUESTS * seconds + 100
        assert requests <= most, f"{requests} requests in {seconds} s {when}: {kinds}"
        assert turns <= TURNS * requests + 20 * seconds + 500, (
            f"{turns} turns of {requests} requests in {seconds} s {when}: {kinds}"
        )

    def _judge_service(self) -> None:
        """Records come and go at once."""
        if isinstance(self.client, KafkaProducer):
            send = self.client.send
            sent = [send(tp.topic, b"last", partition=tp.partition) for tp in PARTITIONS]
            for delivery in sent:
                delivery.result(AT_ONCE)
            return
        due = {tp: self.world.control.append(tp, b"last") for tp in PARTITIONS}
        until = self.world.clock.time + AT_ONCE
        while due and self.world.clock.time < until:
            try:
                records = self.client.poll(1.0)
            except KafkaException as error:
                self._note(error)
                self._begin_again(error)
                self.world.clock.sleep(0.1)
                continue
            for each in records:
                tp = TopicPartition(each.topic, each.partition)
                if each.value == b"last":
                    due.pop(tp, None)
        assert not due, f"not read: {due}; {self.client!r}, {self.met}"


class Lines:
    """The lines of the log, by kind of event."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first: dict[str, list[str]] = {}

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Count what is logged meanwhile."""
        handler = logging.Handler(logging.WARNING)
        handler.emit = self._count  # type: ignore[method-assign]
        logger = logging.getLogger("prokurist")
        level = logger.level
        logger.setLevel(logging.WARNING)
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)

    def _count(self, record: logging.LogRecord) -> None:
        name = f"{record.event} {getattr(record, 'error_type', '')}"  # type: ignore[attr-defined]
        self._counts[name] += 1
        self._first.setdefault(name, []).append(record.getMessage()[:200])

    def judge(self, seconds: float) -> None:
        """Each kind of line came a few times a minute at most."""
        most = LINES * (seconds / MINUTE + 2)
        for name, count in self._counts.items():
            if name.startswith(NEWS):
                continue
            assert count <= most, (name, count, seconds, self._first[name][-8:])


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise in what runs when it has used up so many seconds of the processor."""

    def over(*_: object) -> None:
        raise Endless(f"{seconds} s of the processor")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def memory() -> int:
    """Bytes that this process has in memory."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4096
