"""The share consumer of coroutines, in virtual time."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from prokurist import errors
from prokurist.aio import KafkaShareConsumer
from prokurist.config import ShareConsumerConfig
from prokurist.types import Acknowledge
from tests.simulation.sharing import A, B, sharing, states, written
from tests.simulation.virtual_loop import run
from tests.simulation.world import World


def reader(world: World, **keys: Any) -> KafkaShareConsumer:
    """A share consumer of coroutines that reads the topic."""
    given = {"bootstrap.servers": world.bootstrap, "group.id": "s"}
    config = ShareConsumerConfig(given, **keys)
    member = world.join_share(config)
    world.start(member)
    consumer = KafkaShareConsumer.wired(config, world.clock, member.side)
    consumer.subscribe("orders")
    return consumer


def test_every_call_is_awaited_and_answers() -> None:
    """B586: polls, marks, commits, and the end; callbacks may be coroutine functions."""
    world = sharing()
    written(world, 5)
    heard: list[Any] = []

    async def hear(offsets: Any, error: Any) -> None:
        await asyncio.sleep(0.1)
        heard.append((offsets, error))

    async def main() -> None:
        async with reader(world) as client:
            records = await client.poll(60.0)
            assert [each.value for each in records] == [b"%d" % nth for nth in range(5)]
            first, second, third, *_ = records
            first.release()
            second.reject()
            with third:
                pass
            assert await client.commit(5.0) == {A: (0, 1, 2, 3, 4)}
            (again,) = await client.poll(60.0)
            assert again.delivery_count == 2
            client.commit_async(hear)
            await asyncio.sleep(0.5)
            await client.poll(1.0)
            assert heard == [({A: (0,)}, None)]
            assert client.lock_duration == 30.0
            await client.unsubscribe(5.0)
            assert not client.assignment()
        assert not client.health().alive

    run(world, main())
    assert sorted(states(world)) == ["acknowledged"] * 4 + ["archived"]


def test_a_commit_beside_a_frozen_broker_ends_on_time_and_the_loop_is_free() -> None:
    """B586: the exception has what was taken; other tasks have their turns meanwhile."""
    world = sharing(nodes=2, partitions=2)
    written(world, 1, A)
    written(world, 1, B)

    async def main() -> None:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.1)
                ticks += 1

        async with reader(world, share_acknowledgement_mode="explicit") as client:
            found: list[Any] = []
            while len(found) < 2:
                found += await client.poll(60.0)
                for each in found:
                    each.renew()
            await asyncio.sleep(1.0)
            for each in found:
                each.accept()
            world.control.freeze(world.control.leader(A)[0])
            ticking = asyncio.create_task(tick())
            began = world.clock.time
            with pytest.raises(errors.AcknowledgeTimeoutException, match="commit was") as late:
                await client.commit(2.0)
            assert world.clock.time - began == pytest.approx(2.0, abs=0.05)
            assert late.value.done == {B: (0,)}
            assert ticks >= 19
            ticking.cancel()
            world.control.thaw()

    run(world, main())


def test_a_cancelled_poll_loses_no_record() -> None:
    """B587: nor does one that was about to return some."""
    world = sharing()

    async def main() -> None:
        async with reader(world, share_acknowledgement_mode="explicit") as client:
            polling = asyncio.create_task(client.poll(60.0))
            await asyncio.sleep(3.0)
            written(world, 3)
            for _ in range(40):
                await asyncio.sleep(0.001)
                if client._built().lent.held():
                    break
            polling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await polling
            counts: list[int] = []
            while len(counts) < 3:
                records = await client.poll(60.0)
                counts += [each.delivery_count for each in records]
                records.accept()
            assert counts == [1, 1, 1]
            await client.commit(5.0)

    run(world, main())
    assert states(world) == ["acknowledged"] * 3


def test_the_outcome_of_a_cancelled_commit_is_told() -> None:
    """B587: by the next commit; the CancelledError has a report."""
    world = sharing(lock_duration=6.0)
    written(world, 1)

    async def main() -> None:
        async with reader(world, share_acknowledge_ahead=False) as client:
            (record,) = await client.poll(60.0)
            record.accept()
            world.control.freeze()
            committing = asyncio.create_task(client.commit(30.0))
            await asyncio.sleep(1.0)
            committing.cancel()
            with pytest.raises(asyncio.CancelledError) as cancelled:
                await committing
            assert cancelled.value.report.may_have_happened  # type: ignore[attr-defined]
            await asyncio.sleep(7.0)
            world.control.thaw()
            await asyncio.sleep(1.0)
            with pytest.raises(errors.AcknowledgeException) as raised:
                await client.commit(5.0)
            assert raised.value.refused[A][0] == (0,)

    run(world, main())


def test_one_task_reads_and_others_commit() -> None:
    """B588: a second poll is refused, and a commit beside a poll that waits is not."""
    world = sharing()
    written(world, 2)

    async def main() -> None:
        async with reader(world, share_acknowledgement_mode="explicit") as client:
            records = list(await client.poll(60.0))
            for each in records:
                each.renew()
            polling = asyncio.create_task(client.poll(5.0))
            await asyncio.sleep(1.0)
            with pytest.raises(errors.ConcurrentModificationException):
                await client.poll(1.0)
            for each in records:
                each.accept()
            assert await client.commit(3.0) == {A: (0, 1)}
            world.at(world.clock.time + 0.5, lambda: world.control.append(A, b"more"))
            (more,) = await polling
            client.acknowledge("orders", 0, more.offset, Acknowledge.REJECT)

    run(world, main())
    assert states(world) == ["acknowledged", "acknowledged", "archived"]


def test_an_iteration_accepts_and_releases() -> None:
    """B588: `async for` as `for`; its last record is released when the iterator is closed."""
    world = sharing()
    written(world, 5)

    async def main() -> None:
        async with reader(world) as client:
            async with aclosing(client.records(10.0)) as records:  # type: ignore[type-var]
                async for record in records:
                    if record.offset == 2:
                        break
            await client.commit(5.0)
            assert states(world) == ["acknowledged"] * 2 + ["available"] + ["acquired"] * 2
            seen = [record.offset async for record in client.records(2.0)]
            assert sorted(seen) == [2, 3, 4]
            await client.commit(5.0)

    run(world, main())
    assert states(world) == ["acknowledged"] * 5


def test_close_ends_the_call_that_reads_and_is_on_time() -> None:
    """B589: beside a frozen broker too, and marks of the others are sent."""
    world = sharing(nodes=2, partitions=2)
    written(world, 1, A)
    written(world, 1, B)

    async def main() -> None:
        client = reader(world, share_acknowledgement_mode="explicit")
        found: list[Any] = []
        while len(found) < 2:
            found += await client.poll(60.0)
            for each in found:
                each.renew()
        polling = asyncio.create_task(client.poll(60.0))
        await asyncio.sleep(1.0)
        for each in found:
            each.accept()
        world.control.freeze(world.control.leader(A)[0])
        began = world.clock.time
        await client.close(2.0)
        assert world.clock.time - began < 2.1
        with pytest.raises(errors.IllegalStateException, match="close"):
            await polling
        await client.close(2.0)

    run(world, main())
    assert states(world, B) == ["acknowledged"]
    world.control.thaw()
