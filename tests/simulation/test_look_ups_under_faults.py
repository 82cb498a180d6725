"""Look-ups in a cluster where something always goes wrong; a seed replays to the digit."""

from random import Random
from typing import TYPE_CHECKING

import pytest

from prokurist import errors
from prokurist.events.application_events import (
    ApplicationEvent,
    Edge,
    ListTopics,
    LookUpOffsets,
    LookUpTopic,
    Withdraw,
)
from prokurist.network_thread.thread import Life
from prokurist.types import TopicPartition
from tests.simulation.looking_up import ORDERS, TP, idle, look_up
from tests.simulation.world import World

if TYPE_CHECKING:
    from prokurist.events.call import Call
    from prokurist.testing.cluster.apis import ApiName

MOMENTS: tuple[Edge | int, ...] = (Edge.BEGINNING, Edge.END, 0, 1 << 40)
CODES = (3, 5, 6, 29, 43, 74, 75, 78, -1, 32000)


def trouble(world: World, random: Random) -> None:
    """One thing goes wrong, or is mended."""
    api: ApiName = random.choice(("Metadata", "ListOffsets"))
    node = random.randint(1, 3)
    control = world.control
    match random.randrange(12):
        case 0:
            control.fail(api, random.choice(CODES), times=random.randint(1, 3))
        case 1:
            control.fail("Metadata", 129, times=1, whole=True)
        case 2:
            control.cut(api, times=1, reset=random.random() < 0.5)
        case 3:
            control.drop(api, times=1)
        case 4:
            control.answer_late(api, random.random() * 3, times=2)
        case 5:
            control.throttle(api, random.random(), times=1)
        case 6:
            control.freeze(node)
        case 7 if world.cluster.state.broker(node).running:
            control.kill(node, missed=random.random() < 0.5)
        case 8:
            control.move_leader(random.choice(ORDERS), node)
        case 9:
            control.disconnect(node)
        case 10:
            control.wrong_correlation_id(api, times=1)
        case _:
            mend(world)


def mend(world: World) -> None:
    """Everything is well again."""
    world.control.heal()
    world.control.thaw()
    for node in (1, 2, 3):
        if not world.cluster.state.broker(node).running:
            world.control.restart(node)


def wish(world: World, random: Random) -> ApplicationEvent:
    """Something to look up, with a deadline."""
    call = world.call("look-up", random.choice((0.0, 0.01, 0.3, 2.0, 20.0)))
    match random.randrange(5):
        case 0:
            return ListTopics(call)
        case 1:
            return LookUpTopic(call, random.choice(("orders", "nothing")))
        case _:
            some = random.sample(ORDERS, random.randint(1, 3))
            moments = {tp: random.choice(MOMENTS) for tp in some}
            if random.random() < 0.2:
                moments[TopicPartition("nothing", 0)] = Edge.END
            return LookUpOffsets(call, moments, random.random() < 0.5)


@pytest.mark.parametrize("seed", range(20))
def test_every_look_up_ends_in_time_and_leaves_nothing(seed: int) -> None:
    """B1, B20, B24: under all faults, each ends by its deadline, and all is well afterwards."""
    world = World(nodes=3, seed=seed)
    random = Random(seed)  # noqa: S311 - a replayable seed
    member = world.client(request_timeout_ms=3000)
    calls: list[Call] = []
    for _ in range(60):
        trouble(world, random)
        event = wish(world, random)
        calls.append(event.call)
        member.thread.mailbox.post(event)
        world.clock.sleep(random.choice((0.0, 0.001, 0.05, 1.0)))
        if random.random() < 0.1:
            event.call.leave(world.clock.time, KeyboardInterrupt())
            member.thread.mailbox.post(Withdraw(event.call))
        late = [
            call
            for call in calls
            if call.is_open and call.deadline.at < world.clock.time - 0.001
        ]
        assert not late
    mend(world)
    world.clock.sleep(40.0)
    assert member.thread.life is Life.RUNNING
    assert not world.cluster.failures
    for call in calls:
        try:
            call.result()
        except (errors.KafkaException, KeyboardInterrupt):
            continue
    assert idle(member)
    assert look_up(world, member) == {TP: 0}
