"""Deliveries that coroutines await: one wake of the loop for all that has ended."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Coroutine
from typing import Any

import pytest

from prokurist import Deliveries, Delivery, KafkaProducer, errors
from prokurist.events.loop_wakes import wakes_of
from prokurist.testing.broker import EmbeddedBroker
from tests.simulation.producing import made
from tests.simulation.world import World

MANY = 20_000


def sent(world: World, count: int) -> tuple[KafkaProducer, list[Delivery]]:
    """A producer whose records wait for its `flush`, which this world's clock needs."""
    producer, _ = made(world, linger_ms=60_000)
    return producer, [producer.send("orders", b"v", partition=0) for _ in range(count)]


async def turns(condition: Any) -> None:
    """Let other tasks run until something is true."""
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came true")


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in a loop in debug mode, with warnings as errors."""
    asyncio.run(main, debug=True)


def test_a_delivery_that_is_done_does_not_suspend() -> None:
    """B442: no future is made and nothing else runs meanwhile."""
    world = World()
    producer, (delivery,) = sent(world, 1)
    producer.flush(1.0)
    with pytest.raises(StopIteration) as stopped:
        next(delivery.__await__())
    assert stopped.value.value == delivery.result()
    producer.close(1.0)


def test_all_records_that_end_together_wake_the_loop_once() -> None:
    """B442: a `gather` of twenty thousand costs the network thread as much as one."""
    world = World()
    producer, deliveries = sent(world, MANY)
    woken = 0

    async def main() -> None:
        nonlocal woken
        loop = asyncio.get_running_loop()
        soon = loop.call_soon_threadsafe

        def count(*arguments: Any, **keys: Any) -> Any:
            nonlocal woken
            woken += 1
            return soon(*arguments, **keys)

        loop.call_soon_threadsafe = count  # type: ignore[method-assign,assignment]
        gathered = asyncio.gather(*deliveries)
        await asyncio.sleep(0)
        assert not gathered.done()
        producer.flush(5.0)
        offsets = [each.offset for each in await gathered]
        assert offsets == list(range(1, MANY + 1))
        assert not wakes_of(loop)._waiting

    asyncio.run(main())
    assert 1 <= woken <= 2
    producer.close(1.0)


def test_one_task_that_is_cancelled_ends_the_wait_of_no_other() -> None:
    """B443: of the same record, or of another one of its batch."""
    world = World()
    producer, deliveries = sent(world, 3)

    async def main() -> None:
        tasks = [asyncio.ensure_future(each) for each in [*deliveries, deliveries[0]]]
        await asyncio.sleep(0)
        tasks[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        producer.flush(5.0)
        assert [(await each).offset for each in tasks[1:]] == [2, 3, 1]

    run(main())
    producer.close(1.0)


def test_a_loop_that_was_closed_meanwhile_is_left() -> None:
    """B443: the producer goes on, for others; the loop can be collected."""
    world = World()
    producer, deliveries = sent(world, 2)

    async def leave() -> "weakref.ref[Any]":
        wait = asyncio.wait([asyncio.ensure_future(each) for each in deliveries], timeout=0)
        assert len((await wait)[1]) == 2
        return weakref.ref(asyncio.get_running_loop())

    left = asyncio.run(leave())
    producer.flush(5.0)
    gc.collect()
    assert left() is None

    async def stays() -> None:
        delivery = producer.send("orders", b"v", partition=0)
        task = asyncio.ensure_future(delivery)
        await asyncio.sleep(0)
        producer.flush(5.0)
        assert (await task).offset == 3

    run(stays())
    assert [each.result(0).offset for each in deliveries] == [1, 2]
    producer.close(1.0)


def test_loops_of_several_threads_await_one_record() -> None:
    """B443: each is woken on its own."""
    world = World()
    producer, (delivery,) = sent(world, 1)
    offsets: list[int] = []
    there = threading.Barrier(4)

    async def main() -> None:
        task = asyncio.ensure_future(delivery)
        await asyncio.sleep(0)
        there.wait(10.0)
        offsets.append((await task).offset)

    threads = [threading.Thread(target=lambda: run(main())) for _ in range(3)]
    for each in threads:
        each.start()
    there.wait(10.0)
    producer.flush(5.0)
    for each in threads:
        each.join(10.0)
    assert offsets == [1, 1, 1]
    producer.close(1.0)


def test_a_record_that_fails_raises_where_it_is_awaited() -> None:
    """B443: the error of a future of its own is never left unretrieved."""
    world = World()
    producer, deliveries = sent(world, 2)

    async def main() -> None:
        tasks = [asyncio.ensure_future(each) for each in deliveries]
        await asyncio.sleep(0)
        world.control.fail("Produce", 29, times=1)
        producer.flush(5.0)
        for each in tasks:
            with pytest.raises(errors.TopicAuthorizationException):
                await each

    run(main())
    producer.close(1.0)


def test_a_batch_that_is_split_is_awaited_in_its_parts() -> None:
    """B443: the tasks go on when the part with their record has ended."""
    world = World()
    producer, deliveries = sent(world, 10)

    async def main() -> None:
        tasks = [asyncio.ensure_future(each) for each in deliveries]
        await asyncio.sleep(0)
        world.control.fail("Produce", 10, times=1)
        producer.flush(5.0)
        assert [(await each).offset for each in tasks] == list(range(1, 11))

    run(main())
    producer.close(1.0)


def test_a_task_that_is_cancelled_leaves_the_others_their_waiter() -> None:
    """B531: the last of those that await a batch takes it along."""
    world = World()
    producer, deliveries = sent(world, 2)
    batch = deliveries[0]._batch

    async def main() -> None:
        wakes = wakes_of(asyncio.get_running_loop())
        tasks = [asyncio.ensure_future(each) for each in deliveries]
        await asyncio.sleep(0)
        (waiter,) = wakes._waiting.values()
        tasks[0].cancel()
        await asyncio.wait(tasks[:1])
        assert list(wakes._waiting.values()) == batch._waiters == [waiter]
        assert len(waiter.futures) == 1
        tasks[1].cancel()
        await asyncio.wait(tasks[1:])
        assert not wakes._waiting
        assert not batch._waiters
        assert waiter.timer is not None
        assert waiter.timer.cancelled()

    run(main())
    producer.flush(5.0)
    producer.close(1.0)


def test_a_network_thread_that_stands_still_does_not_hold_an_await() -> None:
    """B530: as `result`, it is over a second after `delivery.timeout.ms`, and says why."""
    inside, go_on = threading.Event(), threading.Event()

    def callback(_record: object, _error: object) -> None:
        inside.set()
        go_on.wait(60.0)

    async def late(delivery: "Delivery | Deliveries") -> errors.TimeoutException:
        with pytest.raises(errors.TimeoutException) as raised:
            await delivery
        return raised.value

    async def main() -> None:
        one = producer.send("orders", b"w", partition=1)
        many = producer.send_many("orders", [b"w"] * 10, partition=1)
        found = await asyncio.wait_for(asyncio.gather(late(one), late(one), late(many)), 20.0)
        for each in found:
            assert "a delivery callback of orders-0" in str(each)
            assert each.may_have_happened
        assert not wakes_of(asyncio.get_running_loop())._waiting

    with (
        EmbeddedBroker(1, {"orders": 2}) as broker,
        KafkaProducer(
            bootstrap_servers=broker.bootstrap, delivery_timeout_ms=300, request_timeout_ms=200
        ) as producer,
    ):
        producer.send("orders", b"v", partition=0, on_delivery=callback)
        try:
            assert inside.wait(30.0)
            run(main())
        finally:
            go_on.set()


def test_where_no_loop_runs_the_error_says_what_to_do() -> None:
    """B444: as under trio, whose tasks cannot be woken so."""
    world = World()
    producer, (delivery,) = sent(world, 1)
    with pytest.raises(RuntimeError, match=r"trio.to_thread.run_sync\(delivery.result\)"):
        next(delivery.__await__())
    producer.close(5.0)


def test_waits_that_are_over_leave_nothing_behind() -> None:
    """B531: a task that asks again and again until a record is there keeps no earlier wait."""
    world = World()
    producer, (delivery,) = sent(world, 1)

    async def main() -> None:
        for _ in range(100):
            task = asyncio.ensure_future(delivery)
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert not wakes_of(asyncio.get_running_loop())._waiting
        assert not delivery._batch._waiters
        task = asyncio.ensure_future(delivery)
        await asyncio.sleep(0)
        producer.flush(5.0)
        assert (await task).offset == 1

    run(main())
    producer.close(1.0)
