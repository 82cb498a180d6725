"""Schedule of records in hand: which may be worked on now, and which have to wait.

A *lane* holds records that are worked on one after the other: those of one key, or of one
partition. Its first record runs, waits for its next attempt, or is ready; the others are behind
it. Lanes that are ready take turns.

Thread: any; one lock, under which nothing is called.

Invariants: of a lane at most one record runs, also where its partition was given away and has
come back meanwhile: the lane is kept until that record has ended.
"""

import threading
from collections import deque
from collections.abc import Collection, Hashable, Iterable
from heapq import heappop, heappush
from itertools import count

from prokurist.events.work_counters import WorkCounters
from prokurist.parallel.policies import Order
from prokurist.records.consumer_records import ConsumerRecord
from prokurist.types import TopicPartition


class Work:
    """A record in hand.

    Attributes:
        record: The record.
        partition: Its partition.
        lane: Its lane.
        size: Bytes of its key and value.
        failures: How many attempts have failed.
        is_lost: True once its partition was given away: its result counts no more.
    """

    __slots__ = ("failures", "is_lost", "lane", "partition", "record", "size")

    def __init__(self, record: ConsumerRecord, partition: TopicPartition, lane: "Lane") -> None:
        self.record: ConsumerRecord = record
        self.partition: TopicPartition = partition
        self.lane: Lane = lane
        self.size: int = size_of(record)
        self.failures: int = 0
        self.is_lost: bool = False

    def __repr__(self) -> str:
        return f"Work({self.partition} @ {self.record.offset}{', lost' * self.is_lost})"


class Lane:
    """Records that are worked on one after the other.

    Attributes:
        key: Their common key.
        queue: Those that have not begun.
        running: The one that is being worked on.
        waiting: The one that waits for its next attempt.
        is_ready: True while it stands among the lanes that are ready.
    """

    __slots__ = ("is_ready", "key", "queue", "running", "waiting")

    def __init__(self, key: Hashable) -> None:
        self.key: Hashable = key
        self.queue: deque[Work] = deque()
        self.running: Work | None = None
        self.waiting: Work | None = None
        self.is_ready: bool = False

    @property
    def may_run(self) -> bool:
        """True if its next record may be worked on."""
        return self.running is None and self.waiting is None and bool(self.queue)

    @property
    def is_empty(self) -> bool:
        """True if there is nothing in it."""
        return self.running is None and self.waiting is None and not self.queue


