"""Many members of one group by lot, in virtual time, and what has to hold at every instant.

Members are real consumers that poll in turn. They come and go, crash, stop as a whole or
only compute; brokers freeze, the coordinator moves, connections end. After each turn of
any loop it is looked:

- Among members that the coordinator counts, and whose session is not over, a partition
  has one owner at most that may return its records.

And with each call of a member, and each word to its listener:

- Calls end by their deadline. Listeners hear of what comes before it goes, of each once,
  and only of what they have are records returned.
- No record is skipped: none is returned, and none committed, before all that come before
  it were returned to a member. None comes again that was committed when it was assigned.

Half of the lives are calm: members come, go and compute, and nothing else befalls them.
There all that is revoked has been committed, and no member is ever put out.

At the end the faults are undone: the group comes to rest, heartbeats come by the interval
while no member polls, and everything is read.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from random import Random
from typing import Any, Final

from prokurist.errors import CommitFailedException, KafkaException
from prokurist.network_thread.membership.consumer.member import ConsumerMember
from prokurist.network_thread.thread import Life as ThreadLife
from prokurist.testing.cluster.apis import ApiName
from prokurist.testing.cluster.group_settings import GroupSettings
from prokurist.types import TopicPartition
from tests.simulation.reading import value
from tests.simulation.slow_brokers import let_brokers_lag
from tests.simulation.world import LATENCY, World

TURN: Final = 0.05
"""How long each polls before the next does."""

PARTITIONS: Final = tuple(TopicPartition("orders", number) for number in range(6))
INTERVAL: Final = 2.0
SESSION: Final = 6.0
MOST: Final = 6
STEPS: Final = 20
CALM_INTERVAL: Final = 3600.0
"""Of polls, in seconds, where no member is to be late."""

BEATS: Final[tuple[ApiName, ...]] = ("Heartbeat", "ConsumerGroupHeartbeat")
REFUSED: Final[dict[str, tuple[tuple[ApiName, ...], tuple[int, ...]]]] = {
    "classic": (("JoinGroup", "SyncGroup", "Heartbeat"), (14, 15, 16, 22, 25, 27)),
    "consumer": (("ConsumerGroupHeartbeat",), (14, 15, 16, 25, 110)),
}
"""What a coordinator may say at any time, and a member lives through."""


class Watched(World):
    """A world that is checked after each turn."""

    watch: Callable[[], None] = staticmethod(lambda: None)

    def _step(self) -> bool:
        stepped = super()._step()
        if stepped:
            self.watch()
        return stepped


class One:
    """A member, and what its listener was told."""

    def __init__(self, life: "Many", name: str, **keys: Any) -> None:
        self.life = life
        self.name = name
        self.held: set[TopicPartition] = set()
        self.floor: dict[TopicPartition, int] = {}
        self.absent_until = -math.inf
        self.listened = 0.0
        self.auto: bool = keys["enable_auto_commit"]
        self.commits_inside = life.lots.random() < 0.5
        self.consumer = life.world.consumer(client_id=name, **keys)
        self.client = life.world.members[-1]
        membership = self.client.side.membership
        if isinstance(membership, ConsumerMember):
            membership._terms.member_id = name  # Not by chance: a life is lived again.
        self.consumer.subscribe("orders", self)

    # --- the listener ----------------------------------------------------------------

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """Partitions that neither it nor another member of the group has.

        Who has stood still until its session was over, and has heard nothing since, cannot
        know that what it was given before is another's by now.
        """
        assert not partitions & self.held, f"{self.name} was told twice: {partitions}"
        present = self.life.present()
        for other in present if self in present else ():
            both = partitions & other.held if other is not self else frozenset()
            assert not both, f"{other.name} was not told before {self.name}: {sorted(both)}"
        self.held |= partitions
        committed = self.life.committed()
        self.floor.update({tp: committed.get(tp, 0) for tp in partitions})

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """What it has; in a calm life committed as far as it was returned."""
        self._gone(partitions)
        if self.auto and self.life.is_calm and not self.consumer._caller.closed:
            committed = self.life.committed()
            behind = [
                tp
                for tp in partitions
                if self.life.last_by.get(tp, (None, 0))[0] is self
                and committed.get(tp, 0) < self.life.last_by[tp][1]
            ]
            assert not behind or self.life.leaving is self, f"not committed: {behind}"
        if self.commits_inside and not self.auto:
            began = self.life.world.clock.time
            self.commit(0.5)
            self.listened += self.life.world.clock.time - began

    def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """What it has; never in a calm life."""
        self._gone(partitions)
        assert not self.life.is_calm, f"{self.name} was put out, and nothing befell it"

    def _gone(self, partitions: frozenset[TopicPartition]) -> None:
        assert partitions <= self.held, f"{self.name} hears of what it never had: {partitions}"
        self.held -= partitions

    # --- its calls -------------------------------------------------------------------

    @property
    def is_here(self) -> bool:
        """Whether it polls: its process runs, and it is not computing."""
        running = self.client.thread.life is ThreadLife.RUNNING
        return running and self.life.world.clock.time >= self.absent_until

    def poll(self) -> None:
        """Once."""
        clock, self.listened = self.life.world.clock, 0.0
        began = clock.time
        for record in self.consumer.poll(TURN):
            tp = TopicPartition(record.topic, record.partition)
            self.life.returned(self, tp, record.offset)
        took = clock.time - began - self.listened
        assert took < TURN + 0.001, f"{self.name} polled for {took} s"
        if not self.auto and self.life.lots.random() < 0.3:
            self.commit(0.3)

    def commit(self, timeout: float) -> None:
        """What it has returned; a member may refuse."""
        began = self.life.world.clock.time
        try:
            self.consumer.commit_sync(timeout=timeout)
        except KafkaException:
            assert not self.life.is_calm or self.life.is_changing(), "refused in a calm life"
        assert self.life.world.clock.time - began < timeout + 0.001

    def may_return(self) -> frozenset[TopicPartition]:
        """What it may return records of."""
        states = self.consumer._committable.assigned.rows.items()
        return frozenset(tp for tp, state in states if not state.giving_up)

    def has_read(self, ends: dict[TopicPartition, int]) -> bool:
        """Whether it is at the end of all that it has: a commit says so then."""
        states = self.consumer._committable.assigned.rows.items()
        at = {tp: state.returned.offset for tp, state in states if state.returned is not None}
        return all(at.get(tp) == ends[tp] for tp, _ in states)


class Many:
    """One life; see the module."""

    def __init__(self, seed: int, protocol: str) -> None:
        self.lots = Random(seed)  # noqa: S311 - a replayable seed
        self.protocol = protocol
        self.is_calm = seed % 2 == 0
        self.world = Watched(nodes=2, topics={"orders": len(PARTITIONS)}, seed=seed)
        let_brokers_lag(self.world, seed)
        self.world.watch = self.look
        self.world.control.configure_groups(
            GroupSettings(
                consumer_heartbeat_interval=INTERVAL,
                consumer_session_timeout=SESSION,
                assignment_interval=self.lots.choice((0.0, 1.0)),
            )
        )
        self.strategy = self.lots.choice(
            ("range", "cooperative-sticky", ("range", "cooperative-sticky"))
        )
        self.members: list[One] = []
        self.leaving: One | None = None
        self.made = 0
        self.next: dict[TopicPartition, int] = defaultdict(int)
        self.last_by: dict[TopicPartition, tuple[One, int]] = {}
        self.log: list[str] = []
        self.write()
        for _ in range(3):
            self.enter()

    # --- what is looked at -----------------------------------------------------------

    def group(self) -> Any:
        """The group, as its coordinator keeps it."""
        return self.world.cluster.state.group("g").membership

    def present(self) -> list[One]:
        """Those whom the coordinator counts, and whose session is not over."""
        counted = getattr(self.group(), "members", {})
        return [
            each
            for each in self.members
            if (place := counted.get(each.consumer._member_identity.identity.member_id))
            is not None
            and place.deadline > self.world.clock.time
        ]

    def look(self) -> None:
        """After each turn of a loop: one owner at most."""
        owners: dict[TopicPartition, str] = {}
        for each in self.present():
            for tp in each.may_return():
                other = owners.setdefault(tp, each.name)
                assert other == each.name, f"{tp} is {other}'s and {each.name}'s"

    def committed(self) -> dict[TopicPartition, int]:
        """How far the group has come."""
        committed = self.world.control.committed("g")
        return {tp: at.offset for tp, at in committed.items()}

    def returned(self, by: One, tp: TopicPartition, offset: int) -> None:
        """A record was returned."""
        assert tp in by.held, f"{by.name} was returned {tp}, of which it was told nothing"
        assert offset <= self.next[tp], f"{tp} skipped from {self.next[tp]} to {offset}"
        assert offset >= by.floor[tp], f"{tp} {offset} came again, and was committed"
        self.next[tp] = max(self.next[tp], offset + 1)
        self.last_by[tp] = by, offset + 1

    def is_changing(self) -> bool:
        """Whether a round is under way: commits are refused then."""
        return self.protocol == "classic"

    # --- what befalls them -----------------------------------------------------------

    def write(self) -> None:
        """More records."""
        for tp in PARTITIONS:
            self.world.control.append(tp, *map(value, range(self.lots.randint(1, 20))))

    def enter(self) -> None:
        """One more."""
        if len(self.members) >= MOST:
            return
        self.made += 1
        keys: dict[str, Any] = {
            "group_protocol": self.protocol,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": self.lots.random() < 0.5,
            "auto_commit_interval_ms": self.lots.choice((500, 5000)),
            "max_poll_records": self.lots.choice((3, 50)),
            "max_poll_interval_ms": round(
                1000 * (CALM_INTERVAL if self.is_calm else self.lots.choice((8, 300)))
            ),
            "metadata_max_age_ms": 5000,
        }
        if self.protocol == "classic":
            keys["session_timeout_ms"] = round(SESSION * 1000)
            keys["heartbeat_interval_ms"] = round(INTERVAL * 1000)
            keys["partition_assignment_strategy"] = self.strategy
        self.members.append(One(self, f"c{self.made}", **keys))

    def go(self) -> None:
        """One fewer, in an orderly manner."""
        if len(self.members) > 1:
            one = self.leaving = self.lots.choice(self.members)
            if one.client.thread.life is ThreadLife.RUNNING:
                self.members.remove(one)
                try:
                    one.consumer.close(self.lots.choice((0.0, 1.0, 30.0)))
                except KafkaException as error:
                    refused = isinstance(error.__cause__, CommitFailedException)
                    if self.is_calm or not refused:
                        raise  # Put out meanwhile, its last commit is refused; else it is not.
            self.leaving = None

    def compute(self) -> None:
        """One does not poll for a while; the others do."""
        one = self.lots.choice(self.members)
        one.absent_until = self.world.clock.time + self.lots.choice((0.5, 3.0, 12.0))

    def all_compute(self) -> None:
        """No member polls for a while."""
        self.world.clock.sleep(self.lots.choice((1.0, 10.0)))

    def crash(self) -> None:
        """A process is gone, and sometimes its machine with it: its sockets stay open."""
        if len(self.members) > 1:
            one = self.lots.choice(self.members)
            self.members.remove(one)
            self.world.members.remove(one.client)
            one.consumer._caller.closed = True
            if self.lots.random() < 0.5:
                one.client.network.shutdown()

    def stop(self) -> None:
        """A process stands still, with its loop, and goes on later."""
        thread = self.lots.choice(self.members).client.thread
        if thread.life is ThreadLife.RUNNING:
            thread.life = ThreadLife.NEW
            moment = self.world.clock.time + self.lots.choice((1.0, 5.0, 12.0))
            self.world.at(moment, lambda: setattr(thread, "life", ThreadLife.RUNNING))

    def freeze(self) -> None:
        """A broker stands still."""
        self.world.control.freeze(self.lots.choice((1, 2)))
        self.world.at(
            self.world.clock.time + self.lots.choice((0.5, 4.0, 10.0)),
            self.world.control.thaw,
        )

    def move(self) -> None:
        """The coordinator is another broker."""
        self.world.control.move_coordinator("g", self.lots.choice((1, 2)))

    def cut(self) -> None:
        """All connections end."""
        self.world.control.disconnect()

    def refuse(self) -> None:
        """The coordinator says something."""
        apis, codes = REFUSED[self.protocol]
        self.world.control.fail(self.lots.choice(apis), self.lots.choice(codes), times=1)

    # --- the life --------------------------------------------------------------------

    def live(self) -> None:
        """All of it."""
        calm = (self.enter, self.go, self.compute, self.all_compute, self.write)
        rough = (self.crash, self.stop, self.freeze, self.move, self.cut, self.refuse)
        for _ in range(STEPS):
            self.poll(self.lots.randint(1, 15))
            action = self.lots.choice(calm if self.is_calm else calm + rough)
            self.log.append(f"{self.world.clock.time:9.3f} {action.__name__}")
            action()
        self.rest()

    def poll(self, rounds: int) -> None:
        """They poll in turn."""
        for _ in range(rounds):
            here = [each for each in self.members if each.is_here]
            for each in here:
                each.poll()
            if not here:
                self.world.clock.sleep(TURN)
            committed = self.committed()
            ahead = [tp for tp, at in committed.items() if at > self.next[tp]]
            assert not ahead, f"committed, and returned to no member: {ahead}"

    def rest(self) -> None:
        """It comes to rest, and everything is read."""
        self.world.control.heal()
        self.world.control.thaw()
        self.write()
        until = self.world.clock.time + 400.0
        while not self.is_settled():
            assert self.world.clock.time < until, f"no rest: {self.group()!r}"
            self.poll(10)
        self.poll(10)
        began = self.world.clock.time
        self.world.clock.sleep(3 * INTERVAL)
        self.check_heartbeats(began)
        ends = {tp: self.world.control.offsets(tp)[1] for tp in PARTITIONS}
        assert self.next == ends, f"never read: {self.next} of {ends}"
        for each in self.members:
            each.consumer.commit_sync(timeout=5.0)
        assert self.committed() == ends
        while self.members:
            self.leaving = self.members[-1]
            self.leaving.consumer.close(5.0)
            assert not self.leaving.held, f"{self.leaving.name} was not told of the end"
            self.members.pop()

    def is_settled(self) -> bool:
        """Whether each has its part and has read that, all is shared out, and all is read.

        Each itself: who was given a partition and has not polled since has no position of it,
        commits nothing of it, and has to read again what another has read and not committed.
        """
        parts = [each.consumer.assignment() for each in self.members]
        whole = sum(map(len, parts)) == len(PARTITIONS)
        ends = {tp: self.world.control.offsets(tp)[1] for tp in PARTITIONS}
        return (
            whole
            and all(each.has_read(ends) for each in self.members)
            and len(self.present()) == len(self.members) == len(self.group().members)
            and self.group().state in ("Stable", "STABLE")
            and self.next == ends
        )

    def check_heartbeats(self, began: float) -> None:
        """Each one's since a moment came by the interval, while no member polled."""
        now = self.world.clock.time
        at: dict[str, list[float]] = {each.name: [] for each in self.members}
        for api in BEATS:
            for entry in self.world.cluster.journal.entries(api):
                if entry.at >= began and entry.client_id in at:
                    at[entry.client_id].append(entry.at)
        for name, beats in at.items():
            gaps = [b - a for a, b in zip([began, *beats], [*beats, now], strict=True)]
            assert max(gaps) <= INTERVAL + 4 * LATENCY, f"{name} was late: {gaps}"
