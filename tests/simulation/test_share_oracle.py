"""Share groups under random faults, beside an oracle that knows what became of each record."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from prokurist import errors
from prokurist.share.consumer import KafkaShareConsumer
from prokurist.types import Acknowledge, TopicPartition
from tests.simulation.sharing import A, B, reader, sharing
from tests.simulation.world import World

STEPS = 60
LIMIT = 5
MARKS = [Acknowledge.ACCEPT] * 6 + [Acknowledge.RELEASE, Acknowledge.REJECT, None]


class Oracle:
    """What the application has decided, and what brokers have confirmed.

    Attributes:
        decided: The decisions on each record, by place.
        confirmed: Records whose acceptance a broker has confirmed.
    """

    def __init__(self) -> None:
        self.decided: dict[tuple[TopicPartition, int], set[Acknowledge]] = {}
        self.confirmed: set[tuple[TopicPartition, int]] = set()
        self.deliveries: Counter[tuple[TopicPartition, int]] = Counter()

    def hear(self, offsets: Any, error: Any) -> None:
        """Take what a callback says."""
        if error is None:
            self.confirm(offsets)

    def confirm(self, offsets: Any) -> None:
        """Take what was taken."""
        for tp, each in offsets.items():
            self.confirmed.update((tp, offset) for offset in each)

    def check(self, world: World) -> None:
        """Hold the broker's states against the decisions."""
        for tp in (A, B):
            end = world.control.offsets(tp)[1]
            states = world.control.share_states("s", tp)
            assert all(offset < end for offset in states)
            for offset, state in states.items():
                place = tp, offset
                decided = self.decided.get(place, set())
                if state == "acknowledged":
                    assert Acknowledge.ACCEPT in decided, place
                if state == "archived":
                    used_up = self.deliveries[place] >= 1
                    assert Acknowledge.REJECT in decided or used_up, place
                if place in self.confirmed and state in ("available", "acquired"):
                    # Released, and said so; or accepted in an earlier delivery.
                    assert Acknowledge.RELEASE in decided, place


def disturb(world: World, random: Random) -> None:
    """Let something happen to the brokers."""
    nodes = sorted(world.cluster.state.brokers)
    node = random.choice(nodes)
    now = world.clock.time
    match random.randrange(9):
        case 0:
            world.control.disconnect(node)
        case 1:
            world.control.freeze(node)
            world.at(now + random.uniform(0.1, 4.0), lambda: world.control.thaw(node))
        case 2:
            world.control.move_leader(random.choice((A, B)), node)
        case 3:
            world.control.forget_share_sessions(node)
        case 4:
            world.control.cut("ShareAcknowledge", applied=random.random() < 0.5, times=1)
        case 5:
            world.control.cut("ShareFetch", applied=random.random() < 0.5, times=1)
        case 6:
            code = random.choice((3, 6, 15, 16, 74, 121, 999))
            world.control.fail("ShareAcknowledge", code, topic="orders", times=1)
        case 7:
            world.control.move_coordinator("s", node)
        case _:
            pass


def work(consumer: KafkaShareConsumer, oracle: Oracle, random: Random) -> None:
    """Poll, decide, and commit at times."""
    try:
        for record in consumer.poll(random.uniform(0.0, 1.5)):
            place = TopicPartition(record.topic, record.partition), record.offset
            oracle.deliveries[place] += 1
            mark = random.choice(MARKS)
            # The next poll accepts what has none.
            oracle.decided.setdefault(place, set()).add(mark or Acknowledge.ACCEPT)
            if mark is Acknowledge.ACCEPT:
                record.accept()
            elif mark is Acknowledge.RELEASE:
                record.release()
            elif mark is Acknowledge.REJECT:
                record.reject()
        if random.random() < 0.3:
            oracle.confirm(consumer.commit_sync(random.uniform(0.0, 3.0)))
        elif random.random() < 0.3:
            consumer.commit_async()
    except errors.AcknowledgeException as error:
        oracle.confirm(error.done)
    except errors.AcknowledgeTimeoutException as error:
        oracle.confirm(error.done)


@pytest.mark.parametrize("seed", range(1, 41))
def test_no_record_vanishes(seed: int) -> None:
    """B832: each is acknowledged, archived, or available, whatever becomes of brokers."""
    random = Random(seed)  # noqa: S311 - a replayable seed
    world = sharing(
        nodes=3, partitions=2, lock_duration=random.choice((2.0, 6.0)), delivery_limit=LIMIT
    )
    oracle = Oracle()
    consumers = [
        reader(
            world,
            on_acknowledged=oracle.hear,
            share_renew_automatically=random.random() < 0.5,
            share_acquire_mode=random.choice(("batch_optimized", "record_limit")),
            max_poll_records=random.choice((1, 5, 500)),
            request_timeout_ms=5000,
        )
        for _ in range(random.choice((1, 2, 3)))
    ]
    for _ in range(STEPS):
        for tp in (A, B):
            if random.random() < 0.3:
                world.control.append(tp, *[b"x"] * random.randint(1, 4))
        if random.random() < 0.3:
            disturb(world, random)
        consumer = random.choice(consumers)
        began = world.clock.time
        work(consumer, oracle, random)
        assert world.clock.time - began < 6.0
        oracle.check(world)
    world.control.heal()
    world.control.thaw()
    world.clock.sleep(20.0)
    # In quiet times everything comes to its end.
    quiet = 0
    for _ in range(300):
        found = False
        for consumer in consumers:
            records = consumer.poll(1.0)
            found = found or bool(records)
            for record in records:
                place = TopicPartition(record.topic, record.partition), record.offset
                oracle.deliveries[place] += 1
                oracle.decided.setdefault(place, set()).add(Acknowledge.ACCEPT)
                record.accept()
            try:
                oracle.confirm(consumer.commit_sync(5.0))
            except errors.AcknowledgeException as error:
                oracle.confirm(error.done)
        quiet = 0 if found else quiet + 1
        if quiet > 8:
            break
    oracle.check(world)
    for tp in (A, B):
        states = world.control.share_states("s", tp)
        assert sorted(states) == list(range(world.control.offsets(tp)[1]))
        assert set(states.values()) <= {"acknowledged", "archived"}
    for consumer in consumers:
        consumer.close(5.0)
