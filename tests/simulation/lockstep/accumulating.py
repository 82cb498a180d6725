"""Scenes of the accumulator: senders, the thread that takes, and a close, at any point.

The path of a record is the twin that this process runs: the native one is a single step, the
pure one has a lock. What is under test lies around it.
"""

import math
from collections.abc import Callable
from typing import Any, Final

from prokurist.application.call_runner import CallRunner
from prokurist.errors import IllegalStateException
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.batch import Batch
from prokurist.events.accumulator.buffer_memory import BufferMemory, Claim
from prokurist.events.accumulator.implementation import Appender, TopicQueues
from prokurist.events.accumulator.partition_queue import PartitionQueue
from prokurist.events.accumulator.rows import NO_HEADERS
from prokurist.events.log_event_queue import LogEventQueue
from prokurist.events.trace import Trace
from prokurist.events.waiter import Waiter
from prokurist.producer.sending import Sending
from prokurist.types import LogEvent
from tests.simulation.lockstep.exploring import Scene
from tests.simulation.lockstep.points import SteppedRLock
from tests.simulation.lockstep.stage import Stage

BATCH_SIZE: Final = 130
"""Two small records, with what stands around them."""
TOTAL: Final = 2000


class Taking:
    """An accumulator of one partition, and the actor that takes what is due.

    Args:
        stage: Where it is played.
        total: `buffer.memory`.
    """

    def __init__(self, stage: Stage, total: int = TOTAL) -> None:
        self.stage = stage
        self.taken: list[tuple[Batch, int]] = []
        self.sent: dict[str, list[Batch]] = {}
        self.over = False
        self._woken = False
        self.appender = Appender(BATCH_SIZE, lambda: 7, ignore_keys=False)
        self.appender.lock = SteppedRLock(stage)  # type: ignore[assignment]
        self.accumulator = RecordAccumulator(
            self.appender,
            BufferMemory(total),
            batch_size=BATCH_SIZE,
            linger=0.0,
            delivery=120.0,
            most=400,
            largest=400,
            now=lambda: stage.time,
            wait=self._wait,
            wake=self._wake,
        )
        self.appender.topics["t"] = topic = TopicQueues("t")
        topic.queues = [PartitionQueue("t", number) for number in range(2)]
        self._sending = Sending(self.accumulator, no_runner, 60.0, lambda: True, Trace())
        self.appender.slow = self._sending.send
        stage.enter("network", self._take)

    def _wake(self) -> None:
        self._woken = True

    def _wait(self, waiter: Waiter, until: float) -> bool:
        return waiter.wait(until - self.stage.time)

    def _take(self) -> None:
        """The network thread: what is due is taken, and its memory comes back."""
        while not self.over:
            self.stage.wait(lambda: self._woken or self.over, math.inf, "the network")
            self._woken = False
            for queue in self.accumulator.due(self.stage.time):
                # In this order, as where a partition is listed for its leader.
                queue.is_due = False
                while self.accumulator.has_due(queue):
                    batch = self.accumulator.take(queue)
                    assert batch is not None, "something was due, and nothing is there"
                    assert batch.held == batch.room, f"{batch.held} of {batch.room} bytes"
                    self.taken.append((batch, batch.count))
                    self.accumulator.incomplete.pop(batch)
                    self.accumulator.memory.give_back(batch.held)

    def send(self, by: str, size: int, partition: int = 0) -> None:
        """Send a record, and remember which batch it is in.

        A sender that was held up for long is told that there was no room.
        """
        delivery = self.appender.send("t", b"x" * size, partition=partition)
        if delivery._batch.failed:
            assert any(each.stalled for each in self.stage.actors), "it waited in vain"
        else:
            self.sent.setdefault(by, []).append(delivery._batch)

    @property
    def has_all(self) -> bool:
        """Whether all that were sent so far have been taken."""
        taken = sum(count for _, count in self.taken)
        return taken == sum(map(len, self.sent.values()))

    def judge(self) -> None:
        """Each record was taken once, in order, and a batch that was taken took no more."""
        order = [batch for batch, _ in self.taken]
        assert len(set(map(id, order))) == len(order), "a batch was taken twice"
        for batch, count in self.taken:
            assert batch.count == count, f"{batch!r} took a record after it was taken"
        for by, batches in self.sent.items():
            places = [order.index(each) for each in batches]
            assert places == sorted(places), f"{by}'s records are out of order: {places}"
        memory = self.accumulator.memory
        assert memory.free == memory.total, f"{memory!r}"
        assert not memory.waiting


def no_runner() -> CallRunner:
    """The topic is known: nothing is asked for."""
    raise AssertionError("a look-up of a topic that is known")


def all_taken(
    stage: Stage, sizes: dict[str, list[int]], total: int = TOTAL, *, apart: bool = False
) -> None:
    """Some senders, each with its records, and the end when all are taken.

    Args:
        stage: Where it is played.
        sizes: For each sender the sizes of its records.
        total: `buffer.memory`.
        apart: Whether each sends to a partition of its own.
    """
    taking = Taking(stage, total)
    left = len(sizes)

    def body(by: str) -> Callable[[], None]:
        def live() -> None:
            nonlocal left
            for size in sizes[by]:
                taking.send(by, size, list(sizes).index(by) if apart else 0)
            left -= 1
            stage.wait(lambda: not left and taking.has_all, math.inf, "all being taken")
            taking.over = True

        return live

    for by in sizes:
        stage.enter(by, body(by))
    stage.run()
    taking.judge()


