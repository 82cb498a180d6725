"""A workload's life by lot: topics with idle partitions, a reader of some kind, and events.

After each poll both oracles judge. At the end every fault is undone, one record is written
to each partition, and the reader has nothing to do for a while.
"""

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Final

from prokurist.testing.cluster.group_settings import GroupSettings
from prokurist.types import Node, TopicPartition
from tests.simulation.slow_brokers import let_brokers_lag
from tests.simulation.workload_reader import EVERYTHING, FEWER, HEARTBEAT, STEP, Reader
from tests.simulation.workload_topics import TOPICS, Topics
from tests.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

QUIET: Final = 6.0
"""Seconds that the reader is left without anything to do at the end of each life."""

WINDOW: Final = 2.0
"""Seconds over which requests are counted."""

TURNS_OF_A_REQUEST: Final = 8
"""Turns of the loop that one request may cost: written, answered, records handed over."""


class WorkloadLife:
    """One life.

    Args:
        seed: Everything comes of it.

    Attributes:
        log: What happened, for a failure's report.
    """

    def __init__(self, seed: int) -> None:
        self.lot = Random(seed)  # noqa: S311 - a replayable seed
        nodes = self.lot.choice((1, 2, 3, 3, 3))
        self.world = World(nodes, dict(TOPICS), seed)
        self.control = self.world.control
        self.control.configure_groups(
            GroupSettings(
                consumer_heartbeat_interval=HEARTBEAT,
                assignment_interval=self.lot.choice((0.0, 1.0)),
            )
        )
        self.log: list[str] = []
        lag = let_brokers_lag(self.world, seed)
        rack = self._put_into_racks() if nodes > 1 and self.lot.random() < 0.5 else ""
        committed = self.lot.random() < 0.4
        self.topics = Topics(self.control, read_committed=committed)
        self.reader = Reader(
            self.world, self.topics, self.lot, rack, read_committed=committed, lag=lag
        )
        self.down: set[int] = set()
        self._leaders: dict[TopicPartition, tuple[int, int]] = {}
        self._events = 0
        self._window = self.world.clock.time
        self._counted: Counter[tuple[int, int]] = Counter()
        self._turns = 0
        self._say(repr(self.reader))

    def _put_into_racks(self) -> str:
        for number, broker in self.world.cluster.state.brokers.items():
            node = broker.node
            broker.node = Node(number, node.host, node.port, f"rack-{number}")
        self.control.let_followers_serve()
        return f"rack-{self.lot.choice(list(self.world.cluster.state.brokers))}"

    def _say(self, what: str) -> None:
        self.log.append(f"{self.world.clock.time:9.3f} {what}")

    # --- living ------------------------------------------------------------------------

    def live(self) -> None:
        """Do things by lot, undo them, and see everything read and nothing more asked."""
        kinds, weights = list(EVENTS), list(EVENTS.values())
        for _ in range(self.lot.randint(5, 14)):
            (kind,) = self.lot.choices(kinds, weights)
            self.happens(lambda kind=kind: kind(self))  # type: ignore[misc]
            self.poll(self.lot.choice((0.0, STEP, 1.0, 3.0)))
        self.rest()

    def rest(self) -> None:
        """Undo what was broken, read what is left, and leave the reader without work."""
        self.happens(self._mend)
        self._read_all()
        for tp in self.topics.partitions():
            self.happens(lambda tp=tp: self.topics.write(tp, 1))  # type: ignore[misc]
        self._read_all()
        self._close_window(idle=False)
        self.poll(QUIET, idle=True)
        self.reader.end(5.0)

    def _read_all(self) -> None:
        """Poll until nothing is due, or the oracle has found what is overdue."""
        self.poll(2 * STEP)
        while self.reader.is_owed():
            self.poll(STEP)

    def _mend(self) -> None:
        self.control.heal()
        self.control.thaw()
        for node in sorted(self.down):
            self._restart(node)
        for tp in self.topics.partitions():
            while self.topics.end_transaction(tp, committed=True):
                pass
        if self.reader.paused:
            self._resume()

    def happens(self, event: "Callable[[], None]") -> None:
        """Have something happen; the bound begins again for what it affects."""
        self.reader.look()
        before = self._standing()
        event()
        self._events += 1
        after = self._standing()
        now = self.world.clock.time
        changed = {tp for tp in after if before.get(tp) != after[tp]}
        self.reader.liveness.befell(now, changed)
        self.reader.look()

    def _standing(self) -> dict[TopicPartition, tuple[int, int]]:
        return {
            TopicPartition(topic.name, each.index): (each.leader, each.epoch)
            for topic in self.world.cluster.state.topics.values()
            for each in topic.partitions
        }

    def broker_changed(self, node: int) -> None:
        """A broker stopped or came back: the bounds of its readers begin again."""
        liveness, now = self.reader.liveness, self.world.clock.time
        if self.reader.rack == f"rack-{node}":
            liveness.befell(now)
        else:
            tps = self.topics.partitions()
            liveness.befell(now, [tp for tp in tps if not liveness.settled(tp, now)])

    def poll(self, seconds: float, *, idle: bool = False) -> None:
        """Poll for so long, and judge."""
        until = self.world.clock.time + seconds
        while self.world.clock.time < until:
            before = self.reader.records
            self.reader.poll()
            self._events += self.reader.records - before
            self.reader.look()
            if self.world.clock.time - self._window >= WINDOW:
                self._close_window(idle=idle and self.reader.records == before)

    def _close_window(self, *, idle: bool) -> None:
        now, sent = self.world.clock.time, self.reader.sent
        seconds = now - self._window
        if seconds > 0:
            fresh = self.reader.sent_since(self._counted)
            events = None if idle else self._events
            self.reader.thrift.judge(seconds, fresh, events=events)
            turns = self.reader.member.network.turns - self._turns
            most = TURNS_OF_A_REQUEST * (
                sum(each.total() for each in fresh.values()) + self._events + 10 * seconds
            )
            assert turns <= most, f"{turns} turns of the loop in {seconds:.1f} s"
        assert not self.reader.thrift.wrongs, "\n".join(self.reader.thrift.wrongs)
        self._counted, self._events, self._window = sent.copy(), 0, now
        self._turns = self.reader.member.network.turns

    # --- what happens: writing -----------------------------------------------------------

    def write(self) -> None:
        """Some records, mostly to the busy topic."""
        names = [*self.topics.existing(), *["orders"] * 3]
        tps = self.topics.partitions(self.lot.choice(names))
        if tps:
            tp, count = self.lot.choice(tps), self.lot.choice((1, 1, 3, 20))
            self._say(f"write {count} to {tp}")
            self.topics.write(tp, count)

    def transact(self) -> None:
        """A transaction begins or ends."""
        tp = self._any()
        if tp is None:
            return
        committed = self.lot.random() < 0.6
        if self.topics.end_transaction(tp, committed=committed):
            self._say(f"end a transaction of {tp}, committed: {committed}")
        else:
            self._say(f"begin a transaction in {tp}")
            self.topics.begin_transaction(tp, self.lot.choice((1, 4)))

    def _any(self) -> TopicPartition | None:
        tps = self.topics.partitions()
        return self.lot.choice(tps) if tps else None

    # --- what happens: topics ------------------------------------------------------------

    def grow(self) -> None:
        """A topic grows; a reader by hand takes the new partition at once, and seeks."""
        tp = self.topics.grow(self.lot.choice(self.topics.existing() or ["orders"]))
        if tp is None:
            return
        self._say(f"grow: {tp}")
        if not self.reader.is_member:
            self.reader.assign(self.reader.by_hand | {tp})
            if self.lot.random() < 0.6:
                self._say(f"seek to the beginning of {tp}, by number")
                self.reader.seek(tp, 0)

    def delete(self) -> None:
        """A topic is deleted."""
        if names := self.topics.existing():
            name = self.lot.choice(names)
            self._say(f"delete {name}")
            self.topics.delete(name)

    def create(self) -> None:
        """A topic that was deleted is there again, and is another one."""
        gone = sorted(TOPICS.keys() - set(self.topics.existing()))
        if gone:
            name = self.lot.choice(gone)
            self._say(f"create {name}")
            self.topics.create(name)
            for tp in self.topics.partitions(name):
                self._reset(tp)

    def recreate(self) -> None:
        """A topic is deleted and created within a moment."""
        names = self.topics.existing()
        if names:
            name = self.lot.choice(names)
            self._say(f"create {name} again")
            self.topics.delete(name)
            self.topics.create(name)
            for tp in self.topics.partitions(name):
                self._reset(tp)

    def _reset(self, tp: TopicPartition) -> None:
        """A partition of another topic of that name is read from where the policy says."""
        book = self.topics.books[tp]
        if self.reader.reset == "latest":
            book.starts, book.floor = frozenset(), 0
        self.reader.liveness.befell(self.world.clock.time, [tp])

    # --- what happens: leaders and brokers -------------------------------------------------

    def move(self) -> None:
        """Leaders move, some more than once, and nothing is written between."""
        for _ in range(self.lot.choice((1, 1, 2, 3))):
            tp = self._any()
            others = self._running()
            if tp is not None and others:
                to = self.lot.choice(others)
                self._say(f"move {tp} to {to}")
                self.control.move_leader(tp, to)

    def kill(self) -> None:
        """A broker ends, and the others notice; it stays away for a while."""
        if len(self._running()) > 1:
            node = self.lot.choice(self._running())
            self._say(f"kill {node}")
            self._kill(node)

    def bring_back(self) -> None:
        """A broker that was killed is there again."""
        if self.down:
            node = self.lot.choice(sorted(self.down))
            self._say(f"restart {node}")
            self._restart(node)

    def roll(self) -> None:
        """A rolling restart of all brokers, with some time between."""
        if self.down:
            return
        for node in self._running():
            self._say(f"roll {node}")
            self.happens(lambda node=node: self._kill(node))  # type: ignore[misc]
            self.poll(self.lot.choice((0.5, 2.0)))
            self.happens(lambda node=node: self._restart(node))  # type: ignore[misc]
            self.poll(self.lot.choice((0.5, 2.0)))

    def freeze(self) -> None:
        """A broker stops for a while; its leaderships stay with it."""
        node = self.lot.choice(self._running())
        self._say(f"freeze {node}")
        self.control.freeze(node)
        self.broker_changed(node)
        self.poll(self.lot.choice((0.5, 3.0, 6.0)))
        self.happens(lambda: self._thaw(node))

    def disconnect(self) -> None:
        """All connections end."""
        self._say("disconnect")
        self.control.disconnect(reset=self.lot.random() < 0.5)
        self.reader.liveness.befell(self.world.clock.time)

    def _thaw(self, node: int) -> None:
        self.control.thaw(node)
        self.broker_changed(node)
        befallen = [tp for tp, (led, _) in self._standing().items() if led == node]
        self.reader.liveness.befell(self.world.clock.time, befallen)

    def _kill(self, node: int) -> None:
        self.control.kill(node)
        self.down.add(node)
        self.broker_changed(node)

    def _restart(self, node: int) -> None:
        self.control.restart(node)
        self.down.discard(node)
        self.broker_changed(node)

    def _running(self) -> list[int]:
        return sorted(
            number
            for number, each in self.world.cluster.state.brokers.items()
            if each.running and not each.frozen
        )

    # --- what happens: the reader ----------------------------------------------------------

    def seek(self) -> None:
        """The reader goes elsewhere."""
        tps = sorted(self.reader.consumer.assignment() & self.topics.books.keys())
        if tps:
            tp = self.lot.choice(tps)
            end = self.topics.books[tp].end
            offset = self.lot.choice((None, 0, end, self.lot.randint(0, end)))
            self._say(f"seek to {'the end' if offset is None else offset} of {tp}")
            self.reader.seek(tp, offset)

    def pause(self) -> None:
        """Some partitions are paused, or all that are go on."""
        if self.reader.paused:
            self._resume()
        elif tps := sorted(self.reader.consumer.assignment()):
            chosen = self.lot.sample(tps, self.lot.randint(1, len(tps)))
            self._say(f"pause {chosen}")
            self.reader.consumer.pause(chosen)
            self.reader.paused |= set(chosen)

    def _resume(self) -> None:
        paused = sorted(self.reader.paused & self.reader.consumer.assignment())
        self._say(f"resume {paused}")
        self.reader.consumer.resume(paused)
        self.reader.paused = set()

    def commit(self) -> None:
        """A commit without an epoch; the reader starts again from it."""
        tps = sorted(self.reader.consumer.assignment() & self.topics.books.keys())
        if tps:
            tp = self.lot.choice(tps)
            offset = self.lot.randint(0, self.topics.books[tp].end)
            self._say(f"commit {offset} of {tp}")
            self.reader.commit_without_epoch(tp, offset)

    def begin_again(self) -> None:
        """The process ends in order, and another one goes on."""
        self._say("begin again")
        self._close_window(idle=False)
        self.reader.end(self.lot.choice((0.0, 2.0)))
        self.reader.begin()
        self._turns = 0

    def change_pattern(self) -> None:
        """Another pattern, or the topics that there are now."""
        if self.reader.is_member:
            self.reader.pattern = self.lot.choice((EVERYTHING, FEWER))
            self._say(f"subscribe {self.reader.pattern}")
            self.reader.subscribe()

    def compute(self) -> None:
        """The application does not poll for a while."""
        seconds = self.lot.choice((1.0, 5.0))
        self._say(f"no poll for {seconds} s")
        self.world.clock.sleep(seconds)
        self.reader.liveness.away(seconds)


EVENTS: Final = {
    WorkloadLife.write: 8,
    WorkloadLife.transact: 2,
    WorkloadLife.grow: 2,
    WorkloadLife.delete: 1,
    WorkloadLife.create: 2,
    WorkloadLife.recreate: 1,
    WorkloadLife.move: 5,
    WorkloadLife.kill: 3,
    WorkloadLife.bring_back: 3,
    WorkloadLife.roll: 1,
    WorkloadLife.freeze: 2,
    WorkloadLife.disconnect: 1,
    WorkloadLife.seek: 2,
    WorkloadLife.pause: 1,
    WorkloadLife.commit: 2,
    WorkloadLife.begin_again: 2,
    WorkloadLife.change_pattern: 2,
    WorkloadLife.compute: 1,
}
"""What may happen, and how often beside the others."""
