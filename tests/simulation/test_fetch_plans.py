"""What is fetched from whom, kept from one look to the next: never another than made afresh."""

import random

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.events.fetching import Wish
from prokurist.network_thread.fetch.plan import FetchPlan
from prokurist.types import TopicPartition
from tests.simulation.reading import drained, reader
from tests.simulation.world import World

SOME = [TopicPartition("orders", number) for number in range(12)]


def planned(plan: FetchPlan) -> dict[int, set[object]]:
    """Who is asked for what."""
    return {part.node.id: set(part.wishes) for part in plan.parts()}


def act(chance: random.Random, world: World, consumer: KafkaConsumer) -> None:
    """Change something that fetches depend on."""
    tp = chance.choice(SOME)
    assigned = consumer.assignment()
    what = chance.randrange(7)
    if what == 0:
        consumer.assign(chance.sample(SOME, chance.randrange(1, 12)))
    elif what == 1:
        world.control.move_leader(tp)
    elif what == 2:
        world.control.fail("Fetch", chance.choice([1, 3, 6]), times=1)
    elif tp not in assigned:
        world.control.append(tp, b"x")
    elif what == 3:
        consumer.pause(tp)
    elif what == 4:
        consumer.resume(tp)
    elif what == 5:
        consumer.seek(tp, 0)
    else:
        world.control.append(tp, b"x")


@pytest.mark.parametrize("seed", range(20))
def test_a_plan_that_is_kept_is_the_one_that_is_made_afresh(seed: int) -> None:
    """B109: all is read, during assignments, seeks, pauses, writes and moves."""
    chance = random.Random(seed)  # noqa: S311 - a test
    world = World(nodes=3, topics={"orders": 12})
    with reader(world, *SOME) as consumer:
        manager = world.members[0].side.fetches
        for _ in range(60):
            act(chance, world, consumer)
            consumer.poll(chance.choice([0.0, 0.05, 0.7]))
            afresh = FetchPlan(
                manager._metadata, manager._fetching, manager._replicas, manager._backoffs
            )
            assert planned(manager._plan) == planned(afresh)
        consumer.assign(SOME)
        consumer.resume(SOME)
        for tp in SOME:
            world.control.append(tp, b"end")
        drained(consumer, 3.0)
        assert {tp: consumer.position(tp) for tp in SOME} == consumer.end_offsets(SOME)


def test_an_idle_consumer_goes_through_its_partitions_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B109: neither empty answers nor single records have all of them looked at."""
    world = World(nodes=3, topics={"orders": 12})
    with reader(world, *SOME) as consumer:
        drained(consumer)
        made = 0
        afresh = FetchPlan._begin_again

        def counted(plan: FetchPlan, wishes: list[Wish]) -> None:
            nonlocal made
            made += 1
            afresh(plan, wishes)

        monkeypatch.setattr(FetchPlan, "_begin_again", counted)
        for tp in SOME:
            world.control.append(tp, b"x")
            assert consumer.poll(1.0)
        drained(consumer, 5.0)
        assert not made