class Schedule:
    """The records in hand.

    Args:
        order: Records to work on one after the other.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._lock = threading.RLock()
        self._lanes: dict[TopicPartition, dict[Hashable, Lane]] = {}
        self._ready: deque[Lane] = deque()
        self._due: list[tuple[float, int, Work]] = []
        self._numbers = count()
        self._closed = False
        self.counters: WorkCounters = WorkCounters()

    # --- the thread that polls ---------------------------------------------------------

    def add(self, records: Iterable[ConsumerRecord]) -> None:
        """Take records in hand, in their order."""
        with self._lock:
            for record in records:
                tp = TopicPartition(record.topic, record.partition)
                lanes = self._lanes.setdefault(tp, {})
                key = self._key_of(record)
                lane = lanes.get(key)
                if lane is None:
                    lane = lanes[key] = Lane(key)
                work = Work(record, tp, lane)
                lane.queue.append(work)
                self.counters.queued += 1
                self.counters.bytes += work.size
                self._make_ready(lane)

    def drop(self, partitions: Collection[TopicPartition] | None = None) -> None:
        """Forget waiting records of some partitions, or of all: they come again elsewhere."""
        with self._lock:
            for tp in tuple(self._lanes) if partitions is None else partitions:
                for lane in tuple(self._lanes.get(tp, {}).values()):
                    for work in lane.queue:
                        self.counters.queued -= 1
                        self.counters.bytes -= work.size
                    lane.queue.clear()
                    if lane.waiting is not None:
                        # Its entry in the heap is dropped when it is due.
                        lane.waiting.is_lost = True
                        self.counters.waiting -= 1
                        self.counters.bytes -= lane.waiting.size
                        lane.waiting = None
                    self._forget(tp, lane)

    def lose(self, partitions: Collection[TopicPartition] | None = None) -> list[Work]:
        """Give up running work of some partitions, or of all: its result counts no more.

        Returns:
            The work that was given up.
        """
        with self._lock:
            lost = [work for work in self._running(partitions) if not work.is_lost]
            for work in lost:
                work.is_lost = True
            return lost

    def close(self) -> None:
        """Give out nothing more."""
        with self._lock:
            self._closed = True

    def open(self) -> None:
        """Give out work again."""
        with self._lock:
            self._closed = False

    # --- workers -----------------------------------------------------------------------

    def take(self, now: float) -> Work | None:
        """The next record to work on; None where there is none now."""
        with self._lock:
            if self._closed:
                return None
            self._wake_due(now)
            while self._ready:
                lane = self._ready.popleft()
                lane.is_ready = False
                if lane.may_run:
                    work = lane.running = lane.queue.popleft()
                    self.counters.queued -= 1
                    self.counters.running += 1
                    return work
            return None

    @property
    def next_due(self) -> float | None:
        """When the next attempt is due."""
        with self._lock:
            while self._due and self._due[0][2].is_lost:
                heappop(self._due)
            return self._due[0][0] if self._due else None

    def finish(self, work: Work, result: str, seconds: float) -> None:
        """A record was worked on, and nothing further is done with it here."""
        with self._lock:
            self._end(work, result, seconds)
            self.counters.bytes -= work.size
            self._make_ready(work.lane)
            self._forget(work.partition, work.lane)

    def again(self, work: Work, at: float, seconds: float) -> None:
        """A record has failed, and is worked on again at a moment."""
        with self._lock:
            if work.is_lost:
                # Its partition went while this was decided.
                self.finish(work, "given_up", seconds)
                return
            self._end(work, "retried", seconds)
            if self._closed:
                # It comes again after the end of this run, from the brokers.
                self.counters.bytes -= work.size
                self._forget(work.partition, work.lane)
                return
            work.lane.waiting = work
            self.counters.waiting += 1
            heappush(self._due, (at, next(self._numbers), work))

    def running(self, partitions: Collection[TopicPartition] | None = None) -> int:
        """Number of records of some partitions, or of all, whose results are awaited."""
        with self._lock:
            return sum(not work.is_lost for work in self._running(partitions))

    @property
    def in_hand(self) -> int:
        """Number of records that run, wait or are queued."""
        with self._lock:
            its = self.counters
            return its.running + its.queued + its.waiting

    # --- inside: the lock is held --------------------------------------------------------

    def _key_of(self, record: ConsumerRecord) -> Hashable:
        if self._order is Order.PARTITION:
            return None
        if self._order is Order.NONE or record.key is None:
            return "offset", record.offset
        key = record.key
        if isinstance(key, bytearray | memoryview):
            key = bytes(key)
        return "key", key if isinstance(key, Hashable) else repr(key)

    def _running(self, partitions: Collection[TopicPartition] | None) -> list[Work]:
        wanted = self._lanes if partitions is None else partitions
        lanes = (lane for tp in wanted for lane in self._lanes.get(tp, {}).values())
        return [lane.running for lane in lanes if lane.running is not None]

    def _end(self, work: Work, result: str, seconds: float) -> None:
        work.lane.running = None
        self.counters.running -= 1
        self.counters.results.of(result).number += 1
        self.counters.seconds.observe(seconds)

    def _wake_due(self, now: float) -> None:
        while self._due and (self._due[0][2].is_lost or self._due[0][0] <= now):
            work = heappop(self._due)[2]
            if not work.is_lost:
                work.lane.waiting = None
                work.lane.queue.appendleft(work)
                self.counters.waiting -= 1
                self.counters.queued += 1
                self._make_ready(work.lane)

    def _make_ready(self, lane: Lane) -> None:
        if lane.may_run and not lane.is_ready:
            lane.is_ready = True
            self._ready.append(lane)

    def _forget(self, tp: TopicPartition, lane: Lane) -> None:
        """Forget a lane in which there is nothing, and a partition without lanes."""
        lanes = self._lanes.get(tp)
        if lanes is not None and lane.is_empty and lanes.get(lane.key) is lane:
            del lanes[lane.key]
            if not lanes:
                del self._lanes[tp]

    def __repr__(self) -> str:
        return f"Schedule({self._order.name}, {self.counters})"


def size_of(record: ConsumerRecord) -> int:
    """Bytes of a record's key and value; results of deserializers count as nothing."""
    return sum(
        len(each)
        for each in (record.key, record.value)
        if isinstance(each, bytes | bytearray | memoryview)
    )
