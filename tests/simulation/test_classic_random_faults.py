"""Groups under random faults, in virtual time: all is read again in the end."""

from random import Random

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import KafkaException
from prokurist.testing.cluster.apis import ApiName
from prokurist.types import TopicPartition
from tests.simulation.classic_members import TURN, consumer_in, member_of, settle
from tests.simulation.world import World

SEEDS = (*range(12), 129)
STRATEGIES = ("range", "sticky", "cooperative-sticky", ("range", "cooperative-sticky"))
APIS: tuple[ApiName, ...] = ("JoinGroup", "SyncGroup", "Heartbeat")
HARMLESS = (14, 15, 16, 22, 25, 27)
"""Codes that a coordinator may send at any time, and that a member lives through."""


class Life:
    """Members of one group that come and go, and what is done to them."""

    def __init__(self, seed: int) -> None:
        self.lots = Random(seed)  # noqa: S311 - a replayable seed
        self.world = World(nodes=2, topics={"orders": 5}, seed=seed)
        self.strategy = self.lots.choice(STRATEGIES)
        self.members: list[KafkaConsumer] = []
        self.made = 0
        self.enter()

    def enter(self) -> None:
        """One more."""
        if len(self.members) < 4:
            self.made += 1
            consumer = consumer_in(
                self.world,
                f"c{self.made}",
                partition_assignment_strategy=self.strategy,
                session_timeout_ms=6000,
                heartbeat_interval_ms=self.lots.choice((500, 2000)),
                max_poll_interval_ms=self.lots.choice((8000, 300_000)),
                metadata_max_age_ms=5000,
            )
            consumer.subscribe("orders")
            self.members.append(consumer)

    def go(self) -> None:
        """One fewer, in an orderly manner."""
        if len(self.members) > 1:
            leaving = self.members.pop(self.lots.randrange(len(self.members)))
            self.lots.choice((leaving.close, lambda: leaving.close(0.0), leaving.unsubscribe))()

    def compute(self) -> None:
        """No member polls for a while."""
        self.world.clock.sleep(self.lots.choice((1.0, 5.0, 10.0)))

    def refuse(self) -> None:
        """The coordinator says something."""
        api = self.lots.choice(APIS)
        self.world.control.fail(api, self.lots.choice(HARMLESS), times=self.lots.randint(1, 3))

    def move(self) -> None:
        """The coordinator is another broker."""
        self.world.control.move_coordinator("g", self.lots.choice((1, 2)))

    def cut(self) -> None:
        """All connections end."""
        self.world.control.disconnect()

    def stir(self) -> None:
        """A member asks for another rebalance."""
        self.lots.choice(self.members).enforce_rebalance()

    def live(self) -> None:
        """They poll in turn."""
        for _ in range(self.lots.randint(1, 30)):
            for each in self.members:
                began = self.world.clock.time
                each.poll(TURN)
                assert self.world.clock.time - began < TURN + 0.001


@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_comes_to_rest(seed: int) -> None:
    """Issue 6: no wedged group, no poll that is late, and every partition read by one."""
    life = Life(seed)
    for _ in range(40):
        life.live()
        life.lots.choice(
            (
                life.enter,
                life.go,
                life.compute,
                life.refuse,
                life.move,
                life.cut,
                life.stir,
            )
        )()
    life.world.control.heal()
    settle(life.world, *life.members, seconds=400.0)
    parts = [each.assignment() for each in life.members]
    assert sum(map(len, parts)) == 5, [member_of(each) for each in life.members]
    assert frozenset().union(*parts) == {TopicPartition("orders", n) for n in range(5)}
    for each in life.members:
        try:
            each.commit_sync(timeout=5.0)
        except KafkaException as error:
            raise AssertionError(f"{member_of(each)} cannot commit") from error