def an_append_races_a_take(stage: Stage) -> None:
    """A batch that is taken takes no more, and the next record has a wake of its own."""
    all_taken(stage, {"app": [5, 5, 5]})


def two_partitions_have_something(stage: Stage) -> None:
    """What becomes due while the thread takes from another partition has a wake, too."""
    all_taken(stage, {"app": [5, 5], "app 2": [5, 5]}, apart=True)


def two_senders_begin(stage: Stage) -> None:
    """Both find no open batch: each begins one, and both are taken."""
    all_taken(stage, {"app": [5, 5], "app 2": [5, 5]})


def a_batch_grows_while_it_is_taken(stage: Stage) -> None:
    """Room is taken from the memory once, by a batch that is open, or comes back."""
    all_taken(stage, {"app": [5, 90, 90], "app 2": [90]})


def a_sender_waits_for_memory(stage: Stage) -> None:
    """Room that a batch gives back wakes the one that waits for it."""
    all_taken(stage, {"app": [90], "app 2": [90]}, total=200)


def senders_wait_for_memory(stage: Stage) -> None:
    """Room that a batch gives back goes to one that waits; none stands there for ever."""
    all_taken(stage, {"app": [90, 90], "app 2": [90]}, total=300)


def an_append_races_a_close(stage: Stage) -> None:
    """A send raises, or its record is among those that the closing gives up."""
    taking = Taking(stage)
    given_up: list[Batch] = []

    def app() -> None:
        try:
            for _ in range(3):
                taking.send("app", 5)
        except IllegalStateException:
            return

    def closing() -> None:
        taking.accumulator.close()
        given_up.extend(taking.accumulator.snapshot())
        taking.over = True

    stage.enter("app", app)
    stage.enter("closing", closing)
    stage.run()
    known = [*given_up, *(batch for batch, _ in taking.taken)]
    for batch in taking.sent.get("app", ()):
        assert any(each is batch for each in known), f"{batch!r} is lost"


def a_topic_is_forgotten_while_a_batch_begins(stage: Stage) -> None:
    """The batch is begun in a queue that is kept, or not at all, and its room comes back."""
    taking = Taking(stage)
    taking.over = True
    accumulator, memory = taking.accumulator, taking.accumulator.memory
    queue = taking.appender.topics["t"].queues[0]
    begun: list[Batch | None] = []

    def app() -> None:
        claim = Claim(100)
        assert memory.take(claim)
        begun.append(accumulator.begin(queue, claim, 7, None, b"v", NO_HEADERS, None))
        memory.leave(claim)

    def network() -> None:
        accumulator.forget("t")
        accumulator.drop(queue)

    stage.enter("app", app)
    stage.enter("forgetting", network)
    stage.run()
    (batch,) = begun
    if batch is None:
        assert memory.free == memory.total
    else:
        assert accumulator.queue_of(batch) is queue, f"{batch!r} is lost"


def events_race_the_polls_that_tell_them(stage: Stage) -> None:
    """Each event is told once, in order, or counted as dropped; a poll that waits is woken."""
    woken = False

    class Poll:
        """A poll that waits, in place of its activity and of what it waits at."""

        def summon(self) -> None:
            """Nothing: no iteration runs here."""

        def nudge(self) -> None:
            """End its wait."""
            nonlocal woken
            woken = True

    poll: Any = Poll()
    queue = LogEventQueue(poll, poll, most=2)
    told: list[str] = []
    over = False

    def is_woken() -> bool:
        return woken or over

    def network() -> None:
        nonlocal over
        for number in range(4):
            try:
                queue.put(LogEvent(str(number), 20, "", {}), stage.time)
            except IndexError as torn:
                raise AssertionError("what was to be dropped was taken meanwhile") from torn
        over = True

    def app() -> None:
        nonlocal woken
        while not over or len(queue):
            stage.wait(is_woken, math.inf, "a poll")
            woken = False
            while (event := queue.take(stage.time)) is not None:
                told.append(event.name)

    stage.enter("network", network)
    stage.enter("app", app)
    stage.run()
    assert told == sorted(set(told)), told
    assert len(told) + queue.dropped == 4, f"{told}, {queue!r}"
    assert queue.take_dropped() == queue.dropped
    assert "3" in told, "the last one is never dropped"


SCENES: Final[tuple[Scene, ...]] = (
    an_append_races_a_take,
    two_partitions_have_something,
    two_senders_begin,
    a_batch_grows_while_it_is_taken,
    a_sender_waits_for_memory,
    an_append_races_a_close,
    a_topic_is_forgotten_while_a_batch_begins,
    events_race_the_polls_that_tell_them,
)
LONG_SCENES: Final[tuple[Scene, ...]] = (senders_wait_for_memory,)
"""What takes twenty seconds to go through."""
