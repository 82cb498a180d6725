"""Workers that are given what does no work, run again, or fail while a partition goes."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from prokurist import ConsumerRecord
from prokurist.errors import IllegalStateException
from prokurist.parallel import DeadLetters, Order, Retries, TaskWorkers, Workers
from tests.simulation.reading import A, B
from tests.simulation.returning import committed
from tests.simulation.test_thread_workers import BOTH, reading, working
from tests.simulation.virtual_loop import run
from tests.simulation.working import keyed
from tests.simulation.working import reading as tasks_reading


async def coroutine(_: ConsumerRecord) -> None:
    """Work that nobody awaits."""


def steps(_: ConsumerRecord) -> Iterator[int]:
    """Work that nobody iterates."""
    yield 1


def call(handler: Callable[[ConsumerRecord], object], record: ConsumerRecord) -> object:
    """Call a function; from outside it is no coroutine function."""
    return handler(record)


def failing(_: ConsumerRecord) -> None:
    """Fail."""
    raise OSError("away")


@pytest.mark.parametrize("handler", [coroutine, steps])
def test_a_handler_that_is_to_be_awaited(handler: Callable[[ConsumerRecord], object]) -> None:
    """B910: refused, or where its kind shows only by its result, nothing is committed."""
    world = keyed(records=3)
    with reading(world) as client:
        with pytest.raises(TypeError, match="does its work in the call"):
            Workers(client, "orders", handler)
        workers = working(world, client, partial(call, handler))
        with pytest.raises(TypeError, match="and it has returned <"):
            workers.run()
    assert not committed(world)


def test_a_function_for_tasks() -> None:
    """B910: the run ends, and nothing is tried again."""
    world = keyed(records=3, keys=1)
    seen: list[int] = []

    async def work() -> None:
        async with tasks_reading(world) as client:
            handler: Any = lambda each: seen.append(each.offset)  # noqa: E731
            with pytest.raises(TypeError, match="It has returned None"):
                await TaskWorkers(client, "orders", handler, retries=Retries(5)).run()

    run(world, work())
    assert seen == [0]
    assert not committed(world)


class AsyncSends:
    """A producer of coroutines."""

    async def send(self, *_: Any, **__: Any) -> None:
        """Send nothing, as nobody awaits it."""


def test_dead_letters_by_coroutines() -> None:
    """B910: what was not sent is not done."""
    world = keyed(records=3)
    with reading(world) as client:
        letters = DeadLetters(AsyncSends(), "orders.dead")
        workers = working(world, client, failing, dead_letters=letters)
        with pytest.raises(TypeError, match="nothing was sent"):
            workers.run()
    assert not committed(world)


def test_a_consumer_of_the_other_kind() -> None:
    """B910: its words name the right one."""
    world = keyed()
    with reading(world) as client:
        given: Any = client
        with pytest.raises(TypeError, match=r"prokurist\.aio"):
            TaskWorkers(given, "orders", coroutine)


def test_a_consumer_without_a_group() -> None:
    """B910: its words name what is missing."""
    world = keyed()
    with (
        world.consumer(group_id=None, enable_auto_offset_store=False) as client,
        pytest.raises(IllegalStateException, match=r"give the consumer a group\.id"),
    ):
        Workers(client, "orders", failing)


def test_another_run_has_what_the_first_has_left() -> None:
    """B911: of the same workers; pauses by the bound of bytes do not stay."""
    world = keyed(partitions=2, records=6, keys=1)
    seen: list[tuple[int, int]] = []
    with reading(world) as client:
        workers = working(
            world,
            client,
            lambda each: seen.append((each.partition, each.offset)),
            2.0,
            max_bytes=2,
            order=Order.PARTITION,
        )
        world.at(world.clock.time + 4.0, workers.stop)
        workers.run()
        assert 0 < len(set(seen)) < 12
        assert not client.paused()
        workers.run(idle_timeout=5.0)
    assert len(set(seen)) == 12
    for number in range(2):
        once = list(dict.fromkeys(offset for at, offset in seen if at == number))
        assert once == sorted(once)
    assert committed(world, A) == committed(world, B) == 6


def test_another_run_of_tasks_has_what_has_failed() -> None:
    """B911: the record whose error has ended the first run comes again."""
    world = keyed(records=4, keys=1)
    seen: list[int] = []

    async def handle(record: ConsumerRecord) -> None:
        seen.append(record.offset)
        if seen == [0, 1]:
            raise KeyError("customer")

    async def work() -> None:
        async with tasks_reading(world) as client:
            workers = TaskWorkers(client, "orders", handle)
            with pytest.raises(KeyError):
                await workers.run()
            await workers.run(idle_timeout=5.0)

    run(world, work())
    assert seen == [0, 1, 1, 2, 3]
    assert committed(world) == 4


def test_stop_before_run() -> None:
    """B912: it ends at once, and the next one goes on."""
    world = keyed(records=2)

    async def work() -> None:
        async with tasks_reading(world) as client:
            tasks = TaskWorkers(client, "orders", coroutine)
            tasks.stop()
            await asyncio.wait_for(tasks.run(), 2.0)

    run(world, work())
    with reading(world) as client:
        workers = working(world, client, lambda _: None)
        workers.stop()
        began = world.clock.time
        workers.run(idle_timeout=60.0)
        assert world.clock.time - began < 2.0
        workers.run(idle_timeout=5.0)
    assert committed(world) == 2


@BOTH
def test_a_failure_while_its_partition_goes(protocol: str) -> None:
    """B913: no further attempt is made here; the next member has the record."""
    world = keyed(partitions=2, records=1, keys=1)
    tried: list[tuple[float, int]] = []

    def handle(record: ConsumerRecord) -> None:
        tried.append((world.clock.time, record.partition))
        raise OSError("away")

    with reading(world, protocol) as client, reading(world, protocol) as other:
        workers = working(
            world, client, handle, 20.0, drain_timeout=30.0, retries=Retries(9, 1.0, 1.0)
        )
        other.track_offsets()
        other.subscribe("orders")
        came: list[tuple[float, int]] = []

        def poll_other() -> None:
            with suppress(IllegalStateException):
                came.extend((world.clock.time, each.partition) for each in other.poll(0.0))
            world.at(world.clock.time + 0.5, poll_other)

        world.at(world.clock.time + 3.0, poll_other)
        world.at(world.clock.time + 120.0, workers.stop)
        workers.run()
        ((when, gone),) = came
        assert [number for _, number in tried].count(gone) == 1
        assert tried[0][0] <= when
        assert workers.counts()["waiting"] == 0


def leave(_: object = None) -> Any:
    """Do what a thread cannot."""
    raise SystemExit(3)


def away() -> float:
    """Fail."""
    raise LookupError("no number")


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        ({"dead_letters": DeadLetters(object(), leave)}, SystemExit),  # type: ignore[arg-type]
        ({"retries": Retries(3, random=away)}, LookupError),
    ],
)
def test_errors_beside_the_handler(keys: dict[str, Any], kind: type[BaseException]) -> None:
    """B914: `run` ends with them, and no thread is lost."""
    world = keyed(records=3, keys=1)
    with reading(world) as client:
        workers = working(world, client, failing, **keys)
        with pytest.raises(kind):
            workers.run(idle_timeout=30.0)
        assert workers.counts()["running"] == 0
    assert not committed(world)


def test_a_task_that_something_else_has_cancelled() -> None:
    """B914: a failure like any other, tried again."""
    world = keyed(records=1)
    seen: list[int] = []

    async def handle(record: ConsumerRecord) -> None:
        seen.append(record.offset)
        if len(seen) == 1:
            raise asyncio.CancelledError

    async def work() -> None:
        async with tasks_reading(world) as client:
            await TaskWorkers(client, "orders", handle, retries=Retries(3)).run(
                idle_timeout=5.0
            )

    run(world, work())
    assert seen == [0, 0]
    assert committed(world) == 1


def test_keys_without_a_hash() -> None:
    """B914: a tuple with a list in it, from a deserializer, is a key like others."""
    world = keyed(records=4, keys=2)
    with reading(world, key_deserializer=lambda _, data: ([data],)) as client:
        working(world, client, lambda _: None).run(idle_timeout=5.0)
    assert committed(world) == 4


def test_tasks_that_await_one_close_and_are_cancelled() -> None:
    """B919: together, each for the first time: `close` goes on, and leaves the group."""
    world = keyed(records=3)

    async def work() -> None:
        async with tasks_reading(world) as client:
            tracker = client.track_offsets()
            client.subscribe("orders")
            while not (records := await client.poll(5.0)):
                pass
            for record in records:
                tracker.done(record)
            closing = [asyncio.create_task(client.close()) for _ in range(3)]
            await asyncio.sleep(0)
            for each in closing:
                each.cancel()
            await asyncio.wait(closing)
            assert all(each.cancelled() for each in closing)

    run(world, work())
    assert committed(world) == 3
