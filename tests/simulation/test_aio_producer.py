"""The producer of coroutines, in virtual time."""

import asyncio
import contextvars
from typing import Any

import pytest

from prokurist import KafkaProducer as ProducerOfThreads
from prokurist import TopicPartition, errors
from prokurist.aio import KafkaProducer
from tests.simulation.producing import values_of
from tests.simulation.virtual_loop import consumer, producer, run
from tests.simulation.world import World

A = TopicPartition("orders", 0)


def test_records_are_sent_and_awaited() -> None:
    """B700: one by one, and many."""
    world = World()

    async def main() -> None:
        async with producer(world, linger_ms=5) as client:
            sent = [await client.send("orders", b"%d" % n, partition=0) for n in range(10)]
            assert [(await each).offset for each in sent] == list(range(10))
            many = await client.send_many("orders", [b"x"] * 100, partition=1)
            assert [each.records for each in await many] == [100]
            await client.flush(5.0)
            assert await client.purge() == 0
            assert len(await client.partitions_for("orders")) == 3
            assert await client.close() == 0
            with pytest.raises(errors.IllegalStateException, match="closed"):
                await client.send("orders", b"v")

    run(world, main())


def test_a_serializer_and_a_partitioner() -> None:
    """B700: the topic is waited for in the task."""
    world = World()

    async def main() -> None:
        keys: dict[str, Any] = {
            "value_serializer": str.encode,
            "partitioner_class": lambda _topic, _key, _value, _cluster: 2,
        }
        async with producer(world, **keys) as client:
            delivery = await client.send("orders", "v")
            assert (await delivery).partition == 2

    run(world, main())


def test_callbacks_run_on_the_loop_in_the_context_of_the_send() -> None:
    """B706: in order."""
    world = World()
    number = contextvars.ContextVar[int]("number")
    said: list[tuple[int, int]] = []

    async def main() -> None:
        async with producer(world, linger_ms=5) as client:
            for each in range(3):
                number.set(each)
                await client.send(
                    "orders",
                    b"v",
                    partition=0,
                    on_delivery=lambda metadata, _: said.append(
                        (number.get(), metadata.offset)
                    ),
                )
            await client.flush()
            assert said == [(0, 0), (1, 1), (2, 2)]

            async def wrong(_metadata: object, _error: object) -> None:
                """Nothing would await it."""

            with pytest.raises(TypeError, match="plain function"):
                await client.send("orders", b"v", on_delivery=wrong)

    run(world, main())


def test_a_producer_serves_several_loops() -> None:
    """B707: it is built where none runs."""
    world = World()
    client = producer(world)

    async def send() -> int:
        return (await (await client.send("orders", b"v", partition=0))).offset

    assert [run(world, send()) for _ in range(3)] == [0, 1, 2]
    run(world, client.__aexit__(None, None, None))


def test_a_loop_that_ends_with_calls_under_way() -> None:
    """B708: the producer lives on."""
    world = World()
    client = producer(world)

    async def leave() -> None:
        await (await client.send("orders", b"v", partition=0))
        world.control.freeze()
        delivery = await client.send("orders", b"v", partition=0)
        for _ in range(100):
            asyncio.ensure_future(delivery)  # noqa: RUF006 - they are left
        asyncio.ensure_future(client.flush())  # noqa: RUF006
        await asyncio.sleep(0.1)

    run(world, leave())
    world.control.thaw()

    async def end() -> None:
        assert await client.close() == 0

    run(world, end())
    assert len(values_of(world)) == 2


def test_memory_is_waited_for_in_order() -> None:
    """B711: one that is cancelled sends nothing."""
    world = World()

    async def main() -> None:
        keys = {"buffer_memory": 40_000, "batch_size": 16_384, "max_block_ms": 3000}
        async with producer(world, linger_ms=100, **keys) as client:
            await (await client.send("orders", b"first", partition=0))
            world.control.freeze()
            order: list[int] = []

            async def send(n: int) -> None:
                await client.send("orders", b"%d" % n + b"x" * 12_000, partition=n % 3)
                order.append(n)

            tasks = [asyncio.create_task(send(n)) for n in range(6)]
            await asyncio.sleep(0.5)
            waiting = [task for task in tasks if not task.done()]
            assert len(waiting) >= 3
            waiting[0].cancel()
            world.control.thaw()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert sum(isinstance(each, asyncio.CancelledError) for each in results) == 1
            await client.flush()
            assert order == sorted(order)
            assert len(order) == 5
            assert client.health().buffer_free == 40_000
        sent = sum(len(values_of(world, TopicPartition("orders", n))) for n in range(3))
        assert sent == 6

    run(world, main())


def test_a_send_that_finds_no_memory_fails_by_its_time() -> None:
    """B700: as that of threads."""
    world = World()

    async def main() -> None:
        keys = {"buffer_memory": 40_000, "max_block_ms": 500}
        async with producer(world, **keys) as client:
            await (await client.send("orders", b"first", partition=0))
            world.control.freeze()
            sent = [await client.send("orders", b"x" * 16_000, partition=0) for _ in range(5)]
            failed = [each for each in sent if each.done()]
            assert failed
            with pytest.raises(errors.BufferExhaustedException):
                await failed[0]
            world.control.thaw()

    run(world, main())


def test_transactions() -> None:
    """B714: committed, aborted, with offsets, and cancelled."""
    world = World()

    async def main() -> None:
        async with (
            producer(world, transactional_id="t") as client,
            consumer(world, group_id="g") as reader,
        ):
            await client.init_transactions()

            async def fail() -> None:
                async with client.transaction():
                    await client.send("orders", b"aborted", partition=0)
                    raise ZeroDivisionError

            async with client.transaction():
                await client.send("orders", b"first", partition=0)
            with pytest.raises(ZeroDivisionError):
                await fail()
            reader.subscribe("orders")
            await reader.poll(5.0)
            async with client.transaction() as block:
                await client.send("orders", b"second", partition=0)
                offsets = {A: (await reader.committed(A))[A] or (await at(reader))}
                await block.send_offsets(offsets, reader.group_metadata())

            async def slow() -> None:
                async with client.transaction():
                    await client.send("orders", b"cancelled", partition=0)
                    await asyncio.sleep(100.0)

            task = asyncio.create_task(slow())
            await asyncio.sleep(1.0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not client.has_transaction
            client.begin_transaction()
            await client.send("orders", b"third", partition=0)
            commit = asyncio.create_task(client.commit_transaction())
            await asyncio.sleep(0)
            with pytest.raises(errors.ConcurrentModificationException, match="another task"):
                await client.abort_transaction()
            await commit
        async with consumer(
            world, isolation_level="read_committed", auto_offset_reset="earliest"
        ) as reader:
            reader.assign(A)
            values = [each.value async for each in reader.records(idle_timeout=3.0)]
            assert values == [b"first", b"second", b"third"]

    async def at(reader: Any) -> Any:
        return next(iter((await reader.poll(1.0)).next_offsets().values()), None) or offset(3)

    def offset(number: int) -> Any:
        from prokurist import OffsetAndMetadata

        return OffsetAndMetadata(number)

    run(world, main())


def test_both_producers_have_the_same_calls() -> None:
    """B700: and `has_transaction`, which a block needs."""

    def calls(of: type) -> set[str]:
        return {name for name in dir(of) if not name.startswith("_")}

    assert calls(KafkaProducer) - calls(ProducerOfThreads) == {"has_transaction"}
    assert calls(ProducerOfThreads) <= calls(KafkaProducer)
