"""What thousands of timed-out calls leave behind: nothing, and nothing to collect.

Counted are objects, in virtual time: bytes are for benchmarks/idle.py.
"""

import gc
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import KafkaException, TimeoutException, WakeupException
from prokurist.network_thread.wire.versions import Versions
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.quiescence import LONG
from tests.simulation.world import World

TP = TopicPartition("orders", 0)


@pytest.fixture(autouse=True)
def _of_this_test() -> Iterator[None]:
    """Leave out another test's world, which may become garbage in the midst of this one."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def position_at_the_end(consumer: KafkaConsumer) -> None:
    """Where the log ends, by way of a position that has to be looked up."""
    consumer.seek_to_end(TP)
    consumer.position(TP, 0.1)


CALLS: tuple[Callable[[KafkaConsumer], object], ...] = (
    lambda consumer: consumer.commit_sync({TP: OffsetAndMetadata(1)}, 0.1),
    lambda consumer: consumer.committed(TP, 0.1),
    position_at_the_end,
    lambda consumer: consumer.beginning_offsets([TP], 0.1),
    lambda consumer: consumer.end_offsets([TP], 0.1),
    lambda consumer: consumer.offsets_for_times({TP: 5}, 0.1),
    lambda consumer: consumer.list_topics(0.1),
    lambda consumer: consumer.partitions_for("unheard-of", 0.1),
    lambda consumer: consumer.poll(0.1),
)
"""Each call that waits for a broker."""


def commit_behind_another(consumer: KafkaConsumer) -> None:
    """Its wait is first for a commit that no call waits for by itself."""
    consumer.commit_async({TP: OffsetAndMetadata(1)})
    consumer.commit_sync({TP: OffsetAndMetadata(2)}, 0.1)


def silent(world: World) -> None:
    """It takes everything and answers nothing."""
    world.control.freeze()


def dead(world: World) -> None:
    """It refuses connections."""
    world.control.kill(1)


def cutting(world: World) -> None:
    """It ends the connection at each request."""
    world.control.cut(times=None)


def loading(world: World) -> None:
    """It answers, and always that it cannot yet."""
    world.control.fail("OffsetCommit", 14, times=None)
    world.control.fail("OffsetFetch", 14, times=None)
    world.control.fail("ListOffsets", 6, times=None)


def well(_world: World) -> None:
    """It answers."""


def in_use(world: World) -> KafkaConsumer:
    """A consumer that knows its cluster, its coordinator and its position."""
    consumer = world.consumer(enable_auto_commit=False)
    consumer.assign(TP)
    consumer.committed(TP)
    consumer.position(TP)
    return consumer


def ask(consumer: KafkaConsumer, calls: int) -> int:
    """So many calls, of each kind in turn: how many ended with TimeoutException."""
    late = 0
    for call in islice(cycle(CALLS), calls):
        try:
            call(consumer)
        except TimeoutException:
            late += 1
        except KafkaException:
            continue
    return late


@contextmanager
def garbage() -> Iterator[list[object]]:
    """What is garbage of this stretch of code that only a collector can find."""
    found: list[object] = []
    gc.collect()
    gc.disable()
    before = gc.get_debug()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        found.extend(gc.garbage)
    finally:
        gc.garbage.clear()
        gc.set_debug(before)
        gc.enable()


def objects_of_ours(world: World, consumer: KafkaConsumer) -> Counter[str]:
    """How many objects of each of our modules there are when all has come to rest.

    What a connection knows of its broker's versions goes with connections that stand, and
    which of them do then, the bootstrap one or not, is a matter of chance.
    """
    world.control.heal()
    world.control.thaw()
    if not world.cluster.state.brokers[1].running:
        world.control.restart(1)
    world.clock.sleep(LONG)
    ask(consumer, len(CALLS))  # Connected again, and everything known again.
    world.control.forget_requests()
    gc.collect()
    present = [type(each) for each in gc.get_objects()]
    modules = (each.__module__ for each in present)
    ours = ("prokurist.errors", "prokurist.events", "prokurist.network_thread")
    found = Counter(name for name in map(str, modules) if name.startswith(ours))
    found[Versions.__module__] = present.count(Versions) - world.members[0].network.open
    return found


@pytest.mark.parametrize("fault", [silent, dead, cutting, loading, well])
def test_calls_leave_nothing_for_the_garbage_collector(fault: Callable[[World], None]) -> None:
    """B269: no reference cycle in a thousand calls, so no full collection is owed to them."""
    world = World()
    with in_use(world) as consumer:
        fault(world)
        ask(consumer, 10 * len(CALLS))  # What is imported late is imported by now.
        with garbage() as found:
            late = ask(consumer, 1000)
        assert not found, Counter(type(each).__name__ for each in found).most_common(9)
        if fault is silent:
            assert late > 800  # All but the polls, which time out without an exception.


def test_wakeups_leave_nothing_for_the_garbage_collector() -> None:
    """B269: nor does a call that is ended from outside, in any wait."""
    world = World()
    with in_use(world) as consumer:

        def woken() -> None:
            silent(world)
            for call in (*CALLS, commit_behind_another):
                world.at(world.clock.time + 0.05, consumer.wakeup)
                with pytest.raises(WakeupException):
                    call(consumer)
            world.control.thaw()
            world.clock.sleep(1.0)  # What is in flight holds its call until it is answered.

        woken()
        with garbage() as found:
            woken()
        assert not found, Counter(type(each).__name__ for each in found).most_common(9)


@pytest.mark.parametrize("code", [14, 30])
def test_failed_asynchronous_commits_leave_nothing_for_the_garbage_collector(
    code: int,
) -> None:
    """B269: whether they may succeed another time (14) or may not (30)."""
    world = World()
    with in_use(world) as consumer:
        world.control.fail("OffsetCommit", code, times=None)
        errors: list[str] = []

        def committed() -> None:
            consumer.commit_async(
                {TP: OffsetAndMetadata(1)}, lambda _offsets, error: errors.append(str(error))
            )
            consumer.poll(0.1)
            consumer.poll(0.1)

        committed()
        with garbage() as found:
            committed()
        assert not found, Counter(type(each).__name__ for each in found).most_common(9)
        assert len(errors) == 2
        assert "None" not in errors


@pytest.mark.parametrize("fault", [silent, dead, cutting])
def test_calls_that_time_out_leave_nothing_behind(
    fault: Callable[[World], None], caplog: pytest.LogCaptureFixture
) -> None:
    """B24, B269: when the broker is back, all is as it was before the first of them."""
    caplog.set_level(logging.CRITICAL, "prokurist")  # pytest keeps what is logged, errors too.
    world = World()
    with in_use(world) as consumer:
        fault(world)
        ask(consumer, 600)  # Until a bootstrap address is connected to for a second opinion.
        before = objects_of_ours(world, consumer)
        fault(world)
        ask(consumer, 1000)
        more = objects_of_ours(world, consumer) - before
        assert not more, more
